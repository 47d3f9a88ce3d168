"""Online runs: paid once, then counts of some columns as often as you like."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request

from dovetail.answers import Answer
from dovetail.check import integer
from dovetail.errors import InvalidParameter
from dovetail.ledger.account import wait_for_tick
from dovetail.query import Query
from dovetail.query.checked_query import CheckedQuery
from dovetail.release.account import PlanState
from dovetail.service import forms
from dovetail.service.authentication import signed_in
from dovetail.service.bodies import (
    VINTAGES,
    Body,
    GivenBudget,
    GivenQuestion,
    GivenQuestions,
    Names,
    check_length,
    check_sql,
    idempotency_key,
    one_of,
    read_budget,
    read_queries,
)
from dovetail.service.problems import Refused, not_found
from dovetail.service.replies import opened_once, reply, service_of
from dovetail.service.reply_types import (
    Reply,
    RunAnswered,
    RunAnswerForm,
    RunAnswerMembers,
    RunForm,
    RunOffer,
    Runs,
)
from dovetail.service.routing import AnswerRoute, KeyRoute
from dovetail.service.served_datasets import ServedDataset
from dovetail.service.service import Service
from dovetail.service.settings import Limits

from .questions import Asker

if TYPE_CHECKING:
    from dovetail.online.durable_run import Online
    from dovetail.online.planner import OnlineDesign
    from dovetail.online.run_plan import RunPlan

router = APIRouter(route_class=KeyRoute, tags=["Online runs"])
# What waits for rows or for a tick must not take the threads of everything else.
answering = APIRouter(route_class=AnswerRoute, tags=["Online runs"])
_MOST_CELLS = 10**7
_MOST_QUERIES = 10**9


class RunBody(Body):
    """The columns of a run, how many questions are expected, and what it may spend."""

    columns: Names
    queries: Any
    ways: Any = 3
    bins: dict[str, list[Any]] | None = None
    base: Any = "auto"
    updates: Any = "auto"
    spend: GivenBudget | None = None
    promise: Any = "0.95"
    most_cells: Any = _MOST_CELLS
    vintages: Names = VINTAGES


class RunQuestion(Body):
    """Counts and histograms of the columns of a run, or a SELECT of counts."""

    question: GivenQuestion | GivenQuestions | None = None
    sql: str | None = None
    unchecked: bool = False


@router.post("/v1/datasets/{name}/runs/quotes", summary="What a run would cost and promise")
def quoted(name: str, body: RunBody, request: Request) -> Reply[RunOffer]:
    """Nothing is read and nothing is spent."""
    asker = Asker.of(name, request, body.vintages)
    made = asker.session.quote_online(*body.columns, **_wanted(body, request))
    return reply(_design(made, name, asker.vintages))


@answering.post("/v1/datasets/{name}/runs", status_code=201, summary="Open a run")
def opened(name: str, body: RunBody, request: Request) -> Reply[RunForm]:
    """A repeated request returns the same run, which is paid once."""
    idempotency_key(request)
    asker = Asker.of(name, request, body.vintages)
    shown = asker.served.entry.name

    def done() -> RunForm:
        asker.check_places()
        run = asker.session.online(*body.columns, **_wanted(body, request))
        state = next(each for each in asker.plans() if each.id == run.plan.id)
        asker.served.keep_run(asker.caller, state.public, run)
        return _run(state, shown)

    def again(public: str) -> RunForm | None:
        return next((_run(each, shown) for each in asker.plans() if each.public == public), None)

    with paced(asker.served):
        return opened_once(request, asker.caller, body.model_dump(), done, again)


@router.get("/v1/runs", summary="The runs that you may ask")
def listed(request: Request, dataset: str | None = None) -> Reply[Runs]:
    """Your own, and those that are shared."""
    service, caller = service_of(request), signed_in(request)
    granted = service.held(caller)
    datasets = [service.visible(caller, dataset)] if dataset is not None else service.served.all()
    runs: list[RunForm] = []
    for served in datasets:
        if served.entry.number in granted:
            states = service.ledger.catalogue.account(served.entry.name).plans_of(caller.name)
            shown = [_run(each, served.entry.name) for each in states if read_run(each) is not None]
            # How far a question has got that is under way would show before its tick.
            runs += [each | {"updates_left": None} for each in shown] if served.pacing else shown
    return reply({"runs": runs, "next": None})


@answering.post("/v1/runs/{public}/answers", summary="Ask a run")
def answered(public: str, body: RunQuestion, request: Request) -> Reply[RunAnswered]:
    """A repeated question gets the stored answer. The run is already paid: no question costs more."""
    idempotency_key(request)
    one_of(body)
    service = service_of(request)
    asker, state = _found(service, request, public)
    with paced(asker.served):
        return reply(_answer(asker, state, body, service.settings.limits))


def _answer(asker: Asker, state: PlanState, body: RunQuestion, limits: Limits) -> RunAnswered:
    run, public = _reopened(asker, state), state.public
    table, answers = None, list[Answer]()
    if body.sql is not None:
        text = check_sql(body.sql, limits)
        _check_numbers(run, asker.session.read_sql(text).queries, limits)
        selected = run.sql(text, unchecked=body.unchecked)
        table, answers = forms.paid_by(json.loads(selected.to_json()), public), list(selected.answers)
    else:
        queries = read_queries(body.question, limits)
        _check_numbers(run, queries, limits)
        answers += run.batch(queries, unchecked=body.unchecked)
    shown = [_shown(json.loads(each.to_json()), public, each.query) for each in answers]
    return {"run": public, "answers": shown, "table": table, "updates_left": run.updates_left}


def _check_numbers(run: Online, queries: Iterable[Query], limits: Limits) -> None:
    """Refuse more numbers at once than one reply may hold."""
    numbers = run.numbers(queries)
    if numbers > limits.cells:
        raise Refused(413, "too-large", f"{numbers} cells are more than {limits.cells}.")


@contextmanager
def paced(served: ServedDataset) -> Iterator[None]:
    """Let a run tell what happened at a tick: to open it again takes time that depends on the rows."""
    begun = monotonic()
    try:
        yield
    finally:
        if served.pacing is not None:
            wait_for_tick(begun, served.pacing)


def _shown(said: dict[str, Any], public: str, question: CheckedQuery) -> RunAnswerForm:
    more: RunAnswerMembers = {"run": public, "words": forms.question_words(question)}
    return forms.beside(said, more)


def _wanted(body: RunBody, request: Request) -> dict[str, Any]:
    limits = service_of(request).settings.limits
    read: dict[str, Any] = {"columns": body.columns, "bins": body.bins}
    check_length([read], limits, "The columns of the run together", "Name fewer, or shorter ones.")
    for name in ("base", "updates"):
        if isinstance(getattr(body, name), dict):
            raise InvalidParameter(name, "an object", "a number, a word or null")
    return {
        "queries": integer("queries", body.queries, low=1, high=_MOST_QUERIES),
        "ways": integer("ways", body.ways, low=1, high=8),
        "bins": body.bins,
        "base": body.base,
        "updates": body.updates,
        "spend": None if body.spend is None else read_budget("spend", body.spend),
        "promise": body.promise,
        "most_cells": integer("most_cells", body.most_cells, low=1, high=_MOST_CELLS),
    }


def _found(service: Service, request: Request, public: str) -> tuple[Asker, PlanState]:
    """Return the run of an identifier; another's is as unknown as one that was never opened."""
    caller = signed_in(request)
    granted = service.held(caller)
    for served in service.served.all():
        if served.entry.number in granted:
            states = service.ledger.catalogue.account(served.entry.name).plans_of(caller.name)
            state = next((each for each in states if each.public == public), None)
            if state is not None and read_run(state) is not None:
                # Only now: another dataset that is retired or unreadable does not stand in the way.
                return Asker.of(served.entry.name, request, state.vintages), state
    raise not_found()


def _reopened(asker: Asker, state: PlanState) -> Online:
    """Return a run as it was asked for: open here already, or opened again, which is free."""
    kept = asker.served.runs.get((asker.caller.principal.id, state.public))
    if kept is not None:
        return kept
    run = read_run(state)
    assert run is not None
    asker.check_places()
    opened = asker.session.reopened(run)
    asker.served.keep_run(asker.caller, state.public, opened)
    return opened


def _design(made: OnlineDesign, name: str, vintages: Sequence[str]) -> RunOffer:
    return {
        "id": None,
        "dataset": name,
        "vintages": list(vintages),
        "queries": made.queries,
        "base": made.base,
        "updates": made.updates,
        "within": None if made.alpha is None else str(made.alpha),
        "promise": forms.exact(made.promise),
        "price": forms.amount(made.charge),
        "text": made.explain(),
    }


def _run(state: PlanState, name: str) -> RunForm:
    run = read_run(state)
    assert run is not None
    return {
        "id": state.public,
        "dataset": name,
        "vintages": list(state.vintages),
        "columns": columns_of(run),
        "queries": run.asked["queries"],
        "base": run.asked["base"],
        "updates": run.updates,
        "updates_left": state.left if run.guard is not None else 0,
        "within": None if run.alpha is None else str(run.alpha),
        "promise": run.asked["promise"],
        "price": forms.amount(state.charge),
        "text": f"{len(run.shape)} columns, {run.updates} updates, paid {state.charge}",
    }


def read_run(state: PlanState) -> RunPlan | None:
    """Return the run that a plan of the ledger is, None for another plan."""
    # Online answering takes long to load, and many services never use it.
    from dovetail.online.run_plan import stored_run

    return stored_run(state)


def columns_of(run: RunPlan) -> list[str]:
    """Return the columns of a run."""
    return [str(axis["column"][0]) for axis in run.asked["axes"]]
