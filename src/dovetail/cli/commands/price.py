"""`dovetail price`: what a question would cost, before it is asked."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import typer

from dovetail.cli import options as o
from dovetail.cli.descriptions import charge_in_words, protected_in_words
from dovetail.cli.option_groups import Sectioned, grouped
from dovetail.cli.payment_options import PaymentOptions
from dovetail.cli.query_options import QueryOptions
from dovetail.cli.render import notes
from dovetail.cli.session_options import SessionOptions
from dovetail.cli.terminal import plain_json, stdout
from dovetail.errors import InvalidQuery

if TYPE_CHECKING:
    from dovetail.answers.quote import Priced
    from dovetail.ledger.statement import Standing

_UNKNOWN = "as the number of rows allows, which is private"

_EPILOG = o.examples(
    "dovetail price adult --by education --within 5",
    "dovetail price adult --by sex --within 20 --queries 20 --budget epsilon=5",
    "dovetail price adult --where 'age >= 40' --within 10 --probability 0.99",
    'dovetail price adult --sql "SELECT AVG(age) FROM data" --epsilon 0.1',
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=Sectioned, epilog=_EPILOG)(grouped(price))


def price(
    data: o.Data,
    asked: QueryOptions,
    paying: PaymentOptions,
    opening: SessionOptions,
    sql: o.SqlOption = None,
    as_json: o.Json = False,
) -> None:
    """Say what a question would cost, and how exact it would be.

    No row is read and nothing is spent.
    """
    if sql is not None and asked != QueryOptions():
        raise InvalidQuery("Give --sql, or the options that ask without SQL, not both.")
    source, payment = opening.source(data), paying.read()
    query = sql if sql is not None else asked.query(source)
    with opening.pricing(source) as (session, standing):
        quote = payment.quoted(session, query, opening.neighbours)
    affordable = None if standing is None else _affordable(quote, standing)
    remaining = str(standing.remaining) if standing else None
    if as_json:
        typer.echo(plain_json(json.dumps(_figures(quote, payment.level, remaining, affordable))))
        return
    texts = {"cost": _cost(quote), "error": _error(quote, payment.level)}
    found = [str(each.threshold.least) for each in quote.asked if each.threshold is not None]
    if found:
        texts["keys"] = f"those whose noisy count reaches {', '.join(found)} are shown"
    if remaining is not None:
        texts |= {"remains": remaining, "affordable": "yes" if affordable else "no"}
    persons = quote.asked[0].question.persons
    notes(stdout(), texts | {"protects": protected_in_words(opening.neighbours, persons)})


def _affordable(quote: Priced, standing: Standing) -> bool:
    if quote.plan is not None and quote.plan.left is not None:
        return quote.slots <= quote.plan.left
    return standing.budget.allows(standing.spent, quote.charge)


def _figures(
    quote: Priced, level: Fraction, remaining: str | None, affordable: bool | None
) -> dict[str, Any]:
    from dovetail.privacy.charge import UNITS

    return {
        "charge": quote.charge.to_dict(),
        "charge_units": UNITS,
        "queries": None if quote.plan is None else quote.plan.slots,
        "errors": [None if error is None else str(error) for error in quote.errors(level)],
        "level": str(level),
        "remaining": remaining,
        "affordable": affordable,
    }


def _cost(quote: Priced) -> str:
    plan = quote.plan
    if plan is None:
        return charge_in_words(quote.charge)
    if plan.left is None:
        used = f"; this question uses {quote.slots} of them" if quote.slots > 1 else ""
        return f"all {plan.slots} answers together: {plan.price()}{used}"
    return (
        f"nothing more: {quote.slots} of the {plan.left} answers left of a plan that is paid ({plan.price()})"
    )


def _error(quote: Priced, level: Fraction) -> str:
    """Say how exact each answer would be; of several questions, with their names."""
    from dovetail.answers.display import figure, percent

    texts = []
    for each, error in zip(quote.asked, quote.errors(level), strict=True):
        question = each.question
        name = f"{question.measure.scale()} " if len(quote.asked) > 1 else ""
        text = _UNKNOWN if error is None else f"±{figure(error)}"
        texts.append(name + text + (" in each cell" if question.grouped and error is not None else ""))
    return f"{'; '.join(texts)}, with probability {percent(level)}"
