"""`dovetail ledger` for its keeper: migrate an old one, copy it, start a witness."""

from __future__ import annotations

from typing import Annotated

import typer

from dovetail.cli.data_arguments import ledger_place
from dovetail.cli.ledger_options import Place, Witness, open_ledger
from dovetail.cli.options import Table, examples
from dovetail.cli.terminal import printable, stdout


def add_to(group: typer.Typer) -> None:
    """Add the commands."""
    group.command(epilog=examples("dovetail ledger migrate clinic.ledger"))(migrate)
    group.command(epilog=examples("dovetail ledger backup clinic.ledger backup.ledger"))(backup)
    group.command(epilog=examples("dovetail ledger witness clinic.ledger /elsewhere/clinic.witness"))(witness)


def migrate(place: Place, witness: Witness = None, table: Table = None) -> None:
    """Bring a ledger of an older version to this one; its chain stays, and a copy is kept."""
    from dovetail.ledger import Ledger

    where = ledger_place(place, table)
    head = Ledger.migrate(where, witness=witness)
    screen = stdout()
    screen.print(f"The ledger was migrated and is intact: head {head}", soft_wrap=True)
    kept = "as dovetail_version1_… tables" if "://" in str(where) else f"as {where}.version1"
    screen.print(printable(f"The old one is kept {kept}."), soft_wrap=True)


def backup(
    place: Place,
    copy: Annotated[str, typer.Argument(metavar="FILE", help="Where the copy is made; it must not exist.")],
    table: Table = None,
) -> None:
    """Copy a ledger, consistently, while others ask; the copy is verified."""
    with open_ledger(place, table) as book:
        head = book.back_up(copy)
        stdout().print(printable(f"The copy {copy} is intact: head {head}"), soft_wrap=True)


def witness(
    place: Place,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file, best on another disk.")],
    noted: Annotated[
        str | None,
        typer.Option(
            "--head", metavar="NUMBER:HASH", help="The head that you noted, if the old witness is lost."
        ),
    ] = None,
    table: Table = None,
) -> None:
    """Start a witness: a file that records the ledger's head with every entry from now on."""
    with open_ledger(place, table, noted) as book:
        book.start_witness(file)
        stdout().print(printable(f"From now on {file} records the head of {book.place}."), soft_wrap=True)
