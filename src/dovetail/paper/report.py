"""Write one HTML page that needs nothing else: claims with verdicts, figures and tables."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from math import inf, isfinite
from pathlib import Path
from string import Template
from typing import Any

import dovetail as dv

from .catalogue import ITEMS
from .claims import FALSE_ALARM, Claim, Measured, claims
from .store import ItemStore, Kept, replace


def write(store: ItemStore, kept: Mapping[str, Kept], *, quick: bool) -> Path:
    """Write `report.html` from all finished items and return its path."""
    path = store.folder / "report.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    replace(path, page(store, kept, quick=quick))
    return path


def page(store: ItemStore, kept: Mapping[str, Kept], *, quick: bool) -> str:
    """Return the whole page."""
    measured = {name: found for each in kept.values() for name, found in each.measured.items()}
    rows = [(claim, measured[name]) for name, claim in claims().items() if name in measured]
    sections = [_section(store, item.title, kept[item.name]) for item in ITEMS if item.name in kept]
    contents = [
        f'<li><a href="#{i.name}">{escape(i.title)}</a></li>' for i in ITEMS if _visible(kept.get(i.name))
    ]
    return Template(_resource("report.html")).substitute(
        style=_resource("report.css"),
        version=escape(dv.__version__),
        size="quick run: fewer samples than the paper" if quick else "full run: the paper's own sizes",
        summary=_summary(rows),
        contents="\n".join(contents),
        claims=_claims_table(rows),
        sections="\n".join(sections),
    )


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _summary(rows: list[tuple[Claim, Measured]]) -> str:
    verdicts = [claim.judge(measured.exact) for claim, measured in rows]
    chances = [measured.chance for _, measured in rows if measured.chance is not None]
    suspicious = sum(chance < FALSE_ALARM for chance in chances)
    cards = [
        (len(rows), "claims checked"),
        (verdicts.count("holds"), "hold"),
        (verdicts.count("differs"), "differ, with the reason"),
        (f"{len(chances) - suspicious} of {len(chances)}", "drawn figures agree with the exact ones"),
    ]
    return '<ul class="cards">' + "".join(f"<li><b>{n}</b> {words}</li>" for n, words in cards) + "</ul>"


def _claims_table(rows: list[tuple[Claim, Measured]]) -> str:
    heads = (
        "Where",
        "What the paper says",
        "Published",
        "Exact",
        "Drawn",
        "Chance",
        "Verdict",
        "Ours is, and why",
    )
    body = []
    for claim, measured in rows:
        verdict = claim.judge(measured.exact)
        drawn = "–" if measured.sampled is None else number(measured.sampled)
        chance = "–" if measured.chance is None else f"{measured.chance:.2g}"
        cells = (claim.where, claim.says, claim.expected, number(measured.exact), drawn, chance)
        plain = "".join(_labelled(head, cell) for head, cell in zip(heads, cells, strict=False))
        mark = "✓ holds" if verdict == "holds" else "≠ differs"
        reason = (
            f'<br><span class="why">{escape(claim.why)}</span>' if claim.why and verdict == "differs" else ""
        )
        body.append(
            f'<tr id="claim-{claim.id}" class="{verdict}">{plain}<td data-label="Verdict"><b>{mark}</b></td>'
            f'<td data-label="Ours is">{escape(claim.how)}{reason}{_margin(claim)}</td></tr>'
        )
    head = "".join(f'<th scope="col">{each}</th>' for each in heads)
    return f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'


def _margin(claim: Claim) -> str:
    """Say why a tolerance is wider than the printed digits make it."""
    return (
        f'<br><span class="why">± {claim.tolerance:g}: {escape(claim.because)}</span>'
        if claim.because
        else ""
    )


def _labelled(head: str, cell: str) -> str:
    """Return a cell that names its own column, for narrow screens; there an empty one is left out."""
    empty = ' class="empty"' if cell == "–" else ""
    return f'<td{empty} data-label="{head}">{escape(cell)}</td>'


def _visible(kept: Kept | None) -> bool:
    return kept is not None and bool(kept.figures or kept.shown or kept.note)


def _section(store: ItemStore, title: str, kept: Kept) -> str:
    if not _visible(kept):
        return ""
    parts = [f'<section id="{kept.name}"><h2>{escape(title)}</h2>']
    for name, caption in kept.figures:
        data = b64encode(store.figure(name)).decode()
        text = escape(caption)
        parts.append(
            f'<figure><div class="wide" tabindex="0" role="region" aria-label="Figure {escape(name)}">'
            f'<img src="data:image/svg+xml;base64,{data}" alt="{text}"></div>'
            f"<figcaption>{text}</figcaption></figure>"
        )
    if kept.note:
        parts.append(f"<p>{escape(kept.note)}</p>")
    parts += [_table(store, name) for name in kept.shown]
    parts.append("</section>")
    return "".join(parts)


def _table(store: ItemStore, name: str) -> str:
    table = store.table(name)
    head = "".join(f'<th scope="col">{escape(column.replace("_", " "))}</th>' for column in table.columns)
    body = "".join(f"<tr>{_cells(row)}</tr>" for row in table.rows)
    scroll = f'<div class="scroll" tabindex="0" role="region" aria-label="Table {escape(name)}">'
    return f"{scroll}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cells(row: Iterable[Any]) -> str:
    return "".join(
        f"<td>{escape(number(cell) if isinstance(cell, float) else str(cell))}</td>" for cell in row
    )


def number(value: float) -> str:
    """Return a number with as many digits as a reader can use.

    >>> number(0.328105), number(32561.0), number(2.4800), number(1.2e-7), number(inf)
    ('0.3281', '32,561', '2.48', '1.2e-07', '∞')
    """
    if not isfinite(value):
        return "∞" if value == inf else "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) < 1e-3:
        return f"{value:.2g}"
    return f"{value:.4f}".rstrip("0") if abs(value) < 10 else f"{value:,.2f}"
