"""The user's entry: a table, its engine, its budget and its ledger, joined."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dovetail.answers import Plan
from dovetail.check import choice, integer
from dovetail.engines import Source
from dovetail.engines.identity import NOT_KNOWN
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.pricing.payment import designed_for, integer_noise, read_payment
from dovetail.privacy import Budget, Charge, Remaining
from dovetail.query import Count, CountDistinct, Histogram, Linear, Mean, Query, Schema, Sum
from dovetail.query.neighbours import NEIGHBOURS, Neighbours, Persons, protected
from dovetail.query.schema import Table
from dovetail.release.plans import open_plan, stored_plan

if TYPE_CHECKING:
    from dovetail.answers import Answer
    from dovetail.answers.quote import Priced
    from dovetail.answers.table import TableAnswer
    from dovetail.ledger import Ledger
    from dovetail.noise import IntegerNoise
    from dovetail.query.sql import Selection

_log = logging.getLogger("dovetail.session")


class Session:
    """Ask a table questions within a privacy budget that outlives the session.

    `source` is a path, a table in memory or a `Source`. What is public is said by `schema`, or by a TOML file
    beside the data: people.toml for people.csv; see `session.schema`. The budget is kept in `ledger` (a
    file, a database URL or an open Ledger); without it, in a file beside the data or in the user's data
    folder: see `session.ledger_place`. `queries=n` plans the whole budget for n answers. `neighbours` says
    what is protected: a row added or removed, or a row replaced. With `unit`, the column of a person's id, it
    is the person with all their rows; each answer uses at most `max_rows` of them, in `max_cells` cells.

    >>> import tempfile, dovetail as dv
    >>> folder = tempfile.TemporaryDirectory()
    >>> session = Session(dv.datasets.adult(), budget=dv.Budget.pure(1), ledger=folder.name + "/a.ledger")
    >>> answer = session.count(where="age >= 40", within=10)
    >>> abs(answer.value - 14237) < 200
    True
    >>> print(session.remaining)
    epsilon 0.71565
    >>> session.close(); folder.cleanup()
    """

    def __init__(
        self,
        source: Any,
        *,
        budget: Budget | None = None,
        ledger: Ledger | str | Path | None = None,
        name: str | None = None,
        table: str | None = None,
        schema: Schema | str | Path | None = None,
        unit: str | None = None,
        max_rows: int | None = None,
        max_cells: int | None = None,
        neighbours: Neighbours = "add-remove",
        queries: int | None = None,
        analyst: str = "local",
    ) -> None:
        from dovetail.engines import connect
        from dovetail.release.releaser import Releaser

        choice("neighbours", neighbours, NEIGHBOURS)
        if not isinstance(budget, Budget | None):
            raise InvalidParameter("budget", budget, "a Budget", "For example Budget.pure(1).")
        slots = None if queries is None else integer("queries", queries, low=1, high=10**6)
        declared = schema if isinstance(schema, Schema | None) else Schema.read(schema)
        self.source = Source.of(source, name=name, schema=declared, table=table).with_schema()
        if self.schema.place is not None and not self.source.shipped:
            _log.info("What is public of %s was read from %s", self.source.name, self.schema.place)
        self._closed = False
        self._engine = connect(self.source)
        try:
            columns = (self.source.schema or Schema()).table(self._engine.columns())
            persons = _persons(columns, unit, max_rows, max_cells)
            self._ledger, self._owned = _opened(ledger, self.source)
            identity = self.source.identity
            protects = protected(neighbours, None if persons is None else persons.unit.name)
            self._account = self._ledger.account(
                self.source.name, budget=budget, source=identity, protects=protects
            )
            self._releaser = Releaser(
                self.source.name,
                " ".join(identity),
                self._engine,
                columns,
                self._account,
                neighbours,
                analyst,
                persons,
            )
            self._plan = None if slots is None else self._whole_plan(slots)
        except BaseException:
            self.close()
            raise

    def count(self, *, where: str | None = None, **pay: Any) -> Answer:
        """Return how many rows satisfy `where`."""
        return self._ask(Count(where), pay)

    def count_distinct(
        self, *columns: str, keys: Any = None, bins: Any = None, where: str | None = None, **pay: Any
    ) -> Answer:
        """Return how many persons have a row that satisfies `where`, in all or in each cell of columns."""
        return self._ask(CountDistinct(*columns, keys=keys, bins=bins, where=where), pay)

    def histogram(
        self, *columns: str, keys: Any = None, bins: Any = None, where: str | None = None, **pay: Any
    ) -> Answer:
        """Return how many rows fall in each public cell; charged once, as a row lies in one cell."""
        return self._ask(Histogram(*columns, keys=keys, bins=bins, where=where), pay)

    def sum(
        self, column: str, *, low: Any, high: Any, step: Any, where: str | None = None, **pay: Any
    ) -> Answer:
        """Return the sum of a column, each row clamped to [low, high] and rounded to a multiple of step."""
        return self._ask(Sum(column, low, high, step, where), pay)

    def mean(
        self, column: str, *, low: Any, high: Any, step: Any, where: str | None = None, **pay: Any
    ) -> Answer:
        """Return the mean of a column over the rows that have a number: a sum and a count together."""
        return self._ask(Mean(column, low, high, step, where), pay)

    def linear(self, column: str, weights: Any, *, step: Any, where: str | None = None, **pay: Any) -> Answer:
        """Return the sum over rows of a public weight between -1 and 1, looked up by the column's value."""
        return self._ask(Linear(column, weights, step, where), pay)

    def sql(self, text: str, **pay: Any) -> TableAnswer:
        """Answer one SELECT; its aggregates are priced together, ORDER BY and LIMIT act on the noisy table.

        The text is read into typed queries and never run. Bounds of SUM and AVG, and the groups, come from
        the schema. Anything that cannot be answered is an UnsupportedSQL that says where and what instead.
        """
        from dovetail.answers.table import laid_out

        selection = self._selection(text)
        answers = self._answered(selection.queries, pay)
        return laid_out(text, selection, answers)

    def _selection(self, text: str) -> Selection:
        from dovetail.query.sql import read_select

        named = [self.source.name, *([self.source.table] if self.source.table else [])]
        persons = self._releaser.persons
        return read_select(text, self._releaser.table, named, None if persons is None else persons.unit.name)

    def batch(self, queries: Sequence[Query], **pay: Any) -> list[Answer]:
        """Answer several queries at once, priced exactly together."""
        return self._answered(_listed(queries), pay)

    def price(self, query: Query | str | Sequence[Query], **pay: Any) -> Charge:
        """Return what a query, a batch or a SELECT would cost; no row is looked at and nothing is spent.

        What a plan pays for costs nothing more.
        """
        return self.quote(query, **pay).charge

    def quote(
        self, query: Query | str | Sequence[Query], *, queries: int | None = None, **pay: Any
    ) -> Priced:
        """Return what `price` returns, with the questions as they were read, and the errors of their answers.

        With `queries`, what a plan of so many answers would cost: of the noise given, or of the whole budget.
        """
        asked = _listed(self._selection(query).queries if isinstance(query, str) else query)
        if queries is None:
            return self._releaser.priced(asked, read_payment(pay, self._plan))
        from dovetail.pricing.calibration import noise_of_budget

        slots = integer("queries", queries, low=1, high=10**6)
        if set(pay) - {"noise"}:
            raise InvalidParameter("pay", sorted(pay), "noise= or nothing, together with queries=")
        if pay:
            return self._releaser.sketched(asked, _noise_for_slots("noise", pay["noise"]), slots)
        noise = noise_of_budget(self.budget, slots, self._releaser.neighbours)
        return self._releaser.sketched(asked, noise, slots)

    def rehearse(self, query: Query | str | Sequence[Query], **pay: Any) -> None:
        """Refuse whatever asking would refuse before it reads the data; what is not refused is charged.

        For a ledger that is thrown away: a question that cannot be answered then leaves no trace.
        """
        asked = _listed(self._selection(query).queries if isinstance(query, str) else query)
        self._releaser.rehearse(asked, read_payment(pay, self._plan))

    def plan(self, design: Any, *, queries: int, name: str | None = None) -> Plan:
        """Pay now for `queries` answers of one noise, to be asked freely one after another.

        Asked for again, it is the same plan, paid once; another one on purpose needs another `name`.
        """
        self._check_open()
        slots = integer("queries", queries, low=1, high=10**6)
        noise = _noise_for_slots("design", design)
        asked_by = self._releaser.analyst
        return open_plan(self._account, noise, slots, self._releaser.neighbours, asked_by, name=name)

    @property
    def plans(self) -> list[Plan]:
        """The plans that were paid for this dataset, oldest first."""
        return [stored_plan(state) for state in self._account.plans()]

    @property
    def remaining(self) -> Remaining:
        """What the budget can still pay, outside of plans."""
        budget, spent = self._account.position()
        return budget.remaining(spent)

    @property
    def budget(self) -> Budget:
        """The budget of this dataset."""
        return self._account.budget

    @property
    def schema(self) -> Schema:
        """What is declared public; its `place` is the file that it was read from, if any."""
        return self.source.schema or Schema()

    @property
    def ledger_place(self) -> str:
        """Where the budget is kept."""
        return self._ledger.place

    def close(self) -> None:
        """Let go of the data and, if this session opened it, of the ledger."""
        self._closed = True
        self._engine.close()
        if getattr(self, "_owned", False):
            self._ledger.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        place = None if self.source.shipped else self.schema.place
        schema = "" if place is None else f"; schema {place}"
        ledger = f"ledger {self.ledger_place}"
        return f"<session on {self.source.name!r}: remaining {self.remaining}{schema}; {ledger}>"

    def _ask(self, query: Query, pay: dict[str, Any]) -> Answer:
        return self._answered([query], pay)[0]

    def _answered(self, queries: Sequence[Query], pay: dict[str, Any]) -> list[Answer]:
        self._check_open()
        return self._releaser.answer(queries, read_payment(pay, self._plan))

    def _check_open(self) -> None:
        """Refuse what would be charged although the data cannot be read any more."""
        if self._closed:
            raise InvalidQuery("This session is closed. Nothing was spent. Open another: Session(...).")

    def _whole_plan(self, slots: int) -> Plan:
        """Return the plan of the whole budget, opened now or at an earlier opening of this dataset."""
        from dovetail.pricing.calibration import noise_of_budget

        neighbours = self._releaser.neighbours
        for plan in self.plans:
            if plan.session:
                if plan.slots == slots and plan.neighbours == neighbours:
                    return plan
                raise InvalidParameter(
                    "queries",
                    slots,
                    f"{plan.slots} with neighbours={plan.neighbours!r}, as this budget was planned before",
                    "Leave queries= out to pay for each answer from what remains.",
                )
        # Whoever waits should know for what; a program that logs elsewhere is not disturbed.
        _log.warning(
            "Planning the whole budget of %s for %d answers: a few seconds, once", self.source.name, slots
        )
        noise = noise_of_budget(self._account.budget, slots, neighbours)
        return open_plan(self._account, noise, slots, neighbours, self._releaser.analyst, session=True)


def _noise_for_slots(name: str, design: Any) -> IntegerNoise:
    """Return the noise of a plan, each slot of which pays for a count."""
    noise = integer_noise(name, design)
    if designed_for(design) != 1:
        raise InvalidParameter(name, design, "made for a sensitivity of 1", "A slot pays for a count.")
    return noise


def _listed(queries: Any) -> list[Query]:
    """Return one query or several as a list, which may not be endless; what is in it is checked later."""
    from dovetail.release.releaser import MOST_TOGETHER

    if isinstance(queries, Iterable) and not isinstance(queries, str):
        return list(islice(queries, MOST_TOGETHER + 1))
    return [queries]


def _opened(ledger: Any, source: Source) -> tuple[Ledger, bool]:
    """Return the ledger, and whether this session has to close it."""
    from dovetail.ledger import Ledger
    from dovetail.ledger.location import ledger_path

    if isinstance(ledger, Ledger):
        return ledger, False
    if ledger is None:
        if isinstance(source.data, tuple):
            raise InvalidParameter(
                "ledger", None, "named for a list of files", 'The budget is kept there: ledger="all.ledger".'
            )
        ledger = ledger_path(*source.identity)
        if ledger.exists():
            _log.info("The budget of %s is kept in %s", source.name, ledger)
        else:
            _log.warning("The budget of %s is kept in %s. %s", source.name, ledger, NOT_KNOWN)
    return Ledger.open(ledger, create=True), True


def _persons(table: Table, unit: str | None, max_rows: int | None, max_cells: int | None) -> Persons | None:
    """Return whose rows they are and how many of one person are used, None where each row stands alone."""
    if unit is None:
        for name, value in (("max_rows", max_rows), ("max_cells", max_cells)):
            if value is not None:
                raise InvalidParameter(name, value, "given together with unit=", "Name the column of the id.")
        return None
    field = table.field(unit)
    if field.kind not in ("integer", "text"):
        raise InvalidParameter(
            "unit",
            unit,
            f"a column of whole numbers or texts; its type is {field.kind}",
            "Declare its type in the schema.",
        )
    fix = "Of a person with more rows, this many are used; more means more noise."
    if max_rows is None:
        raise InvalidParameter("max_rows", None, "given together with unit=", fix)
    rows = integer("max_rows", max_rows, low=1, high=10**6, fix=fix)
    cells = rows if max_cells is None else integer("max_cells", max_cells, low=1, high=10**6)
    return Persons(field, rows, cells)
