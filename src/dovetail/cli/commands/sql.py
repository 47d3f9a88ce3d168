"""`dovetail sql`: ask the data in SQL and show the noisy table."""

from __future__ import annotations

import typer

from dovetail.cli import options as o
from dovetail.cli.option_groups import Sectioned, grouped
from dovetail.cli.output_options import OutputOptions
from dovetail.cli.payment_options import PaymentOptions
from dovetail.cli.render import show_table
from dovetail.cli.session_options import SessionOptions, places_of

_EPILOG = o.examples(
    'dovetail sql adult "SELECT sex, COUNT(*) FROM data GROUP BY sex" --within 20',
    'dovetail sql adult "SELECT AVG(age) FROM data WHERE age > 40" --epsilon 0.1',
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=Sectioned, epilog=_EPILOG)(grouped(sql))


def sql(
    data: o.Data, text: o.Sql, paying: PaymentOptions, opening: SessionOptions, giving: OutputOptions
) -> None:
    """Ask in SQL and show the noisy table with its error bars.

    One SELECT of COUNT(*), COUNT(DISTINCT person), SUM, AVG, MIN, MAX, MEDIAN, PERCENTILE_CONT and _DISC,
    VAR_POP and _SAMP, STDDEV_POP and _SAMP FROM data, with WHERE, GROUP BY, HAVING, ORDER BY and LIMIT. It
    is read into the same questions that release asks, and never run; groups and bounds come from the schema.
    See the cost beforehand with price --sql.
    """
    giving.check()
    source, pay = opening.source(data), paying.keywords()
    with opening.session(source, analyst=giving.analyst) as session:
        with paying.working():
            quote = session.quote(text, **giving.keywords, **pay)
        with giving.answering(quote):
            answer = session.lay_out(text, session.answer(quote))
        places = places_of(session)
    giving.give(answer, show_table, places)
