"""`dovetail price`: what a question would cost, before it is asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import typer

from dovetail.cli import options as o
from dovetail.cli.answers import NEIGHBOURS, charge_in_words, notes
from dovetail.cli.asking import Asked
from dovetail.cli.budgets import chosen
from dovetail.cli.paying import read_payment
from dovetail.cli.places import ledger_of, read_source
from dovetail.cli.screen import stdout

if TYPE_CHECKING:
    from dovetail.ledger.statement import Standing
    from dovetail.release import Source
    from dovetail.session import Session

_EPILOG = o.examples(
    "dovetail price adult --by education --within 5",
    "dovetail price adult --where 'age >= 40' --within 10 --probability 0.99",
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EPILOG)(price)


def price(
    data: o.Data,
    by: o.By = None,
    where: o.Where = None,
    total: o.Sum = None,
    mean: o.Mean = None,
    low: o.Low = None,
    high: o.High = None,
    step: o.Step = None,
    keys: o.Keys = None,
    bins: o.Bins = None,
    within: o.Within = None,
    probability: o.Probability = None,
    epsilon: o.Epsilon = None,
    delta: o.Delta = None,
    zeta: o.Zeta = None,
    max_epsilon: o.MaxEpsilon = None,
    noise: o.Noise = None,
    ledger: o.LedgerFile = None,
    schema: o.SchemaFile = None,
    name: o.Name = None,
    table: o.Table = None,
    neighbours: o.Neighbours = o.Neighbour.ADD_REMOVE,
    as_json: o.Json = False,
) -> None:
    """Say what a question would cost, before it is asked.

    No row is read and nothing is spent.
    """
    asked = Asked.read(by, keys, bins, where=where, sum=total, mean=mean, low=low, high=high, step=step)
    source = read_source(data, schema, name, table)
    query = asked.query(source, data)
    spend = chosen(epsilon, delta, zeta, max_epsilon)
    payment = read_payment(within, probability, spend, noise)
    with _pricing(source, ledger, neighbours) as (session, standing):
        charge = session.price(query, **payment.pay)
    affordable = standing.budget.allows(standing.spent, charge) if standing else None
    remaining = str(standing.remaining) if standing else None
    if as_json:
        typer.echo(json.dumps({"charge": charge.to_dict(), "remaining": remaining, "affordable": affordable}))
        return
    said = {"cost": charge_in_words(charge)}
    if remaining is not None:
        said |= {"remains": remaining, "affordable": "yes" if affordable else "no"}
    notes(stdout(), said | {"protects": NEIGHBOURS[neighbours]})


@contextmanager
def _pricing(
    source: Source, ledger: str | None, neighbours: Any
) -> Iterator[tuple[Session, Standing | None]]:
    """Open a session that only tells prices, and say where the budget of these data stands, if they have one.

    Data without a budget are priced against a ledger that is thrown away.
    """
    from dovetail.ledger import Ledger
    from dovetail.privacy import Budget
    from dovetail.session import Session

    place: str | Path = ledger if ledger is not None else ledger_of(source)
    if "://" in str(place) or Path(place).exists():
        with Ledger.open(place) as book:
            standing = next((one for one in book.show(last=1).standings if one.name == source.name), None)
            if standing is not None:
                with Session(source, ledger=book, neighbours=neighbours) as session:
                    yield session, standing
                return
    with (
        TemporaryDirectory() as folder,
        Session(
            source, budget=Budget.pure(1), ledger=Path(folder) / "none.ledger", neighbours=neighbours
        ) as session,
    ):
        yield session, None
