"""What the commands of `dovetail ledger` share: which ledger, which dataset, which witness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dovetail.errors import InvalidParameter

from .data_arguments import ledger_place

if TYPE_CHECKING:
    from dovetail.ledger import Ledger

Place: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        help="A ledger file, a database URL, or the data that the ledger belongs to (for a database, "
        "with --table).",
    ),
]
Limit: TypeAlias = Annotated[
    str,
    typer.Option(
        "--budget",
        metavar="LIMIT",
        help="epsilon=1, or epsilon=1,delta=1e-6, or zeta=0.5,max-epsilon=2.",
    ),
]
Dataset: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="The dataset; not needed if there is only one.")
]
Witness: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="A file on another disk that records the ledger's head, or a head NUMBER:HASH."
    ),
]
Copy: TypeAlias = Annotated[
    bool, typer.Option("--copy", help="Open it as a backup: read only, without its witness.")
]


def open_ledger(place: str, table: str | None, witness: str | None = None, copy: bool = False) -> Ledger:
    """Open the ledger that an argument names."""
    from dovetail.ledger import Ledger

    return Ledger.open(ledger_place(place, table), witness=witness, copy=copy)


def only_dataset(book: Ledger) -> str:
    """Return the one dataset of a ledger, or ask which one is meant."""
    names = [standing.name for standing in book.show(last=1).standings]
    if len(names) != 1:
        listed = ", ".join(names) or "none yet"
        raise InvalidParameter("dataset", None, f"one of the ledger's datasets ({listed})", "Add --dataset.")
    return names[0]
