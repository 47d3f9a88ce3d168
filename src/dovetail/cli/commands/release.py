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
    data: o.Data, asked: QueryOptions, paying: PaymentOptions, opening: SessionOptions, giving: OutputOptions
) -> None:
    """Ask one question and show the noisy answer with its error bars.

    Without --sum, --mean or another statistic, it counts rows. The answer is charged to the budget of the
    data, which is kept in a ledger; the same question again is free and gets the same answer.
    """
    giving.check()
    source = opening.source(data)
    query, pay = asked.query(source), paying.keywords()
    with opening.session(source, analyst=giving.analyst) as session:
        with paying.working():
            quote = session.quote(query, **giving.keywords, **pay)
        with giving.answering(quote):
            answer = session.answer(quote)[0]
        places = places_of(session)
    giving.give(answer, show, places)
