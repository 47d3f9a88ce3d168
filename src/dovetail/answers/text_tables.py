"""Tables of texts, for terminals, notebooks and Markdown; two columns of keys make a two-way table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from dovetail.errors.values import percent
from dovetail.query.partitions import listed_axes

from .chart import cut
from .display import ShownAnswer, amount
from .number_formats import label

# Wider two-way tables are easier to read as a list.
MOST_ACROSS = 8
_WIDEST = 120


@dataclass(frozen=True, slots=True)
class TextTable:
    """A head and rows of texts; `figures` tells which columns hold figures rather than keys."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: tuple[bool, ...]

    def text(self) -> list[str]:
        """Return aligned lines; keys to the left, figures to the right.

        >>> TextTable(("sex", "value"), (("F", "1,234 ± 5"),), (False, True)).text()
        ['sex      value', 'F    1,234 ± 5']
        """
        columns = []
        for right, cells in zip(self.figures, zip(self.head, *self.rows, strict=True), strict=True):
            texts = [cut(cell) for cell in cells]
            wide = max(map(len, texts))
            columns.append([text.rjust(wide) if right else text.ljust(wide) for text in texts])
        return ["  ".join(row).rstrip() for row in zip(*columns, strict=True)]

    def html(self) -> str:
        """Return an HTML table in which everything is escaped."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.head)
        rows = "".join("<tr>" + "".join(self._cells(row)) + "</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def _cells(self, row: Sequence[str]) -> list[str]:
        sides = ("right" if figure else "left" for figure in self.figures)
        pairs = zip(row, sides, strict=True)
        return [f'<td style="text-align: {side}">{escape(cell)}</td>' for cell, side in pairs]

    def markdown(self) -> list[str]:
        """Return the lines of a Markdown table in which no text is markup.

        >>> TextTable(("a|b", "value"), (("<i>", "3 ± 1"),), (False, True)).markdown()
        ['| a\\\\|b | value |', '|---|---:|', '| &lt;i&gt; | 3 ± 1 |']
        """
        rule = ["---:" if figure else "---" for figure in self.figures]
        lines = [_marked(row) for row in (self.head, *self.rows)]
        return [lines[0], f"|{'|'.join(rule)}|", *lines[1:]]


def tabulated(answer: ShownAnswer) -> TextTable:
    """Return one row for each cell: its keys, its value, and its interval."""
    names = [axis.field.name for axis in answer.query.named_by]
    constant = answer.query.measure.constant
    rows = []
    for keys, value, bar in answer.excerpt(None):
        rows.append((*map(label, keys), amount(value, bar, constant)))
    head = (*names, f"value, ± at {percent(answer.level)}")
    return TextTable(head, tuple(rows), (*([False] * len(names)), True))


def two_way(answer: ShownAnswer) -> TextTable | None:
    """Return the keys of the second column across, where there are two columns and few enough keys."""
    axes = listed_axes(answer.query.named_by)
    if len(axes) != 2 or len(answer.query.named_by) != 2 or axes[1].cells > MOST_ACROSS:
        return None
    down, across = ([label(key) for key in axis.labels] for axis in axes)
    texts = [row[-1] for row in tabulated(answer).rows]
    rows = [
        (name, *texts[place * len(across) : (place + 1) * len(across)]) for place, name in enumerate(down)
    ]
    corner = f"{axes[0].field.name} / {axes[1].field.name}"
    made = TextTable((corner, *across), tuple(rows), (False, *([True] * len(across))))
    return made if max(map(len, made.text())) <= _WIDEST else None


def _marked(row: Sequence[str]) -> str:
    texts = (escape(" ".join(cell.split()), quote=False).replace("\\", "\\\\") for cell in row)
    cells = [text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_") for text in texts]
    return f"| {' | '.join(cells)} |"
