"""Show an answer: as a chart with its price, as CSV, or as a picture."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from dovetail.errors import InvalidParameter

from .chart import Line, amount, draw
from .noises import spelled
from .screen import printable, say, stdout
from .words import question_in_words

if TYPE_CHECKING:
    from rich.console import Console

    from dovetail.privacy import Charge
    from dovetail.release import Answer

PICTURES = (".png", ".svg", ".pdf")
NEIGHBOURS = {
    "add-remove": "that one row is in the data or not",
    "replace": "what one row holds",
}


def lines_of(answer: Answer) -> list[Line]:
    """Return the cells of an answer with their intervals at its level."""
    keys = answer.query.cell_keys()
    found, bars = answer.values(), answer.bars(answer.level)
    return [
        Line(", ".join(map(_label, cell)) or "answer", float(value), float(bar.low), float(bar.high))
        for cell, value, bar in zip(keys, found, bars, strict=True)
    ]


def show(answer: Answer, place: str) -> None:
    """Print an answer with its price; `place` is where its ledger is."""
    from dovetail.release.display import percent

    screen, lines = stdout(), lines_of(answer)
    screen.print(printable(f"{answer.dataset}: {question_in_words(answer.query.to_dict())}"), style="bold")
    if answer.query.grouped:
        draw(screen, lines)
    else:
        screen.print(amount(lines[0]))
    screen.print()
    each = "each interval" if len(lines) > 1 else "the interval"
    notes(
        screen,
        {
            "error": f"{each} holds the true number with probability {percent(answer.level)} or more",
            "noise": f"{spelled(answer.noise)}, drawn anew for every cell"
            if len(lines) > 1
            else spelled(answer.noise),
            "cost": cost(answer),
            "remains": rest(answer),
            "protects": NEIGHBOURS[answer.neighbours],
            "ledger": place,
        },
    )


def cost(answer: Answer) -> str:
    """Return what an answer cost, in words."""
    plan = answer.paid_by
    if answer.stored:
        when = f"{answer.answered_at:%Y-%m-%d at %H:%M} UTC"
        return f"nothing: this is the answer given on {when}; rows that changed since need --fresh"
    if plan is None:
        return charge_in_words(answer.charge)
    return f"nothing more: of {plan.slots} answers, paid together in advance ({plan.price()})"


def rest(answer: Answer) -> str:
    """Return what can still be asked, in words."""
    plan = answer.paid_by
    if plan is None:
        return str(answer.remaining)
    return f"{plan.left} of the {plan.slots} answers of this plan; beside it {answer.remaining}"


def charge_in_words(charge: Charge) -> str:
    """Return a charge with the worst case first; zeta never stands alone.

    >>> from dovetail.privacy import Charge
    >>> charge_in_words(Charge.approximate("0.5"))
    'epsilon 0.5 in the worst case, zeta 0.5 on average'
    >>> charge_in_words(Charge.approximate("0.5", "1e-7"))
    'epsilon 0.5, except with probability delta 1e-7'
    """
    epsilon, zeta, *delta = str(charge).split(", ")
    if delta:
        return f"{epsilon}, except with probability {delta[0]}"
    return f"{epsilon} in the worst case, {zeta} on average"


def notes(screen: Console, said: dict[str, str]) -> None:
    """Print short remarks, each after its word."""
    wide = max(map(len, said))
    for word, text in said.items():
        say(screen, f"{word:<{wide}}  ", text, "dim")


def write_csv(answer: Answer) -> None:
    """Print the cells as CSV: the columns, then value, low and high."""
    names = [axis.field.name for axis in answer.query.axes] if answer.query.grouped else []
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*names, "value", "low", "high"])
    for row in answer.rows():
        writer.writerow([*row["keys"].values(), row["value"], row["low"], row["high"]])


def check_picture(path: str | None) -> None:
    """Refuse a picture that could not be written, before anything is spent."""
    if path is None:
        return
    if Path(path).suffix.lower() not in PICTURES:
        raise InvalidParameter("plot", path, f"a file name that ends in {', '.join(PICTURES)}")
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise InvalidParameter("plot", path, "in a folder that exists", f"Make {folder} first.")
    import matplotlib  # noqa: F401 - a missing extra is noticed now, not after the budget was charged


def draw_picture(answer: Answer, path: str) -> None:
    """Write the chart of an answer to a file."""
    answer.plot().figure.savefig(path, dpi=150)


def _label(key: object) -> str:
    return "(missing)" if key is None else str(key)
