"""`dovetail ledger vintages`: which rows a dataset has, month by month, and which state of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.ledger_options import Dataset, Place, only_dataset, open_ledger
from dovetail.cli.options import DataVersion, Table, examples
from dovetail.cli.terminal import printable, say, stdout
from dovetail.cli.terminal import table as rows_of
from dovetail.errors import InvalidQuery

if TYPE_CHECKING:
    from dovetail.ledger import DatasetAccount


def add_to(group: typer.Typer) -> None:
    """Add the command."""
    group.command(
        epilog=examples(
            "dovetail ledger vintages visits.ledger",
            "dovetail ledger vintages visits.ledger --disjoint",
            "dovetail ledger vintages visits.ledger --complete 2026-01",
            "dovetail ledger vintages visits.ledger --of 2026-01 --data-version corrected",
        )
    )(vintages)


def vintages(
    place: Place,
    dataset: Dataset = None,
    add: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Declare a vintage that rows may still enter.")
    ] = None,
    complete: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Declare that no more rows will enter this vintage."),
    ] = None,
    disjoint: Annotated[
        bool,
        typer.Option("--disjoint", help="Declare, for good, that each row belongs to one vintage only."),
    ] = False,
    data_version: DataVersion = None,
    of: Annotated[
        str | None, typer.Option(metavar="LABEL", help="The vintage that --data-version is about.")
    ] = None,
    table: Table = None,
) -> None:
    """List the vintages of a dataset, such as its months, or declare one.

    By default all vintages share the budget. Where single rows are protected and vintages are disjoint, each
    has the whole budget.
    """
    if of is not None and data_version is None:
        raise InvalidQuery("--of names the vintage of a new version.", "Add --data-version.")
    with open_ledger(place, table) as book:
        account = book.account(dataset or only_dataset(book))
        if disjoint:
            account.declare_disjoint()
        if add is not None:
            account.declare_vintage(add)
        if complete is not None:
            _complete(account, complete)
        if data_version is not None:
            account.set_version(data_version, vintage=of)
        _print(account)


def _complete(account: DatasetAccount, label: str) -> None:
    if any(each.label == label for each in account.vintages()):
        account.complete_vintage(label)
    else:
        account.declare_vintage(label, complete=True)


def _print(account: DatasetAccount) -> None:
    screen = stdout()
    screen.print(printable(f"{account.name}: {account.budget}"), style="bold")
    apart = "each row belongs to one vintage, and each vintage has the whole budget"
    say(screen, "vintages ", apart if account.disjoint else "share the budget", "")
    shown = rows_of("vintage", "rows", "version", "spent", "remains")
    for each in account.vintages():
        budget, spent = account.position([each.label])
        shown.add_row(
            printable(each.label),
            "complete" if each.complete else "may still enter",
            printable(each.version or ""),
            str(spent),
            str(budget.remaining(spent)),
        )
    screen.print(shown)
