"""Put a dataset on record for a service: its budget, its policies, and what is said about it.

The registry lives in the ledger. A configuration begins it; where the two differ later, the start is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dovetail.engines import Source, connect
from dovetail.engines.identity import overlap
from dovetail.errors import BudgetMismatch, InvalidParameter
from dovetail.ledger import Entry, Ledger
from dovetail.ledger.new_account import Registration
from dovetail.privacy import Budget
from dovetail.query import Schema
from dovetail.query.neighbours import protected
from dovetail.query.protection import persons as protected_persons
from dovetail.query.schema import Table

from .forms import ABOUT, with_rows
from .settings import DeclaredDataset, Settings
from .sources import opened_source

_FIXED = ("source", "schema", "unit", "max_rows", "max_cells", "neighbours")


@dataclass(frozen=True, slots=True)
class NewRecord:
    """A dataset that was looked at and is still to be recorded."""

    declared: DeclaredDataset
    sources: tuple[str, ...]
    budget: Budget | None
    protects: str
    known: bool

    def record(self, ledger: Ledger, by: str | None = None) -> None:
        """Put the dataset on record."""
        made = Registration.of(self.declared.name, self.budget, self.sources, None, self.protects)
        policy: dict[str, Any] = {"answers": self.declared.answers, "access": "granted"}
        ledger.catalogue.register(made, description(self.declared), **policy, new=not self.known, by=by)


def register(declared: DeclaredDataset, ledger: Ledger, settings: Settings, *, by: str | None = None) -> None:
    """Record a new dataset after looking that its rows can be read and its columns are there."""
    known = any(entry.name == declared.name for entry in ledger.catalogue.entries())
    made = _examined(declared, settings, known)
    if not known:
        _check_new(made, ledger)
    made.record(ledger, by)


def _examined(declared: DeclaredDataset, settings: Settings, known: bool) -> NewRecord:
    """Look at all that can be wrong with a dataset by itself; nothing is recorded."""
    source = opened_source(declared.source, settings, declared.name, declared.schema)
    table = check_columns(source, declared.schema)
    persons = protected_persons(table, declared.unit, declared.max_rows, declared.max_cells)
    protects = protected(declared.neighbours, None if persons is None else persons.unit.name)
    budget = declared.budget if known else _given(declared)
    return NewRecord(declared, source.identity, budget, protects, known)


def _check_new(made: NewRecord, ledger: Ledger) -> None:
    """Refuse rows that have a budget, and a name that another dataset had: it still finds that one."""
    if ledger.knows(*made.sources):
        raise _second_budget()
    if made.declared.name in ledger.sources():
        raise BudgetMismatch(
            f"Another dataset was called {made.declared.name!r} before.", "Choose another name."
        )


def _second_budget() -> BudgetMismatch:
    return BudgetMismatch(
        "These rows, or some of them, already have a budget under another name.",
        "Serve them under that name: two budgets would add up.",
    )


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
    record(unrecorded(settings, ledger), settings, ledger)


def unrecorded(settings: Settings, ledger: Ledger | None) -> list[NewRecord]:
    """Return the datasets that are to be recorded, after looking at all of them; `ledger` is only read.

    Where one cannot be served, the start is refused, and none of the others may be on record then.
    """
    known = {} if ledger is None else {entry.name: entry for entry in ledger.catalogue.entries()}
    found: list[NewRecord] = []
    for declared in settings.datasets:
        entry = known.get(declared.name)
        if entry is not None:
            _check_agreement(declared, entry)
        if entry is not None and "source" in entry.said:
            continue
        made = _examined(declared, settings, entry is not None)
        elsewhere = [each for other in found for each in other.sources]
        if any(overlap(one, other) for one in made.sources for other in elsewhere):
            raise _second_budget()
        if entry is None and ledger is not None:
            _check_new(made, ledger)
        found.append(made)
    # What was charged under such a name before may forbid it still, which the ledger itself finds.
    return sorted(found, key=lambda each: each.declared.name not in known)


def record(found: Iterable[NewRecord], settings: Settings, ledger: Ledger) -> None:
    """Record the datasets that were looked at, and the pacing of all."""
    for each in found:
        each.record(ledger)
    set_pacing(settings, ledger)


def _check_agreement(declared: DeclaredDataset, entry: Entry) -> None:
    """Refuse a dataset that differs from its record."""
    now = description(declared) if "source" in entry.said else {}
    differing = [name for name in _FIXED if name in now and now[name] != entry.said.get(name)]
    if declared.budget is not None and declared.budget != entry.budget:
        differing.append("budget")
    if differing:
        raise BudgetMismatch(
            f"The configuration of {declared.name!r} and the ledger differ in {', '.join(differing)}.",
            "The ledger's record holds. Make the configuration agree, or change the record as a curator.",
        )


def set_pacing(settings: Settings, ledger: Ledger) -> None:
    """Record the pacing that the configuration says; the registry keeps it under every name of a dataset."""
    said = {each.name: each.pacing for each in settings.datasets if each.pacing is not None}
    for entry in ledger.catalogue.entries():
        pacing = said.get(entry.name)
        if pacing is not None and entry.said.get("pacing") != pacing:
            ledger.catalogue.amend(entry.name, partial(_with_pacing, pacing))


def _with_pacing(pacing: float, said: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**said, "pacing": pacing}
