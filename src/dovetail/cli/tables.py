"""Show the answer to a SELECT as a table or as CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .answers import csv_text, notes, said
from .noises import spelled
from .screen import printable, stdout, table

if TYPE_CHECKING:
    from dovetail.release.sql import TableAnswer

MOST_ROWS = 100


def show_table(answer: TableAnswer, places: dict[str, str]) -> None:
    """Print the table with its price; `places` says where its schema and its ledger are."""
    from dovetail.release.sql.display import cells

    screen = stdout()
    most = MOST_ROWS if screen.is_terminal else len(answer.places)
    screen.print(printable(f"{answer.answers[0].dataset}: {' '.join(answer.text.split())}"), style="bold")
    shown = table(*(printable(column.name) for column in answer.columns))
    for column, made in zip(answer.columns, shown.columns, strict=True):
        made.justify = "left" if column.query is None else "right"
    for row in zip(*cells(answer, most), strict=True):
        shown.add_row(*map(printable, row))
    screen.print(shown)
    if len(answer.places) > most:
        screen.print(f"... and {len(answer.places) - most:,} more rows; --csv prints all of them")
    noises = {column.name: spelled(answer.answers[column.query or 0].noise) for column in answer.valued}
    listed = "; ".join(f"{name} {noise}" for name, noise in noises.items())
    texts = said(answer.answers[0], next(iter(noises.values())) if len(noises) == 1 else listed, places)
    if answer.chosen_by:
        texts["error"] += "; rows were chosen by noisy values, so these hold for all groups at once"
    notes(screen, texts)


def table_as_csv(answer: TableAnswer) -> str:
    """Return the columns as CSV, each noisy value followed by its low and high end."""
    from dovetail.release.answer import exact_number
    from dovetail.release.field import written

    titles: list[object] = []
    columns: list[list[object]] = []
    for column in answer.columns:
        titles += column.titles()
        if column.query is None:
            columns.append([written(key) for key in answer.keys(column)])
            continue
        question, bars = answer.answers[column.query].query, answer.bars(column, answer.level)
        for numbers in (answer.values(column), [bar.low for bar in bars], [bar.high for bar in bars]):
            columns.append([exact_number(question, number) for number in numbers])
    return csv_text([titles, *(list(row) for row in zip(*columns, strict=True))])
