"""Put a dataset on record for a service: its budget, its policies, and what is said about it.

The registry lives in the ledger. A configuration begins it; where the two differ later, the start is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from dovetail.engines import Source, connect
from dovetail.errors import BudgetMismatch, InvalidParameter
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.query import Schema
from dovetail.query.neighbours import protected
from dovetail.query.protection import persons as protected_persons
from dovetail.query.schema import Table

from .forms import ABOUT, with_rows
from .settings import DeclaredDataset, Settings
from .sources import opened_source

_FIXED = ("source", "schema", "unit", "max_rows", "max_cells", "neighbours")


def register(declared: DeclaredDataset, ledger: Ledger, settings: Settings, *, by: str | None = None) -> None:
    """Record a new dataset after looking that its rows can be read and its columns are there."""
    source = opened_source(declared.source, settings, declared.name, declared.schema)
    table = check_columns(source, declared.schema)
    persons = protected_persons(table, declared.unit, declared.max_rows, declared.max_cells)
    protects = protected(declared.neighbours, None if persons is None else persons.unit.name)
    known = any(entry.name == declared.name for entry in ledger.catalogue.entries())
    budget = declared.budget if known else _given(declared)
    if not known and ledger.knows(*source.identity):
        raise BudgetMismatch(
            "These rows, or some of them, already have a budget under another name.",
            "Serve them under that name: two budgets would add up.",
        )
    ledger.account(declared.name, budget=budget, source=source.identity, protects=protects)
    ledger.set_policy(declared.name, answers=declared.answers, access="granted", by=by)
    ledger.catalogue.describe(declared.name, description(declared), by=by)


def check_columns(source: Source, schema: Schema) -> Table:
    """Return the table of a source, if it can be read and has every declared column."""
    engine = connect(source)
    try:
        return schema.table(engine.columns())
    finally:
        engine.close()


def _given(declared: DeclaredDataset) -> Budget:
    if declared.budget is None:
        raise InvalidParameter(
            "budget",
            None,
            f"given when {declared.name!r} is first served",
            "It is all that may ever be spent.",
        )
    return declared.budget


def description(declared: DeclaredDataset) -> dict[str, Any]:
    """Return what the registry keeps of a dataset beside its budget and policies."""
    said: dict[str, Any] = {"source": dict(declared.source), "schema": schema_text(declared.schema)}
    said |= {"unit": declared.unit, "max_rows": declared.max_rows, "max_cells": declared.max_cells}
    said |= {"neighbours": declared.neighbours, "public": bool(declared.about.get("public"))}
    said |= {"pacing": declared.pacing}
    return said | {name: declared.about.get(name) for name in ABOUT}


def schema_text(schema: Schema) -> str:
    """Return what the registry keeps of a schema; nothing where nothing is declared yet."""
    return with_rows(schema).to_toml() if schema.columns else ""


def kept_schema(text: str) -> Schema:
    """Read what the registry keeps of a schema."""
    return Schema.from_toml(text) if text else Schema()


def seed(settings: Settings, ledger: Ledger) -> None:
    """Put the datasets of the configuration on record; refuse one that differs from its record."""
    known = {entry.name: entry for entry in ledger.catalogue.entries()}
    for declared in settings.datasets:
        entry = known.get(declared.name)
        if entry is None or "source" not in entry.said:
            register(declared, ledger, settings)
            continue
        now = description(declared)
        differing = [name for name in _FIXED if now[name] != entry.said.get(name)]
        if declared.budget is not None and declared.budget != entry.budget:
            differing.append("budget")
        if differing:
            raise BudgetMismatch(
                f"The configuration of {declared.name!r} and the ledger differ in {', '.join(differing)}.",
                "The ledger's record holds. Make the configuration agree, or change the record as a curator.",
            )
    set_pacing(settings, ledger)


def set_pacing(settings: Settings, ledger: Ledger) -> None:
    """Record the pacing that the configuration says; the registry keeps it under every name of a dataset."""
    said = {each.name: each.pacing for each in settings.datasets if each.pacing is not None}
    for entry in ledger.catalogue.entries():
        pacing = said.get(entry.name)
        if pacing is not None and entry.said.get("pacing") != pacing:
            ledger.catalogue.amend(entry.name, partial(_with_pacing, pacing))


def _with_pacing(pacing: float, said: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**said, "pacing": pacing}
