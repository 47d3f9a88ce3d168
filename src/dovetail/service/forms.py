"""The JSON forms of what the library gives: amounts as exact decimals, standings, answers, plans."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from typing import Any, TypeVar, cast

from dovetail.answers import Answer, Plan, Quote
from dovetail.answers.number_formats import told
from dovetail.answers.quote import Standing
from dovetail.errors import DovetailError
from dovetail.exact.decimals import decimal_text
from dovetail.ledger import Entry
from dovetail.privacy import Budget, Charge
from dovetail.privacy.charge import amounts_text
from dovetail.query import Column, Schema
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import written
from dovetail.query.public_table import public_table
from dovetail.release.account import PlanState
from dovetail.release.stored_answers import asked_of

from .reply_types import (
    Amount,
    AnswerForm,
    AnswerMembers,
    BudgetForm,
    ColumnForm,
    ColumnType,
    DatasetSummary,
    PlanForm,
    PlanMembers,
    QuoteForm,
    QuoteMembers,
    SchemaForm,
    StandingForm,
)

M = TypeVar("M", bound=Mapping[str, object])


def amount(charge: Charge) -> Amount:
    """Return what was charged, without the curve that only accounting needs."""
    return cast(Amount, amounts_text(charge))


def exact(number: Fraction | None) -> str | None:
    """Return a rational as a decimal where it has one."""
    return None if number is None else decimal_text(number)


def limit(budget: Budget) -> BudgetForm:
    """Return a budget in decimals."""
    return cast(BudgetForm, budget.in_decimals())


def standing(budget: Budget, spent: Charge) -> StandingForm:
    """Return a limit, what was spent of it and what is left, as figures and in words."""
    left = budget.remaining(spent)
    return {
        "budget": limit(budget),
        "spent": amount(spent),
        "remaining": left.to_dict(),
        "text": {"budget": str(budget), "spent": str(spent), "remaining": str(left)},
    }


def column(each: Column) -> ColumnForm:
    """Return a column of a schema."""
    return {
        "name": each.name,
        "type": cast(ColumnType, each.type),
        "low": _bound(each.low),
        "high": _bound(each.high),
        "step": _bound(each.step),
        "values": None
        if each.values is None
        else cast(list[str | int | bool], list(map(written, each.values))),
        "other": each.other,
        "reviewed": each.reviewed,
        "decimal": each.decimal,
        "missing_words": list(each.missing_words),
        "kind": "id" if each.kind == "id" else None,
        "note": each.note,
    }


def _bound(value: Any) -> str | None:
    return None if value is None else str(written(value))


def schema(declared: Schema, *, whole: bool) -> SchemaForm:
    """Return what is public; what nobody has reviewed, and what rests on it, only as a `whole`."""
    told = declared if whole else public_table(declared.table()).schema
    said = bool(told.columns or told.derived or told.lookups)
    return {
        "columns": [column(each) for each in told],
        "encoding": told.encoding,
        "derived": [{"name": name, "expression": text} for name, text in told.derived],
        "toml": with_rows(told).to_toml() if said else "",
    }


def with_rows(declared: Schema) -> Schema:
    """Return a schema with the rows of every lookup: a reader elsewhere does not have their files."""
    return replace(declared, lookups=[replace(each, file=None) for each in declared.lookups])


ABOUT = ("title", "description", "contact", "licence")


def dataset(
    entry: Entry, mine: Standing | None, everybody: Standing | None, vintages: Sequence[str]
) -> DatasetSummary:
    """Return a dataset; `everybody` is what all have spent, where the reader may know it."""
    said = entry.said
    return {
        "name": entry.name,
        "title": said.get("title"),
        "description": said.get("description"),
        "contact": said.get("contact"),
        "licence": said.get("licence"),
        "protects": entry.protects,
        "neighbours": said.get("neighbours", "add-remove"),
        "unit": said.get("unit"),
        "max_rows": said.get("max_rows"),
        "max_cells": said.get("max_cells"),
        "answers": "shared" if entry.answers == "shared" else "own",
        "public": bool(said.get("public")),
        "retired": entry.retired,
        "pacing": said.get("pacing") or None,
        "version": entry.version,
        "budget": limit(entry.budget),
        "mine": standing_of(mine),
        "all": standing_of(everybody),
        "vintages": list(vintages),
        "sql_name": entry.name,
    }


def standing_of(seen: Standing | None) -> StandingForm | None:
    """Return where a budget or an allotment stands, if there is one."""
    return None if seen is None or seen.budget is None else standing(seen.budget, seen.spent)


def question_words(question: CheckedQuery) -> str:
    """Return what a question is, in a few words.

    >>> from dovetail.query.measures import Rows
    >>> question_words(CheckedQuery(Rows()))
    'count'
    """
    columns = ", ".join(axis.field.name for axis in question.named_by)
    some = ", matching rows only" if question.where is not None else ""
    return f"{question.measure.words()}{' by ' if columns else ''}{columns}{some}"


def request_words(body: str) -> list[str]:
    """Return what each question of a request is, from the JSON that the record keeps of it."""
    return [question_words(each) for each in asked_of(body)] or ["online run"]


def outside(offered: Quote, states: list[PlanState]) -> Quote:
    """Return a quote whose plan goes by its public identifier: its number would show what others do."""
    plan = offered.plan
    public: Any = None if plan is None else public_plan(plan.id, states)
    return offered if plan is None or public is None else replace(offered, plan=replace(plan, id=public))


def public_plan(number: int | None, states: list[PlanState]) -> str | None:
    """Return the public identifier of a plan."""
    return next((each.public for each in states if each.id == number), None)


def quote(offered: Quote, name: str, vintages: Sequence[str]) -> QuoteForm:
    """Return a quote with its digest, as `outside` tells it."""
    now = offered.standing
    asked = [each.question for each in offered.asked]
    assert now.budget is not None
    more: QuoteMembers = {
        "digest": digest(offered, vintages),
        "dataset": name,
        "vintages": list(vintages),
        "price": amount(offered.charge),
        "remaining_now": now.budget.remaining(now.spent).to_dict(),
        "words": [question_words(each) for each in asked],
        "cells": [None if each.discovers else each.cells for each in asked],
        "standing": {"budget": limit(now.budget), "spent": now.spent.to_dict()},
        "text": offered.words(),
    }
    return beside(offered.to_dict(), more)


def digest(offered: Quote, vintages: Sequence[str]) -> str:
    """Return a name for exactly this offer about these rows."""
    about = json.dumps([offered.digest, *vintages])
    return sha256(about.encode()).hexdigest() if vintages else offered.digest


def beside(published: dict[str, Any], more: M) -> M:
    """Return a form that the library publishes, with the service's own members beside its own."""
    return cast(M, {**published, **more})


def answer(given: Answer, public: str | None = None) -> AnswerForm:
    """Return an answer as the library writes it, with error bars that hold together, and its words.

    `public` identifies the plan that paid.
    """
    said = paid_by(given.to_dict(), public)
    more: AnswerMembers = {"simultaneous": _simultaneous(given, said), "words": question_words(given.query)}
    return beside(said, more)


def paid_by(said: dict[str, Any], public: str | None) -> dict[str, Any]:
    """Return the form of an answer or a table with the public identifier of the plan that paid."""
    paid = said.get("paid_by")
    return said | {"plan": public} | ({} if paid is None else {"paid_by": paid | {"id": public}})


def _simultaneous(given: Answer, said: Mapping[str, Any]) -> list[list[Any]] | None:
    """Return intervals that hold all at once; a single one does already."""
    if given.size == 1 and given.threshold is None:
        return [[row["low"], row["high"]] for row in said["rows"]]
    try:
        bars = given.bars(given.level, simultaneous=True)
    except DovetailError:
        # How many keys there are is secret.
        return None
    measure = given.query.measure
    ends = (told(measure, value, bar) for value, bar in zip(given.values(), bars, strict=True))
    return [[each["low"], each["high"]] for each in ends]


def plan(
    opened: Plan,
    name: str,
    vintages: Sequence[str],
    *,
    public: str | None,
    called: str | None,
    shared: bool,
) -> PlanForm:
    """Return a plan by its public identifier."""
    more: PlanMembers = {
        "id": public,
        "dataset": name,
        "name": called,
        "vintages": list(vintages),
        "price": amount(opened.charge),
        "shared": shared,
        "text": opened.price(),
    }
    return beside(opened.to_dict() | {"noise": opened.noise.to_dict()}, more)
