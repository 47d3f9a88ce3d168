"""`dovetail release`: ask the data one question and show the noisy answer."""

from __future__ import annotations

from dataclasses import replace

import typer

from dovetail.cli import answers
from dovetail.cli import options as o
from dovetail.cli.asking import Asked
from dovetail.cli.budgets import chosen
from dovetail.cli.paying import open_session, read_payment
from dovetail.cli.places import read_source
from dovetail.errors import InvalidParameter

_EPILOG = o.examples(
    "dovetail release adult --by education --within 5 --budget epsilon=1",
    "dovetail release adult --by education,sex --where 'age >= 40' --epsilon 0.1",
    "dovetail release adult --by age --bins age=0,30,60,120 --noise mixture:0.2,1,5",
    "dovetail release adult --mean age --low 0 --high 100 --step 1 --epsilon 0.1",
    "dovetail release people.csv --by region --within 5 --queries 20 --csv > regions.csv",
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EPILOG)(release)


def release(
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
    queries: o.Shares = None,
    budget: o.Budget = None,
    ledger: o.LedgerFile = None,
    schema: o.SchemaFile = None,
    name: o.Name = None,
    table: o.Table = None,
    neighbours: o.Neighbours = o.Neighbour.ADD_REMOVE,
    analyst: o.Analyst = "local",
    clamp: o.Clamp = False,
    fresh: o.Fresh = False,
    request: o.Request = None,
    as_json: o.Json = False,
    as_csv: o.Csv = False,
    plot: o.Plot = None,
) -> None:
    """Ask one question and show the noisy answer with its error bars.

    Without --sum or --mean it counts rows. The answer is charged to the budget of the data, which is kept in
    a ledger; the same question again is free and gets the same answer.
    """
    if as_json and as_csv:
        raise InvalidParameter("format", "--json and --csv", "one of them")
    answers.check_picture(plot)
    asked = Asked.read(by, keys, bins, where=where, sum=total, mean=mean, low=low, high=high, step=step)
    source = read_source(data, schema, name, table)
    query = asked.query(source, data)
    spend = chosen(epsilon, delta, zeta, max_epsilon)
    payment = read_payment(within, probability, spend, noise, queries)
    payment.check(asked)
    options = {"queries": payment.shares, "neighbours": neighbours, "analyst": analyst}
    with open_session(source, budget=budget, ledger=ledger, **options) as session:
        pay = payment.on(session, query, neighbours)
        answer = session.batch([query], clamp=clamp, fresh=fresh, request=request, **pay)[0]
        place = session.ledger_place
    # A plan by accuracy pays too: show what was asked for.
    answer = replace(answer, level=payment.level)
    if plot is not None:
        answers.draw_picture(answer, plot)
    if as_json:
        typer.echo(answer.to_json())
    elif as_csv:
        answers.write_csv(answer)
    else:
        answers.show(answer, place)
