"""A run that its account keeps: nothing is shown before it is stored, and every firing is paid for.

A batch holds one update before it tests anything. What a firing measures is stored before the hypothesis
learns from it or anybody sees it. The hypothesis is public: it is rebuilt from what is stored, by any process
that opens the run. Where answers are not tested they follow from stored numbers, and nothing is written.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from threading import RLock
from typing import TYPE_CHECKING, Any

from dovetail.errors import BudgetExceeded, DovetailError, InvalidQuery, UpdatesExhausted
from dovetail.privacy import Charge
from dovetail.query.canonical_form import read_question
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.queries import Count, Histogram
from dovetail.release.account import Request, Reservation, StoredAnswer, canonical_text

from .domain import Domain
from .first_measurement import begun_run, first_measurement
from .region import Region
from .run import OnlineAnswer
from .run_answer import RunAnswer, check_known

if TYPE_CHECKING:
    import pyarrow

    from dovetail.answers.table import TableAnswer
    from dovetail.query.condition import Condition
    from dovetail.query.queries import Query
    from dovetail.query.sql import Selection

    from .occupied_cells import OccupiedCells
    from .run_plan import RunAccount, RunPlan, Told


@dataclass(frozen=True, slots=True)
class RunSession:
    """Who asks, of what: what a run needs of the session that opened it."""

    dataset: str
    analyst: str
    table: Any
    selection: Any
    """Reads the text of a SELECT."""
    state: str | None = None
    """Which state of the data is read; None where nobody can tell."""


@dataclass(frozen=True, slots=True)
class _Given:
    parts: tuple[OnlineAnswer, ...]
    at: datetime
    stored: bool = False


class Online:
    """A run that is paid for: ask counts and histograms of its columns, as many as you like.

    Each answer has its `origin`. `session.online` opens it, or opens it again after a restart.
    """

    def __init__(
        self, account: RunAccount, plan: RunPlan, domain: Domain, asker: RunSession, truth: OccupiedCells
    ) -> None:
        self.plan = plan
        self._account, self._domain, self._asker = account, domain, asker
        self._lock = RLock()
        self._closed = False
        self._given: dict[str, _Given] = {}
        self._own: set[int] = set()
        self._reservation: Reservation | None = None
        self._at = (0, 0)
        self._seen = 0
        self._asked = 0
        self._remaining = account.standing().remaining
        thresholds = None if plan.guard is None else account.thresholds(plan.id)
        measurement = first_measurement(account, plan, asker.analyst, truth, asker.state)
        self._run = begun_run(plan, measurement, truth, thresholds, self._record)
        if plan.guard is not None:
            self._absorb(account.told(plan.id))

    @property
    def updates_left(self) -> int:
        """How many updates no batch has used or holds, by all who ask of this run."""
        return 0 if self.plan.guard is None else self._account.plan_state(self.plan.id).left

    @property
    def asked(self) -> int:
        """How many numbers were asked for here."""
        return self._asked

    def numbers(self, queries: Iterable[Query]) -> int:
        """Return how many numbers some counts and histograms of this run are."""
        return sum(self._domain.question(query, self._asker.table).cells for query in queries)

    def count(self, where: str | Condition | None = None, *, unchecked: bool = False) -> RunAnswer:
        """Answer how many rows satisfy `where`."""
        return self.batch([Count(where)], unchecked=unchecked)[0]

    def histogram(
        self, *columns: str, where: str | Condition | None = None, unchecked: bool = False
    ) -> RunAnswer:
        """Answer how many rows are in each cell of some columns of the run; each cell is a number asked."""
        return self.batch([Histogram(*columns, where=where)], unchecked=unchecked)[0]

    def sql(self, text: str, *, unchecked: bool = False) -> TableAnswer:
        """Answer one SELECT of COUNT(*), with WHERE, GROUP BY, ORDER BY and LIMIT."""
        from dovetail.answers.select_layout import laid_out

        selection: Selection = self._asker.selection(text)
        answers = self.batch(selection.queries, unchecked=unchecked)
        for answer in answers:
            check_known(answer.parts)
        return laid_out(text, selection, answers)

    def batch(self, queries: Iterable[Query], *, unchecked: bool = False) -> list[RunAnswer]:
        """Answer counts and histograms together: what is tested is written once for all of them.

        What was asked before gets the stored answer. Once the updates are used up, only `unchecked` answers
        are given to new questions; what the batch told before that is stored, and asking again returns it.
        """
        if not isinstance(unchecked, bool):
            raise InvalidQuery("unchecked must be True or False.")
        questions = [self._domain.question(query, self._asker.table) for query in queries]
        with self._lock:
            self._check_open()
            keys = [canonical_text(question.to_dict()) for question in questions]
            new = {key: each for key, each in zip(keys, questions, strict=True) if key not in self._given}
            before = {key for key in keys if key in self._given}
            told = self._answered(new, unchecked) if new else {}
            answers = [told.get(key) or self._given[key] for key in keys]
            self._asked += sum(len(each.parts) for each in answers)
        return [
            self._shown(question, each, each.stored or key in before)
            for question, key, each in zip(questions, keys, answers, strict=True)
        ]

    def synthetic(self, rows: int | None = None) -> pyarrow.Table:
        """Return rows that look like what the run has learnt; biased, and without any promise.

        Without `rows`, as many as the run believes there are.
        """
        from dovetail.answers.synthetic import arrow_rows
        from dovetail.workloads.synthetic import synthetic_rows

        with self._lock:
            self._check_open()
            hypothesis = self._run.learner.hypothesis
            made = synthetic_rows(hypothesis.cells, round(hypothesis.total) if rows is None else rows)
        return arrow_rows(self._domain.axes, made)

    def close(self) -> None:
        """Let go of the true counts, which are kept in memory. The run itself stays paid for."""
        with self._lock:
            if not self._closed:
                self._closed = True
                del self._run

    def __enter__(self) -> Online:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<online run {self.plan.id}: {self.plan.words()}; {self.updates_left} updates left>"

    def _check_open(self) -> None:
        if self._closed:
            raise InvalidQuery("This run is closed.", "Nothing was spent. Open it again, which is free.")

    def _answered(self, new: dict[str, CheckedQuery], unchecked: bool) -> dict[str, _Given]:
        """Answer questions that were not asked before, tested where the run has a guard."""
        if self._run.tests is None:
            return {key: self._untested(question) for key, question in new.items()}
        body = _body(self.plan.id, new)
        request = Request(body, Charge.zero(), self._asker.analyst, plan=self.plan.id, hold=True)
        try:
            given, fired = self._account.reserve_batch(request, self.plan.asked["version"], self._seen)
        except BudgetExceeded:
            self._absorb(self._account.fired(self.plan.id, self._seen))
            self._run.tests.fired = self.plan.updates
            return self._rest(new, unchecked)
        self._absorb(fired)
        if isinstance(given, StoredAnswer):
            self._keep(json.loads(body), given.answer, given.answered_at, stored=True)
        else:
            self._tested(given, new)
        rest = {key: question for key, question in new.items() if key not in self._given}
        return self._rest(rest, unchecked) if rest else {}

    def _rest(self, rest: dict[str, CheckedQuery], unchecked: bool) -> dict[str, _Given]:
        """Answer what no update is left for, if that is wanted."""
        if unchecked:
            return {key: self._untested(question) for key, question in rest.items()}
        raise UpdatesExhausted(
            f"No update of the run is left ({self.plan.updates} were paid for), so "
            f"{len(rest)} questions were not answered; earlier answers are still available.",
            "Open another run, or take answers that are not checked.",
            asked=self._asked,
            updates=self.plan.updates,
        )

    def _tested(self, reservation: Reservation, new: dict[str, CheckedQuery]) -> None:
        """Test question after question while updates are left, store, and only then take note."""
        assert self._run.tests is not None
        self._own.add(reservation.id)
        self._reservation, self._run.tests.fired = reservation, 0
        told: list[list[Any]] = []
        try:
            for number, question in enumerate(new.values()):
                regions = enumerate(self._domain.regions(question))
                told.append([self._one(number, cell, region) for cell, region in regions])
        except UpdatesExhausted:
            pass  # What was told before is stored all the same.
        except BaseException:
            with suppress(DovetailError):
                self._account.fail(reservation, "stopped on the way")
            raise
        finally:
            self._reservation = None
        at = self._account.settle(reservation, canonical_text({"answers": told}))
        # A batch that ran out of updates has fewer answers than questions.
        for key, cells in zip(new, told, strict=False):
            self._given[key] = _Given(self._parts(cells), at)

    def _one(self, number: int, cell: int, region: Region) -> list[Any]:
        self._at = (number, cell)
        told = self._run.answer(region)
        return [told.value, told.origin]

    def _record(self, region: Region, measured: int) -> None:
        """Store what a firing measured, before anything is learnt from it, and take the next update."""
        assert self._reservation is not None
        assert self._run.tests is not None
        more = self._account.fire(self._reservation, canonical_text({"at": self._at, "value": measured}))
        self._run.tests.fired = 0 if more else self.plan.updates

    def _absorb(self, told: Sequence[Told]) -> None:
        """Learn what the record holds and this process did not tell itself."""
        for each in told:
            self._seen = max(self._seen, each.event)
            if each.request in self._own:
                continue
            if each.fired:
                self._run.replay([self._measured(each)])
            elif "asked" in (body := json.loads(each.body)):
                self._keep(body, each.answer, None, stored=True)

    def _measured(self, told: Told) -> tuple[Region, int]:
        """Return what a firing measured: which number of which question of its batch, and the value."""
        firing = json.loads(told.answer)
        number, cell = firing["at"]
        question = read_question(json.loads(told.body)["asked"][number]["question"])
        return next(islice(self._domain.regions(question), cell, None)), int(firing["value"])

    def _keep(self, body: dict[str, Any], answer: str, at: datetime | None, *, stored: bool = False) -> None:
        """Take note of answers that are stored; a batch that ran out of updates has fewer than questions."""
        for question, cells in zip(body["asked"], json.loads(answer)["answers"], strict=False):
            given = _Given(self._parts(cells), at or datetime.now(UTC), stored)
            self._given[canonical_text(question["question"])] = given

    def _parts(self, cells: Iterable[Sequence[Any]]) -> tuple[OnlineAnswer, ...]:
        return tuple(OnlineAnswer(value, origin, guard=self.plan.guard) for value, origin in cells)

    def _untested(self, question: CheckedQuery) -> _Given:
        parts = tuple(self._run.answer(region, unchecked=True) for region in self._domain.regions(question))
        return _Given(parts, datetime.now(UTC))

    def _shown(self, question: CheckedQuery, given: _Given, stored: bool) -> RunAnswer:
        guard = self.plan.guard
        assert self._remaining is not None
        noise = self.plan.base_noise if guard is None else guard.answer_noise
        assert noise is not None
        return RunAnswer(
            self._asker.dataset,
            question,
            (noise,),
            tuple((part.value,) for part in given.parts),
            Charge.zero(),
            self.plan.asked["neighbours"],
            given.at,
            self._remaining,
            stored=stored,
            plan=self.plan.id,
            vintages=self.plan.vintages,
            parts=given.parts,
            left_out=self._domain.left_out,
        )


def _body(run: int, keys: Iterable[str]) -> str:
    """Return the request of a batch as canonical text, of questions that are canonical texts already."""
    asked = ",".join(f'{{"question":{key}}}' for key in keys)
    return f'{{"asked":[{asked}],"run":{run}}}'
