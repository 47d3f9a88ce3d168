"""Open a session from the options that say where data and budget are, and whom the budget protects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.errors import InvalidParameter, LedgerError

from . import options as o
from .budget_syntax import read_budget
from .data_arguments import ledger_of, read_source
from .terminal import note, working

if TYPE_CHECKING:
    from dovetail.engines import Source
    from dovetail.ledger.statement import Standing
    from dovetail.privacy import Budget
    from dovetail.query import Query
    from dovetail.session import Session

    from .output_options import OutputOptions
    from .payment_options import Payment


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
    max_rows: o.MaxRows = None
    max_cells: o.MaxCells = None
    neighbours: o.Neighbours = o.Neighbour.ADD_REMOVE

    def source(self, data: str) -> Source:
        """Return the source that the word names."""
        return read_source(data, self.schema, self.name, self.table)

    def session(self, source: Source, **options: Any) -> Session:
        """Return a session on the source; without a budget, its ledger must know the data already."""
        from dovetail.engines.identity import NOT_KNOWN
        from dovetail.session import Session

        limit = self._limit()
        begins = self.ledger is None and not ledger_of(source).exists()
        if limit is None and begins:
            # Found out before the session would leave an empty ledger behind.
            raise _no_budget(source.name)
        try:
            self._warn_of_second_ledger(source)
            with working("Planning the whole budget ...") if options.get("queries") else nullcontext():
                opened = Session(source, budget=limit, ledger=self.ledger, **self._protected(), **options)
            if begins and not source.shipped:
                note(NOT_KNOWN)
            return opened
        except InvalidParameter as error:
            if error.name == "budget" and limit is None:
                raise _no_budget(source.name) from None
            raise

    def rehearse(self, source: Source, payment: Payment, query: Query | str, giving: OutputOptions) -> None:
        """Ask in a ledger that is thrown away first where the data have no budget yet.

        A question that is refused should not fix what is spent and whom it protects for good.
        """
        if self.budget is None:
            return
        with self.pricing(source, analyst=giving.analyst) as (session, standing):
            if standing is None:
                pay = payment.on(session, query, self.neighbours, whole=True)
                session.rehearse(query, **giving.keywords, **pay)

    @contextmanager
    def pricing(self, source: Source, **options: Any) -> Iterator[tuple[Session, Standing | None]]:
        """Open a session that only tells prices, and say where the budget of these data stands, if any.

        Data without a budget are priced against a ledger that is thrown away.
        """
        from dovetail.ledger import Ledger
        from dovetail.privacy import Budget
        from dovetail.session import Session

        limit = self._limit()
        place: str | Path = self.ledger if self.ledger is not None else ledger_of(source)
        if Ledger.exists(place):
            with Ledger.open(place) as book:
                standing = next((one for one in book.show(last=1).standings if one.name == source.name), None)
                if standing is not None:
                    with Session(
                        source, budget=limit, ledger=book, **self._protected(), **options
                    ) as session:
                        yield session, standing
                    return
        with (
            TemporaryDirectory() as folder,
            Session(
                source,
                budget=limit or Budget.pure(1),
                ledger=Path(folder) / "none.ledger",
                **self._protected(),
                **options,
            ) as session,
        ):
            yield session, None

    def _limit(self) -> Budget | None:
        return None if self.budget is None else read_budget(self.budget)

    def _protected(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
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
            note(str(error))
            return
        if usual.exists() and ("://" in self.ledger or Path(self.ledger).resolve() != usual.resolve()):
            note(f"{source.name} has a ledger in {usual} too; what both allow adds up.")


def places_of(session: Session) -> dict[str, str]:
    """Return where a session found what is public, unless it ships with the data, and where its budget is."""
    schema = None if session.source.shipped else session.schema.place
    found = {} if schema is None else {"schema": str(schema)}
    return found | {"ledger": session.ledger_place}


def _no_budget(name: str) -> InvalidParameter:
    return InvalidParameter(
        "budget",
        None,
        f"given the first time that {name} is asked",
        "It is all that these data may ever spend, kept in a ledger: add, for example, --budget epsilon=1.",
    )
