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
    data: o.Data,
    text: o.Sql,
    payment_options: PaymentOptions,
    session_options: SessionOptions,
    output_options: OutputOptions,
) -> None:
    """Ask in SQL and show the noisy table with its error bars.

    One SELECT of COUNT(*), COUNT(DISTINCT person), SUM, AVG, MIN, MAX, MEDIAN, PERCENTILE_CONT and _DISC,
    VAR_POP and _SAMP, STDDEV_POP and _SAMP FROM data, with WHERE, GROUP BY, HAVING, ORDER BY and LIMIT. It
    is read into the same questions that release asks, and never run; groups and bounds come from the schema.
    See the cost beforehand with price --sql.
    """
    output_options.check()
    source, pay = session_options.source(data), payment_options.keywords()
    with session_options.session(source, analyst=output_options.analyst) as session:
        with payment_options.working():
            quote = session.quote(text, **output_options.keywords, **pay)
        with output_options.answering(quote):
            answer = session.lay_out(text, session.answer(quote))
        places = places_of(session)
    output_options.give(answer, show_table, places)
