"""`dovetail price`: what a question would cost, before it is asked."""

from __future__ import annotations

import typer

from dovetail.cli import options as o
from dovetail.cli.option_groups import Sectioned, grouped
from dovetail.cli.payment_options import PaymentOptions
from dovetail.cli.query_options import QueryOptions
from dovetail.cli.render import show_quote
from dovetail.cli.session_options import SessionOptions
from dovetail.errors import InvalidQuery

_EPILOG = o.examples(
    "dovetail price adult --by education --within 5",
    "dovetail price adult --by sex --within 20 --queries 5 --budget epsilon=1",
    "dovetail price adult --where 'age >= 40' --within 10 --probability 0.99",
    'dovetail price adult --sql "SELECT AVG(age) FROM data" --epsilon 0.1',
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=Sectioned, epilog=_EPILOG)(grouped(price))


def price(
    data: o.Data,
    query_options: QueryOptions,
    payment_options: PaymentOptions,
    session_options: SessionOptions,
    sql: o.SqlOption = None,
    as_json: o.Json = False,
) -> None:
    """Show what a question would cost, and how accurate it would be.

    No row is read and nothing is spent.
    """
    if sql is not None and query_options != QueryOptions():
        raise InvalidQuery("Give --sql, or the options that ask without SQL, not both.")
    source, pay = session_options.source(data), payment_options.keywords()
    query = sql if sql is not None else query_options.query(source)
    with session_options.session(source) as session, payment_options.working():
        quote = session.quote(query, **pay)
    show_quote(quote, as_json)
