"""Open a session from the options that say where data and budget are, and whom the budget protects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.errors import InvalidParameter, LedgerError

from . import options as o
from .budget_syntax import read_budget
from .data_arguments import ledger_of, read_source
from .terminal import note

if TYPE_CHECKING:
    from dovetail.engines import Source
    from dovetail.privacy import Budget
    from dovetail.session import Session


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Where the data, what is public of them and their budget are, and what is protected."""

    title: ClassVar[str] = "Data, budget, and whom it protects"

    budget: o.Budget = None
    ledger: o.LedgerFile = None
    schema: o.SchemaFile = None
    name: o.Name = None
    table: o.Table = None
    unit: o.Unit = None
    rows: o.Rows = False
    max_rows: o.MaxRows = None
    max_cells: o.MaxCells = None
    neighbours: o.Neighbours = o.Neighbour.ADD_REMOVE
    vintage: o.Vintage = None
    data_version: o.DataVersion = None
    same_data: o.SameData = None

    def source(self, data: str) -> Source:
        """Return the source that the word names."""
        return read_source(data, self.schema, self.name, self.table)

    @contextmanager
    def session(self, source: Source, **options: Any) -> Iterator[Session]:
        """Open the session on a source; its budget is fixed by the first charge, and said to be new then."""
        from dovetail.engines.identity import NOT_KNOWN
        from dovetail.session import Session

        self._warn_of_second_ledger(source)
        with Session(
            source,
            budget=self._limit(),
            ledger=self.ledger,
            vintage=self.vintage or (),
            version=self.data_version,
            same_data=self.same_data,
            **self._protected(),
            **options,
        ) as opened:
            unknown = self.ledger is None and not source.shipped and not opened.begun
            try:
                yield opened
            except InvalidParameter as error:
                if error.parameter == "budget" and self.budget is None:
                    raise _no_budget(source.name) from None
                raise
            if unknown and opened.begun:
                note(NOT_KNOWN)

    def _limit(self) -> Budget | None:
        return None if self.budget is None else read_budget(self.budget)

    def _protected(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "protects": "rows" if self.rows else None,
            "max_rows": self.max_rows,
            "max_cells": self.max_cells,
            "neighbours": self.neighbours,
        }

    def _warn_of_second_ledger(self, source: Source) -> None:
        """Say so where the data have a budget in their usual place and are asked through another."""
        if self.ledger is None:
            return
        try:
            usual = ledger_of(source)
        except LedgerError as error:
            # What it advises, to name a ledger, was done.
            note(f"{error.problem} If these data have a budget there too, the budgets add up.")
            return
        if usual.exists() and ("://" in self.ledger or Path(self.ledger).resolve() != usual.resolve()):
            note(f"{source.name} has a ledger in {usual} too; the two budgets add up.")


def places_of(session: Session) -> dict[str, str]:
    """Return where a session found what is public, unless it ships with the data, and where its budget is."""
    schema = None if session.source.shipped else session.schema.place
    places = {} if schema is None else {"schema": str(schema)}
    return places | {"ledger": session.ledger_place}


def _no_budget(name: str) -> InvalidParameter:
    return InvalidParameter(
        "budget",
        None,
        f"given before the first question about {name}",
        "It is the most that these data may ever spend. For example, add --budget epsilon=1.",
    )
