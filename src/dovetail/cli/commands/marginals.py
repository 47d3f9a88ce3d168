"""`dovetail marginals`: many tables at once that agree, and synthetic rows that look like them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli import options as o
from dovetail.cli.marginals_options import MarginalsOptions
from dovetail.cli.option_groups import Sectioned, grouped
from dovetail.cli.output_options import OutputOptions
from dovetail.cli.payment_options import PaymentOptions
from dovetail.cli.render import show_marginals, show_quote
from dovetail.cli.session_options import SessionOptions, places_of
from dovetail.cli.terminal import note, working
from dovetail.errors import InvalidParameter, InvalidQuery

if TYPE_CHECKING:
    from dovetail.answers import MarginalsAnswer

Quoted = Annotated[
    bool,
    typer.Option(
        "--price", help="Show the price and the error of each table; no data are read, nothing is spent."
    ),
]
Synthetic = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write synthetic rows to FILE.parquet, and their schema beside it."),
]
Rows = Annotated[
    str | None,
    typer.Option(
        "--synthetic-rows", metavar="NUMBER", help="How many rows to make; the noisy total if left out."
    ),
]
Folder = Annotated[
    str | None,
    typer.Option("--csv-folder", metavar="FOLDER", help="Write one CSV file per table to this folder."),
]

_EPILOG = o.examples(
    "dovetail marginals adult --columns race,sex,income --epsilon 1 --price",
    "dovetail marginals adult --columns race,sex --epsilon 1 --csv-folder tables",
    "dovetail marginals adult --columns sex,income --epsilon 1 --plot map.png",
    "dovetail marginals adult --tables race,sex --tables sex,income --within 50",
    "dovetail marginals a.csv --columns sex,age --epsilon 1 --synthetic b.parquet",
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=Sectioned, epilog=_EPILOG)(grouped(marginals))


def marginals(
    data: o.Data,
    query_options: MarginalsOptions,
    payment_options: PaymentOptions,
    session_options: SessionOptions,
    output_options: OutputOptions,
    price: Quoted = False,
    csv_folder: Folder = None,
    synthetic: Synthetic = None,
    synthetic_rows: Rows = None,
) -> None:
    """Count many tables that agree with each other.

    Count all tables of --way columns, or those listed. The price decides how they are measured, for the
    least error of the worst table. Synthetic rows are made from the noisy tables, so they are free; counts
    of them are biased and have no error bars.
    """
    output_options.check()
    made = _Made(csv_folder, synthetic, synthetic_rows)
    source = session_options.source(data)
    query, pay = query_options.query(source), payment_options.keywords()
    with session_options.session(source, analyst=output_options.analyst) as session:
        with _followed("Looking for the best way to measure ..."):
            quote = session.quote(query, **output_options.keywords, **pay)
        if price:
            show_quote(quote, output_options.as_json)
            return
        with output_options.answering(quote):
            answer = session.answer(quote)[0]
        places = places_of(session)
    output_options.give(answer, show_marginals, places)
    made.write(answer)  # type: ignore[arg-type]


class _Made:
    """The files that are made of the tables; whether they can be is checked before anything is spent."""

    def __init__(self, folder: str | None, synthetic: str | None, rows: str | None) -> None:
        from dovetail.answers.synthetic import checked_place
        from dovetail.check import integer

        if rows is not None and synthetic is None:
            raise InvalidQuery("--synthetic-rows belongs to --synthetic.", "Say where the rows are written.")
        self.rows = None if rows is None else integer("synthetic-rows", rows, 1, 10**8, "For example 1000.")
        self.folder = None if folder is None else Path(folder)
        self.synthetic = None if synthetic is None else checked_place(synthetic)
        if self.folder is not None and (self.folder.is_file() or not self.folder.parent.is_dir()):
            raise InvalidParameter("csv-folder", folder, "a folder, or a new one in a folder that exists")

    def write(self, answer: MarginalsAnswer) -> None:
        """Write the files."""
        if self.folder is not None:
            self.folder.mkdir(exist_ok=True)
            for number, columns in enumerate(answer.tables, 1):
                name = "-".join(_plain(column) for column in columns)
                place = self.folder / f"{number:02}-{name[:80]}.csv"
                place.write_text(answer.to_csv(*columns), encoding="utf-8")
            note(f"{len(answer.tables)} tables were written to {self.folder}.")
        if self.synthetic is not None:
            with working("Making synthetic rows ..."):
                made = answer.synthetic(self.rows, to=self.synthetic)
            note(
                f"{made.num_rows:,} synthetic rows were written to {self.synthetic}, their schema beside it. "
                "Counts of them are biased and have no error bars."
            )


@contextmanager
def _followed(text: str) -> Iterator[None]:
    """Show on a terminal what the planner is doing."""
    import logging

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if status is not None:
                status.update(f"{record.getMessage().capitalize()} ...")  # type: ignore[attr-defined]

    log, shown = logging.getLogger("dovetail.pricing"), Shown()
    before = log.level
    with working(text) as status:
        log.addHandler(shown)
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.removeHandler(shown)
            log.setLevel(before)


def _plain(column: str) -> str:
    """Return a column's name as a file's name can hold it.

    >>> _plain("a/b c")
    'a_b_c'
    """
    return "".join(letter if letter.isalnum() else "_" for letter in column)
