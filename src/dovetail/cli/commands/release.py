"""`dovetail release`: ask the data one question and show the noisy answer."""

from __future__ import annotations

import typer

from dovetail.cli import options as o
from dovetail.cli.option_groups import Sectioned, grouped
from dovetail.cli.output_options import OutputOptions
from dovetail.cli.payment_options import PaymentOptions
from dovetail.cli.query_options import QueryOptions
from dovetail.cli.render import show
from dovetail.cli.session_options import SessionOptions, places_of

_EPILOG = o.examples(
    "dovetail release adult --by education --within 5 --budget epsilon=1",
    "dovetail release adult --by education,sex --where 'age >= 40' --epsilon 0.1",
    "dovetail release adult --by age --bins age=0,30,60 --noise mixture:0.2,1,5",
    "dovetail release adult --mean age --low 0 --high 100 --step 1 --epsilon 0.1",
    "dovetail release visits.csv --distinct --unit id --max-rows 4 --epsilon 0.1",
    "dovetail release people.csv --by region --within 50 --queries 5 --csv",
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=Sectioned, epilog=_EPILOG)(grouped(release))


def release(
    data: o.Data,
    query_options: QueryOptions,
    payment_options: PaymentOptions,
    session_options: SessionOptions,
    output_options: OutputOptions,
) -> None:
    """Ask one question and show the noisy answer with its error bars.

    Without --sum, --mean or another statistic, it counts rows. The answer is charged to the budget of the
    data, which is kept in a ledger; the same question again is free and gets the same answer.
    """
    output_options.check()
    source = session_options.source(data)
    query, pay = query_options.query(source), payment_options.keywords()
    with session_options.session(source, analyst=output_options.analyst) as session:
        with payment_options.working():
            quote = session.quote(query, **output_options.keywords, **pay)
        with output_options.answering(quote):
            answer = session.answer(quote)[0]
        places = places_of(session)
    output_options.give(answer, show, places)
