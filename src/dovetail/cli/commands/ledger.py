"""`dovetail ledger`: create, read, check, export and change the record of what was spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dovetail.check import integer
from dovetail.cli.budget_syntax import read_budget
from dovetail.cli.data_arguments import data_named, ledger_place
from dovetail.cli.ledger_options import Copy, Dataset, Limit, Place, Witness, only_dataset, open_ledger
from dovetail.cli.noise_syntax import spelled
from dovetail.cli.options import Csv, Json, Neighbour, Neighbours, Rows, Table, Unit, examples
from dovetail.cli.terminal import note, printable, say, stdout
from dovetail.cli.terminal import table as rows_of
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.ledger.entry_words import body_in_words

from . import ledger_people, ledger_upkeep, ledger_vintages

if TYPE_CHECKING:
    from dovetail.engines import Source
    from dovetail.ledger import Statement

Known: TypeAlias = Annotated[str, typer.Argument(metavar="DATASET", help="A dataset of the ledger.")]
NewName: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Keep the record of what was spent.", no_args_is_help=True)
    group.command(
        epilog=examples(
            "dovetail ledger create people.csv --budget epsilon=1",
            "dovetail ledger create my.ledger --dataset visits --budget epsilon=1",
            "dovetail ledger create visits.csv --unit patient --budget epsilon=1",
        )
    )(create)
    group.command(
        epilog=examples("dovetail ledger show adult", "dovetail ledger show clinic.ledger --last 10")
    )(show)
    group.command(epilog=examples("dovetail ledger verify clinic.ledger"))(verify)
    group.command(epilog=examples("dovetail ledger export clinic.ledger --csv > record.csv"))(export)
    group.command("raise", epilog=examples("dovetail ledger raise clinic.ledger --budget epsilon=2"))(raise_)
    group.command(epilog=examples("dovetail ledger rename clinic.ledger visits hospital-visits"))(rename)
    group.command(epilog=examples("dovetail ledger retire clinic.ledger visits"))(retire)
    ledger_vintages.add_to(group)
    ledger_people.add_to(group)
    ledger_upkeep.add_to(group)
    app.add_typer(group, name="ledger")


def create(
    place: Place,
    budget: Limit,
    dataset: Dataset = None,
    witness: Witness = None,
    unit: Unit = None,
    rows: Rows = False,
    neighbours: Neighbours = Neighbour.ADD_REMOVE,
    table: Table = None,
) -> None:
    """Create the budget of a dataset, and its ledger if there is none.

    Whom it protects can be changed until the first charge.
    """
    from dovetail.engines.identity import NOT_KNOWN
    from dovetail.ledger import Ledger
    from dovetail.query.neighbours import protected

    limit, data = read_budget(budget), data_named(place, table)
    name = dataset or (data.name if data else None)
    if name is None:
        raise InvalidParameter(
            "dataset", None, "named for a ledger that is not beside its data", "Add --dataset NAME."
        )
    person = _person(data, unit, rows)
    with Ledger.open(ledger_place(place, table), create=True, witness=witness) as book:
        source = data.identity if data else None
        account = book.account(name, budget=limit, source=source, protects=protected(neighbours, person))
        screen = stdout()
        screen.print(printable(f"The budget of {name} is {account.budget}."))
        screen.print(printable(f"It is kept in {book.place}"), soft_wrap=True)
        if data is not None and not data.shipped:
            note(NOT_KNOWN)


def show(
    place: Place,
    dataset: Dataset = None,
    last: Annotated[str, typer.Option(metavar="NUMBER", help="How many of the newest entries.")] = "20",
    analyst: Annotated[str | None, typer.Option(metavar="NAME", help="Only this person's entries.")] = None,
    witness: Witness = None,
    copy: Copy = False,
    table: Table = None,
) -> None:
    """Show who asked what, what it cost and what remains, for everybody or for one person."""
    count = integer("last", last, low=1, fix="Give how many entries to show.")
    with open_ledger(place, table, witness, copy) as book:
        _print(book.show(dataset, last=count, analyst=analyst), book.place)


def verify(place: Place, witness: Witness = None, copy: Copy = False, table: Table = None) -> None:
    """Check every event and rebuild all sums."""
    with open_ledger(place, table, witness, copy) as book:
        head = book.verify()
        stdout().print(f"The ledger is intact: {head.sequence} events, head {head}", soft_wrap=True)


def export(
    place: Place, as_json: Json = False, as_csv: Csv = False, copy: Copy = False, table: Table = None
) -> None:
    """Print the whole record as JSON or CSV, without secret keys."""
    if as_json == as_csv:
        raise InvalidQuery("The record is printed as JSON or as CSV.", "Add --json or --csv.")
    with open_ledger(place, table, copy=copy) as book:
        typer.echo(book.export("csv" if as_csv else "json"), nl=as_json)


def raise_(place: Place, budget: Limit, dataset: Dataset = None, table: Table = None) -> None:
    """Set another budget, never below what is spent.

    Changing it after answers were seen makes the guarantee ex post; the record says so.
    """
    limit = read_budget(budget)
    with open_ledger(place, table) as book:
        name = dataset or only_dataset(book)
        book.set_budget(name, limit)
        stdout().print(printable(f"The budget of {name} is now {limit}."))


def rename(place: Place, dataset: Known, name: NewName, table: Table = None) -> None:
    """Give a dataset another name; its old names still work."""
    with open_ledger(place, table) as book:
        book.rename(dataset, name)
        stdout().print(printable(f"{dataset} is now called {name}."))


def retire(place: Place, dataset: Known, table: Table = None) -> None:
    """Retire a dataset for good: nothing more is answered, and its record is kept."""
    with open_ledger(place, table) as book:
        book.retire(dataset)
        stdout().print(printable(f"{dataset} is retired: nothing more is answered. Its record stays."))


def _person(data: Source | None, unit: str | None, rows: bool) -> str | None:
    """Return the exact name of the column that identifies persons, where the data can be asked for it."""
    if unit is not None and rows:
        raise InvalidQuery("A budget protects persons or rows.", "Keep --unit or --rows.")
    if data is None:
        return unit
    from dovetail.engines import connect
    from dovetail.query import Schema
    from dovetail.query.protection import check_decided

    known = data.with_schema()
    engine = connect(known)
    try:
        table = (known.schema or Schema()).table(engine.columns())
        check_decided(table, rows or unit is not None, data.name)
        return None if unit is None else table.resolve(unit)
    finally:
        engine.close()


def _print(statement: Statement, place: str) -> None:
    screen = stdout()
    screen.print(printable(place), soft_wrap=True, style="bold")
    for one in statement.standings:
        screen.print(printable(f"{one.name}: {one.budget}{' (retired)' if one.retired else ''}"))
        screen.print(f"  spent    {one.spent}")
        screen.print(f"  remains  {one.remaining}")
        if one.protects is not None:
            say(screen, "  protects ", one.protects, "")
        for label, rest in one.vintages:
            screen.print(printable(f"  remains  {rest} of {label}"))
    for each in statement.shares:
        say(
            screen,
            f"{printable(each.analyst)} ",
            f"may ask about {each.dataset}: {each.allotment}{f' ({each.state})' if each.state else ''}",
            "",
        )
        screen.print(f"  spent    {each.spent}")
        screen.print(f"  remains  {each.remaining}")
    shown = rows_of("no.", "when (UTC)", "who", "what", "state", "charge")
    for column in (shown.columns[1], shown.columns[5]):
        column.no_wrap = True
    for entry in statement.entries:
        shown.add_row(
            str(entry.sequence),
            entry.at[:16].replace("T", " "),
            printable(entry.analyst),
            printable(entry.what if entry.body is None else body_in_words(entry.body, spelled)),
            entry.state,
            "" if entry.charge is None else "\n".join(map(" ".join, entry.charge.figures().items())),
        )
    screen.print(shown)
