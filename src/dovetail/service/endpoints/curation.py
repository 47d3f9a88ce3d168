"""The curator's side of data: what is served, what is public about it, its budget, and what became of it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from pydantic import Field

from dovetail.check import choice
from dovetail.engines.source import without_password
from dovetail.errors import BudgetMismatch, InvalidParameter
from dovetail.ledger import Entry
from dovetail.ledger.statement import Statement, StatementEntry
from dovetail.noise import from_dict
from dovetail.query import Column, Schema
from dovetail.service import forms
from dovetail.service.authentication import in_role
from dovetail.service.bodies import Body, GivenBudget, Names, read_budget, read_pacing
from dovetail.service.curator_reply_types import (
    BudgetChange,
    ConnectionForm,
    DatasetOverview,
    Draft,
    EntryForm,
    Overview,
    Sources,
    UnpublishedSourceForm,
)
from dovetail.service.noted_warnings import noted_warnings
from dovetail.service.problems import Refused
from dovetail.service.registration import check_columns, register, schema_text
from dovetail.service.replies import once, reply, service_of
from dovetail.service.reply_types import DatasetForm, Reply
from dovetail.service.routing import KeyRoute
from dovetail.service.service import Service
from dovetail.service.settings import ANSWERS, DeclaredDataset
from dovetail.service.sources import check_form, listed_roots, opened_source

from .datasets import with_schema

router = APIRouter(route_class=KeyRoute, tags=["Curator"])
_MOST_ENTRIES = 200
_EXPORTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A file.",
        "content": {"application/json": {"schema": {}}, "text/csv": {"schema": {"type": "string"}}},
    }
}


class DraftBody(Body):
    """Where the rows are; `show` lists the columns whose values and bounds the curator wants to see."""

    source: dict[str, Any]
    show: Names = Field(default_factory=list)


class Columns(Body):
    """What is public about a table: its columns, or all of a schema as TOML."""

    columns: Annotated[list[dict[str, Any]], Field(fail_fast=True)] | None = None
    encoding: str | None = None
    toml: str | None = None


class NewDataset(Body):
    """A dataset: where it is, what is public about it, whom it protects, what it may spend."""

    name: str
    source: dict[str, Any]
    columns_declared: Columns = Field(alias="schema")
    unit: str | None = None
    max_rows: int | None = None
    max_cells: int | None = None
    neighbours: str = "add-remove"
    budget: GivenBudget
    answers: str = "own"
    public: bool = False
    pacing: float | int | None = None
    title: str | None = None
    description: str | None = None
    contact: str | None = None
    licence: str | None = None


class Changes(Body):
    """What is said of a dataset from now on; what is left out stays.

    `pacing` is the number of seconds between the moments at which answers leave; 0 lets them leave at once.
    """

    name: str | None = None
    title: str | None = None
    description: str | None = None
    contact: str | None = None
    licence: str | None = None
    answers: str | None = None
    public: bool | None = None
    pacing: float | int | None = None
    retired: bool | None = None
    disjoint: Literal[True] | None = Field(None, description="Each row lies in one vintage; for good.")


class BudgetBody(Body):
    """Another budget for a dataset, and why."""

    dataset: str
    budget: GivenBudget
    reason: str


@router.get("/v1/sources", summary="The places from which data may be served")
def sources(request: Request) -> Reply[Sources]:
    """The data roots and connections of the configuration; passwords are not shown.

    `first` is what the service was started with, until it is published.
    """
    in_role(request, "curator")
    service = service_of(request)
    settings = service.settings
    connections: list[ConnectionForm] = [
        {"name": name, "kind": address.partition(":")[0], "address": without_password(address)}
        for name, address in settings.connections.items()
    ]
    return reply(
        {
            "roots": listed_roots(settings),
            "connections": connections,
            "shipped": ["adult"],
            "first": _first(service),
        }
    )


@router.post("/v1/drafts", summary="Propose a schema from the rows")
def draft(body: DraftBody, request: Request) -> Reply[Draft]:
    """Each column must then be reviewed. Values and bounds come from rows: they are shown only on request."""
    in_role(request, "curator")
    settings = service_of(request).settings
    source = opened_source(check_form(body.source, settings), settings, "draft", None)
    schema = source.schema if source.shipped and source.schema is not None else Schema.draft(source)
    columns = []
    for each in schema:
        shown = forms.column(each)
        if each.name not in body.show and not source.shipped:
            shown = {**shown, "low": None, "high": None, "values": None, "missing_words": [], "note": None}
        columns.append(shown)
    return reply({"columns": columns, "encoding": schema.encoding})


@router.post("/v1/datasets", status_code=201, summary="Serve a dataset")
def create(body: NewDataset, request: Request) -> Reply[DatasetForm]:
    """Unit, neighbours and contribution bounds are then fixed: charges for different ones do not add up."""
    caller, service = in_role(request, "curator"), service_of(request)

    def done() -> DatasetForm:
        about = {name: getattr(body, name) for name in (*forms.ABOUT, "public")}
        protected = {name: getattr(body, name) for name in ("unit", "max_rows", "max_cells", "neighbours")}
        declared = DeclaredDataset(
            body.name,
            dict(check_form(body.source, service.settings)),
            read_budget("budget", body.budget),
            answers=body.answers,
            about=about,
            pacing=read_pacing(body.pacing),
            schema=read_schema(body.columns_declared),
            **protected,
        )
        if any(entry.name == body.name for entry in service.ledger.catalogue.entries()):
            raise BudgetMismatch(f"There is already a dataset {body.name!r}.", "Choose another name.")
        register(declared, service.ledger, service.settings, by=caller.name)
        service.served.refresh(now=True)
        return with_schema(service, caller, service.visible(caller, body.name))

    return once(request, caller, body.model_dump(), done)


@router.patch("/v1/datasets/{name}", summary="Change the description and the policies of a dataset")
def change(name: str, body: Changes, request: Request) -> Reply[DatasetForm]:
    """Also rename or retire it, make its record public, or share its stored answers among analysts."""
    caller, service = in_role(request, "curator"), service_of(request)
    service.visible(caller, name)
    said = {key: value for key, value in body.model_dump().items() if value is not None}
    about = {key: said[key] for key in (*forms.ABOUT, "public") if key in said}
    about |= {"pacing": read_pacing(said["pacing"])} if "pacing" in said else {}
    # What may be refused comes first.
    if "answers" in said:
        choice("answers", said["answers"], ANSWERS)
    if "disjoint" in said or "name" in said:
        with noted_warnings():
            service.ledger.catalogue.settle(
                name, disjoint="disjoint" in said, rename_to=said.get("name"), by=caller.name
            )
    if "answers" in said:
        service.ledger.set_policy(name, answers=said["answers"], by=caller.name)
    if about:
        service.ledger.catalogue.amend(name, lambda before: {**before, **about}, by=caller.name)
    if said.get("retired"):
        service.ledger.retire(name, by=caller.name)
    service.served.refresh(now=True)
    return reply(with_schema(service, caller, service.visible(caller, said.get("name", name))))


@router.put("/v1/datasets/{name}/schema", summary="Add or confirm columns")
def change_schema(name: str, body: Columns, request: Request) -> Reply[DatasetForm]:
    """Answers that were given before stay as they are."""
    caller, service = in_role(request, "curator"), service_of(request)
    served = service.visible(caller, name)
    schema = read_schema(body, served.schema)
    source = opened_source(served.entry.said["source"], service.settings, name, schema)
    check_columns(source, schema)
    kept = {"schema": schema_text(schema)}
    service.ledger.catalogue.amend(name, lambda before: {**before, **kept}, by=caller.name)
    service.served.refresh(now=True)
    return reply(with_schema(service, caller, service.visible(caller, name)))


@router.post("/v1/budgets", summary="Change a budget, with a reason")
def raise_budget(body: BudgetBody, request: Request) -> Reply[BudgetChange]:
    """Once answers have been given, this makes the guarantee ex post, and the record says so."""
    caller, service = in_role(request, "curator"), service_of(request)

    def done() -> BudgetChange:
        before = service.visible(caller, body.dataset).entry.budget
        after = read_budget("budget", body.budget)
        if not body.reason.strip():
            raise InvalidParameter("reason", body.reason, "a sentence that the record keeps")
        with noted_warnings() as noted:
            service.ledger.set_budget(body.dataset, after, by=caller.name, reason=body.reason)
        service.served.refresh(now=True)
        return {
            "dataset": body.dataset,
            "before": forms.limit(before),
            "after": forms.limit(after),
            "ex_post": bool(noted),
            "reason": body.reason,
        }

    return once(request, caller, body.model_dump(), done, 200)


@router.get("/v1/overview", summary="What was spent, by whom and how fast")
def overview(request: Request) -> Reply[Overview]:
    """The same figures as the ledger's own statement."""
    in_role(request, "curator", "auditor")
    service = service_of(request)
    statement = service.ledger.show(last=_MOST_ENTRIES)
    entries: list[EntryForm] = [
        {
            "at": each.at,
            "dataset": each.dataset,
            "who": each.analyst,
            "what": _what(each),
            "state": each.state,
            "price": None if each.charge is None else forms.amount(each.charge),
        }
        for each in reversed(statement.entries)
    ]
    datasets = [_became(service, served.entry, statement) for served in service.served.all()]
    return reply({"datasets": datasets, "entries": entries, "head": str(service.ledger.head)})


@router.get("/v1/export", responses=_EXPORTS, summary="The whole record")
def export(request: Request, format: str = "json") -> Response:  # noqa: A002 - its name in the address
    """JSON to keep and to check elsewhere, or CSV for a spreadsheet. It never contains a secret."""
    in_role(request, "curator")
    text = service_of(request).ledger.export(format)
    kind = "application/json" if format == "json" else "text/csv; charset=utf-8"
    headers = {"Content-Disposition": f'attachment; filename="record.{format}"'}
    return Response(text, media_type=kind, headers=headers)


def _what(entry: StatementEntry) -> str:
    """Return an entry in words: of requests and plans, the record keeps all that was said."""
    if entry.body is None:
        return entry.what
    plan = json.loads(entry.body).get("plan")
    if plan is not None:
        return f"plan of answers with {from_dict(plan)}"
    return "; ".join(forms.request_words(entry.body))


def _first(service: Service) -> UnpublishedSourceForm | None:
    first = service.settings.first
    if first is None or any(served.entry.said["source"] == first.source for served in service.served.all()):
        return None
    budget = None if first.budget is None else forms.limit(first.budget)
    return {"name": first.name, "source": dict(first.source), "budget": budget}


def read_schema(said: Columns, before: Schema | None = None) -> Schema:
    """Return the schema that a body holds; derived columns and lookups stay as they were `before`."""
    if (said.columns is None) == (said.toml is None):
        raise Refused(400, "invalid-body", 'Give either "columns" or "toml".')
    if said.toml is not None:
        return Schema.from_toml(said.toml, folder=None)
    assert said.columns is not None
    known = {each.name for each in fields(Column)} - {"note"}
    columns = []
    for each in said.columns:
        unknown = sorted(set(each) - known - {"note"})
        given = {name: value for name, value in each.items() if name in known and value is not None}
        if unknown or "name" not in given or "type" not in given:
            raise InvalidParameter("columns", unknown, f"of the members {', '.join(sorted(known))}")
        columns.append(Column(**given))
    return replace(before or Schema(), columns=columns, encoding=said.encoding)


def _became(service: Service, entry: Entry, found: Statement) -> DatasetOverview:
    """Return what became of a dataset's budget."""
    standing = next(each for each in found.standings if each.name == entry.name)
    charged = [each for each in found.entries if each.dataset == entry.name and each.charge is not None]
    by_day: Counter[str] = Counter()
    for each in charged:
        epsilon = forms.amount(each.charge)["epsilon"] if each.charge is not None else None
        by_day[each.at[:10]] += Fraction(epsilon) if epsilon is not None else 0  # type: ignore[assignment]
    outcomes = Counter(each.outcome for each in charged)
    rate, left = _pace(charged, by_day, Fraction(standing.remaining.epsilon))
    return {
        "name": entry.name,
        "standing": forms.standing(standing.budget, standing.spent),
        "shares": [
            {
                "person": each.analyst,
                "standing": forms.standing(each.allotment, each.spent),
                "state": each.state,
            }
            for each in found.shares
            if each.dataset == entry.name
        ],
        "spent_by_day": [
            {"day": day, "epsilon": forms.exact(Fraction(sum_))} for day, sum_ in by_day.items()
        ],
        "epsilon_per_day": forms.exact(rate),
        "days_left": left,
        "answers": outcomes["answered"],
        "failed": outcomes["failed"],
        "refusals": service.metrics.refusals[entry.name],
    }


def _pace(charged: Any, by_day: Any, left: Fraction) -> tuple[Fraction, float | None]:
    """Return the spending a day since the first charge, and how many days the rest lasts at that pace."""
    if not charged:
        return Fraction(0), None
    begun = datetime.fromisoformat(charged[0].at)
    days = max(Fraction((datetime.now(UTC) - begun).total_seconds()) / 86400, Fraction(1))
    rate = Fraction(round(sum(by_day.values(), Fraction(0)) / days, 6))
    return rate, float(left / rate) if rate else None
