"""The user's entry: a table, its engine, its budget and its ledger, joined."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from dovetail.answers import Plan, Quote
from dovetail.answers.payment import Payment, answers_planned, designed_for, noise_of_slots
from dovetail.answers.quote import Standing
from dovetail.check import Real, choice
from dovetail.engines import Source
from dovetail.engines.versions import written
from dovetail.errors import DovetailError, InvalidParameter, InvalidQuery
from dovetail.errors.remedies import Give
from dovetail.privacy import Budget, Remaining
from dovetail.progress import working
from dovetail.query import Query, Schema
from dovetail.query.field import Field
from dovetail.query.neighbours import NEIGHBOURS, Neighbours, protected
from dovetail.query.protection import persons
from dovetail.query.public_table import public_table
from dovetail.release.plans import open_plan
from dovetail.session_methods.marginals import MarginalMethods

if TYPE_CHECKING:
    from dovetail.answers import Answer
    from dovetail.ledger import Ledger
    from dovetail.online import OnlineDesign
    from dovetail.online.durable_run import Online
    from dovetail.online.run_plan import RunPlan
    from dovetail.online.session_runs import RunRequest
    from dovetail.query.sql import Selection

_log = logging.getLogger("dovetail.session")


class Session(MarginalMethods):
    """Ask a table questions within a privacy budget that outlives the session.

    `source` is a path, a table in memory or a `Source`. `schema`, or a TOML file beside the data, says what
    is public: people.toml for people.csv; see `session.schema`. The budget is kept in `ledger` (a
    file, a database URL or an open Ledger); without it, in a file beside the data or in the user's data
    folder: see `session.ledger_place`. `queries=n` plans the whole budget for n answers. `neighbours` says
    what is protected: a row added or removed, or a row replaced. protects="rows" says that rows are meant
    where a column seems to identify persons. With `unit`, the column of a person's id, it
    is the person with all their rows; each answer uses at most `max_rows` of them, in `max_cells` cells.
    `vintage` says which rows these are, such as a month, by labels that were declared in the ledger;
    `same_data` says whether data that the ledger does not know share the budget of that name.
    `version` is a label of the state of the data: stored answers about another one are marked stale. Files
    have one without it, the time they were written.

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

    # Whether data and ledger are another session's, which closes them.
    _borrowed = False

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
        vintage: str | Sequence[str] = (),
        version: str | None = None,
        same_data: bool | None = None,
        protects: Literal["rows"] | None = None,
    ) -> None:
        from dovetail.engines import connect
        from dovetail.ledger.same_data import SameDataAnswer
        from dovetail.ledger.source_ledger import SourceLedger
        from dovetail.ledger.text import composed
        from dovetail.release.releaser import Releaser

        choice("neighbours", neighbours, NEIGHBOURS)
        if not isinstance(budget, Budget | None):
            raise InvalidParameter("budget", budget, "a budget", Give("budget"))
        slots = None if queries is None else answers_planned(queries)
        self._version = None if version is None else composed("version", version)
        labels = [vintage] if isinstance(vintage, str) else vintage
        self._said = SameDataAnswer(tuple(composed("vintage", each) for each in labels), same_data)
        declared = schema if isinstance(schema, Schema | None) else Schema.read(schema)
        self.source = Source.of(source, name=name, schema=declared, table=table).with_schema()
        if self.schema.place is not None and not self.source.shipped:
            _log.info("What is public of %s was read from %s", self.source.name, self.schema.place)
        self._closed = False
        self._engine = connect(self.source)
        try:
            self._table = (self.source.schema or Schema()).table(self._engine.columns())
            self._neighbours: Neighbours = neighbours
            self._persons = persons(self._table, unit, max_rows, max_cells, protects)
            decided = self._persons is not None or protects is not None
            self._opening = SourceLedger.of(
                ledger, self.source, self._said, decided, getattr(self._engine, "names", ())
            )
            self._ledger, identity = self._opening.ledger, self._opening.identity
            whom = protected(neighbours, None if self._persons is None else self._persons.unit.name)
            self._account = self._ledger.prospective_account(
                self.source.name, budget=budget, source=identity, share=same_data or None, protects=whom
            ).about(*self._said.vintages)
            names = (self.source.name, " ".join(self._opening.spelled))
            known = (self._state, self._said.vintages)
            self._releaser = Releaser(*names, self._engine, self._account, analyst, *known)
            self._default = None if slots is None else self._whole_plan(slots)
        except BaseException:
            self.close()
            raise

    def on_behalf_of(self, analyst: str, *, pacing: float | None = None) -> Session:
        """Return a session of another analyst on the same data, who sees and spends their own allotment.

        Columns that nobody has declared and reviewed do not exist for it. It shares data and ledger with this
        one, which closes them. The dataset must be on record. With `pacing`, an answer is recorded and given
        at a multiple of so many seconds after its charge, so that the time it takes says little of the rows.
        """
        account = self._ledger.catalogue.account(self.source.name, analyst).about(*self._said.vintages)
        account = account.paced(pacing)
        made = copy(self)
        made._account, made._borrowed, made._default = account, True, None
        made._table = public_table(self._table)
        # Others are told labels only: that a file was written again may tell that a row has changed.
        made._releaser = replace(
            self._releaser, account=account, analyst=analyst, version=lambda: self._version
        )
        return made

    def answer(self, quote: Quote) -> list[Answer]:
        """Answer a quote of this session; it is charged exactly what was quoted.

        >>> import tempfile, dovetail as dv
        >>> folder = tempfile.TemporaryDirectory()
        >>> place, budget = folder.name + "/a.ledger", dv.Budget.pure(1)
        >>> with Session(dv.datasets.adult(), budget=budget, ledger=place) as session:
        ...     quote = session.quote(dv.Count(), within=10)
        ...     session.answer(quote)[0].charge == quote.charge
        True
        >>> folder.cleanup()
        """
        mine = (self._neighbours, {None if self._persons is None else self._persons.unit})
        if not isinstance(quote, Quote) or (quote.neighbours, _units_of(quote)) != mine:
            raise InvalidParameter("quote", quote, "a quote of this session")
        self._check_open()
        self._check_place()
        return self._releaser.answer(quote)

    def quoted(self, queries: Query | Iterable[Query], payment: Payment, *, stored: bool = True) -> Quote:
        """Price queries for a payment that was read elsewhere; see `quote`.

        Without `stored`, nobody looks for a stored answer: `answer` finds it anyway. What remains is then
        looked up only where the price depends on it.
        """
        return self._quoted(queries, payment, stored=stored)

    def read_sql(self, text: str) -> Selection:
        """Read a SELECT into typed queries and the layout of its table; nothing is run."""
        return self._selection(text)

    def _quoted(self, queries: Query | Iterable[Query], payment: Payment, *, stored: bool = True) -> Quote:
        from dovetail.pricing.quote import quote

        planned = payment.plan is not None or payment.queries is not None
        releaser = self._releaser

        def priced(standing: Standing) -> Quote:
            return quote(
                self._table, queries, payment, standing, neighbours=self._neighbours, persons=self._persons
            )

        anywhere = payment.noise is not None and payment.delta is None
        if anywhere and not (stored or planned or isinstance(queries, Iterator)):
            # The price of a given noise is the same under every budget. What is refused is explained below.
            with suppress(DovetailError):
                return priced(Standing())
        standing = releaser.account.standing(releaser.analyst if planned else None)
        with working("Pricing"):
            made = priced(standing)
        return replace(made, stored=releaser.offered(made)) if stored else made

    def _answered(self, queries: Iterable[Query], payment: Payment) -> list[Answer]:
        from dovetail.pricing.costly_answers import check_costly

        self._check_open()
        # Only an accuracy may cost more than its user thinks; a stored answer is found when it is asked for.
        quoted = self._quoted(queries, payment, stored=payment.within is not None)
        check_costly(quoted)
        return self.answer(quoted)

    def _selection(self, text: str) -> Selection:
        from dovetail.query.sql import read_select

        named = [self.source.name, *([self.source.table] if self.source.table else [])]
        unit = None if self._persons is None else self._persons.unit.name
        return read_select(text, self._table, named, unit)

    def plan(self, design: Any, *, queries: int, name: str | None = None) -> Plan:
        """Pay now for `queries` answers of one noise, to be asked freely one after another.

        Asking again returns the same plan, paid once; give another `name` to buy another.
        """
        from dovetail.pricing.plans import sketched_plan

        self._check_open()
        self._check_place()
        slots = answers_planned(queries)
        noise = noise_of_slots("design", design, designed_for(design))
        sketch = sketched_plan(noise, slots, self._neighbours, self._account.standing())
        return open_plan(self._account, sketch, self._releaser.analyst, name=name)

    def quote_online(
        self,
        *columns: str,
        queries: int,
        ways: int = 3,
        bins: Any = None,
        base: Any = "auto",
        updates: Any = "auto",
        spend: Budget | None = None,
        promise: Real = "0.95",
        most_cells: int = 10**7,
    ) -> OnlineDesign:
        """Design an online run and return its price; nothing is read or spent.

        Without `spend`, the run is designed for all that remains of the budget.
        """
        from dovetail.online.session_runs import RunRequest

        asked = RunRequest(columns, queries, ways, bins, base, updates, spend, promise, most_cells)
        return asked.design(self._table, self._account, self._neighbours, self._persons)

    def online(
        self,
        *columns: str,
        queries: int,
        ways: int = 3,
        bins: Any = None,
        base: Any = "auto",
        updates: Any = "auto",
        spend: Budget | None = None,
        promise: Real = "0.95",
        most_cells: int = 10**7,
    ) -> Online:
        """Pay once, then ask counts of these columns as often as you like; see `quote_online` for the price.

        Asking again, even after a restart, returns the same run, paid once. It is refused if the files were
        written since, because its answers are about the rows at that time. A row counts if it has a cell in
        every column: declared values, or `bins`.
        """
        from dovetail.online.session_runs import RunRequest

        asked = RunRequest(columns, queries, ways, bins, base, updates, spend, promise, most_cells)
        return self._opened_run(asked, None)

    def _opened_run(self, asked: RunRequest, again: RunPlan | None) -> Online:
        from dovetail.online.durable_run import RunSession

        self._check_open()
        self._check_place()
        # Taken before a row is read: the run is never about an older state than this.
        known = (self._table, self._selection, self._state())
        asker = RunSession(self.source.name, self._releaser.analyst, *known)
        protected = (self._neighbours, self._persons)
        account, source = self._account, self._releaser.source
        return asked.open(self._engine, account, asker, source, *protected, self._version, again)

    def reopened(self, run: RunPlan) -> Online:
        """Open a run that is paid for; one that would be another now is refused, and nothing is paid."""
        from dovetail.online.session_runs import request_of

        return self._opened_run(request_of(run), run)

    @property
    def plans(self) -> list[Plan]:
        """The plans that were paid for this dataset and that this analyst may use, oldest first."""
        return list(self._account.standing(self._releaser.analyst).plans)

    @property
    def remaining(self) -> Remaining:
        """What the budget can still pay, outside of plans."""
        budget, standing = self.budget, self._account.standing()
        return budget.remaining(standing.spent)

    @property
    def budget(self) -> Budget:
        """The budget of this dataset; it is fixed by the first charge."""
        from dovetail.ledger.registry import missing_budget

        limit = self._account.standing().budget
        if limit is None:
            raise missing_budget(self.source.name)
        return limit

    @property
    def begun(self) -> bool:
        """Whether the budget is on record: its first charge fixes it."""
        return self._account.begun is not None

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
        if self._borrowed:
            return
        try:
            self._engine.close()
        finally:
            if hasattr(self, "_opening") and self._opening.owned:
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
        left = self._account.standing().remaining
        rest = "no budget yet" if left is None else f"remaining {left}"
        return f"<session on {self.source.name!r}: {rest}{schema}; {ledger}>"

    def _state(self) -> str | None:
        """Return which state of the data is there now: its label, or when its files were written."""
        return written(self.source) if self._version is None else self._version

    def _check_open(self) -> None:
        """Refuse what would be charged although the data cannot be read any more."""
        if self._closed:
            raise InvalidQuery("This session is closed.", "Nothing was spent. Open another.")

    def _check_place(self) -> None:
        """Refuse a charge that would begin a second budget, or one of which nobody said whom it protects."""
        if self.begun:
            self._opening.check_place()
        else:
            self._opening.check_first_charge(self._table)

    def _whole_plan(self, slots: int) -> Plan:
        """Return the plan of the whole budget, opened now or at an earlier opening of this dataset."""
        from dovetail.pricing.plans import planned

        standing = self._account.standing(self._releaser.analyst)
        if not any(plan.session for plan in standing.plans):
            # Whoever waits should know for what; a program that logs elsewhere is not disturbed.
            _log.warning(
                "Planning the whole budget of %s for %d answers: a few seconds, once", self.source.name, slots
            )
        plan = planned(Payment(queries=slots), standing, self._neighbours)
        if plan.id:
            return plan
        self._check_place()
        return open_plan(self._account, plan, self._releaser.analyst)


def _units_of(quote: Quote) -> set[Field | None]:
    persons = (each.question.persons for each in quote.asked)
    return {None if each is None else each.unit for each in persons}
