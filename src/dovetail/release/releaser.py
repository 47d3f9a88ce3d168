"""Give answers in the one safe order: price, reserve, read, draw, store, return."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from dovetail.answers import Answer, Plan
from dovetail.answers.quote import Asked, Priced
from dovetail.engines import Engine
from dovetail.engines.aggregation import cell_reader, held_cells, true_cells
from dovetail.errors import BudgetExceeded, DataError, DovetailError, InvalidParameter, InvalidQuery
from dovetail.noise import IntegerNoise
from dovetail.pricing.calibration import (
    error_of_rest,
    noises_at_price,
    noises_composed,
    noises_within,
    with_rest,
)
from dovetail.pricing.composition import at_price, charge_of
from dovetail.pricing.partition_selection import threshold_for
from dovetail.pricing.payment import Payment, delta_units
from dovetail.pricing.plans import noises_for, sketched_plan, slots_for
from dovetail.pricing.stretching import scaled_noises
from dovetail.privacy import Charge
from dovetail.query import Query
from dovetail.query.canonical import Question, never_negative
from dovetail.query.neighbours import Neighbours, Persons
from dovetail.query.partitions import DISCOVER
from dovetail.query.schema import Table

from .account import Account, Request, Reservation, StoredAnswer
from .mechanism import Released, discovered, noised, read_released, write_released
from .plans import stored_plan

MOST_TOGETHER = 10_000


@dataclass(frozen=True, slots=True)
class Releaser:
    """Stands between an analyst and the data.

    `dataset` is the name that the budget is kept under, `source` where these rows are: one dataset may hold
    several files, and an answer from one is no answer for another.
    """

    dataset: str
    source: str
    engine: Engine
    table: Table
    account: Account
    neighbours: Neighbours
    analyst: str
    persons: Persons | None = None

    def priced(self, queries: Sequence[Query], pay: Payment) -> Priced:
        """Check and price queries from their text alone."""
        questions = self._all_checked(queries)
        if pay.clamp and not all(map(never_negative, questions)):
            raise InvalidQuery("clamp=True cuts off at 0, which only suits counts and sums with low >= 0.")
        if pay.plan is not None:
            return self._from_plan(questions, pay.plan)
        units = self._delta_units(questions, pay)
        composed = self._composed(questions, pay)
        noises = self._noises(questions, pay) if composed is None else composed
        asked = tuple(_asked(*pair, units) for pair in zip(questions, noises, strict=True))
        charge = charge_of(questions, noises, self.neighbours)
        if composed is not None:
            assert pay.spend is not None
            charge = at_price(charge, pay.spend, *self.account.position())
        thresholds = [each.threshold.charge() for each in asked if each.threshold is not None]
        return Priced(asked, sum(thresholds, charge))

    def sketched(self, queries: Sequence[Query], noise: IntegerNoise, slots: int) -> Priced:
        """Price a plan that is not open yet, as these queries would use it."""
        questions = self._all_checked(queries)
        plan = sketched_plan(noise, slots, self.neighbours, *self.account.position())
        return _by_plan(questions, plan, plan.charge)

    def _all_checked(self, queries: Sequence[Query]) -> tuple[Question, ...]:
        if not 0 < len(queries) <= MOST_TOGETHER or not all(hasattr(query, "checked") for query in queries):
            raise InvalidParameter(
                "queries",
                queries,
                f"a list of 1 to {MOST_TOGETHER} queries",
                'For example [Count("age > 40")].',
            )
        return tuple(map(self._checked, queries))

    def _checked(self, query: Query) -> Question:
        question = query.checked(self.table)
        if self.persons is not None:
            return replace(question, persons=self.persons)
        if question.measure.counts_persons:
            raise InvalidQuery(
                "Counting persons needs to know whose rows they are. Open the session with "
                'Session(..., unit="person", max_rows=5).'
            )
        return question

    def _from_plan(self, questions: tuple[Question, ...], plan: Plan) -> Priced:
        # A plan of another ledger may bear the same number; its noise is not what this one paid for.
        if not any(plan == stored_plan(state) for state in self.account.plans() if state.id == plan.id):
            raise InvalidParameter("plan", plan.id, f"a plan of {self.dataset!r}", "See session.plans.")
        if plan.neighbours != self.neighbours:
            raise InvalidParameter("plan", plan.id, f"a plan for neighbours={self.neighbours!r}")
        return _by_plan(questions, plan, Charge.zero())

    def _delta_units(self, questions: Sequence[Question], pay: Payment) -> int:
        """Return the delta, in units of 1e-18, that each question with keys to be found out may pay."""
        discovering = sum(question.discovers for question in questions)
        if not discovering:
            if pay.delta is not None:
                raise InvalidParameter("delta", pay.delta, 'left out: only keys="discover" pays it')
            return 0
        if self.account.budget.currency != "approximate":
            raise InvalidParameter(
                "keys",
                DISCOVER,
                f"asked under an (epsilon, delta) budget; that of {self.dataset!r} is {self.account.budget}",
                "A key that only one person has shows with a small probability, which such a budget cannot "
                "pay. List the keys, or keep the data under an (epsilon, delta) budget.",
            )
        # A price is shared among all questions of a batch, a delta beside it among those that pay one.
        return delta_units(pay, discovering if pay.spend is None else len(questions))

    def _composed(self, questions: Sequence[Question], pay: Payment) -> list[tuple[IntegerNoise, ...]] | None:
        """Return noises that keep a price with delta all together, where that buys less error."""
        # The delta of a question with keys to be found out goes into its threshold.
        if pay.spend is None or not pay.spend.delta_limit or any(each.discovers for each in questions):
            return None
        if self.account.budget.currency != "approximate":
            return None
        return noises_composed(questions, pay.spend, self.neighbours)

    def _noises(self, questions: Sequence[Question], pay: Payment) -> list[tuple[IntegerNoise, ...]]:
        """Return the noise of each component of each question."""
        if pay.noise is not None:
            return [scaled_noises(each, pay.noise, pay.sensitivity) for each in questions]
        if pay.within is not None:
            goal = (pay.within, pay.probability, self.account.budget, self.neighbours)
            return [noises_within(each, *goal) for each in questions]
        assert pay.spend is not None
        return [noises_at_price(each, pay.spend, self.neighbours, len(questions)) for each in questions]

    def rehearse(self, queries: Sequence[Query], pay: Payment) -> None:
        """Go through everything that can refuse queries before the data are read; the charge is recorded."""
        self._paid(self.priced(queries, pay), pay)

    def answer(self, queries: Sequence[Query], pay: Payment) -> list[Answer]:
        """Answer queries together, or return what was answered to the very same before."""
        priced = self.priced(queries, pay)
        given = self._paid(priced, pay)
        if isinstance(given, StoredAnswer):
            stored = read_released(given.answer, [each.question for each in priced.asked])
            return self._show(stored, priced, given.answered_at, pay, True)
        try:
            released = [self._noisy(each) for each in priced.asked]
            written = write_released(released, priced.charge)
        except BaseException as error:
            with suppress(DovetailError):
                unread = isinstance(error, DataError)
                self.account.fail(given, "the data could not be read" if unread else "stopped on the way")
            raise
        answered_at = self.account.settle(given, written)
        return self._show(released, priced, answered_at, pay, False)

    def _paid(self, priced: Priced, pay: Payment) -> Reservation | StoredAnswer:
        """Charge what is asked, or find it answered before."""
        request = Request(
            body=self._body(priced),
            charge=priced.charge,
            analyst=self.analyst,
            key=pay.request,
            fresh=pay.fresh,
            plan=None if priced.plan is None else priced.plan.id,
            slots=max(priced.slots, 1),
        )
        for noise in (noise for each in priced.asked for noise in each.noises):
            noise.sample(0)  # Too wide a noise is refused now, before anything is spent.
        return self._reserved(request, priced, pay)

    def _reserved(self, request: Request, priced: Priced, pay: Payment) -> Reservation | StoredAnswer:
        """Reserve the charge; where it is too much, say what the rest still buys for a lone question."""
        try:
            return self.account.reserve(request)
        except BudgetExceeded as error:
            asked = priced.asked[0]
            if priced.plan is not None or len(priced.asked) > 1 or asked.threshold is not None:
                raise
            position, level = self.account.position(), pay.probability
            found = error_of_rest(asked.question, *position, self.neighbours, level)
            raise with_rest(error, found, level) from None

    def _noisy(self, asked: Asked) -> Released:
        secret = self.account.secret if asked.question.persons is not None else b""
        if asked.threshold is None:
            true = true_cells(self.engine, asked.question, secret)
            return noised(true, asked.question.measure.components(), asked.noises)
        # Closed when stopped on the way, too: a traceback that somebody keeps must not keep the engine busy.
        with closing(held_cells(self.engine, asked.question, secret)) as held:
            return discovered(held, cell_reader(asked.question), asked.noises[0], asked.threshold)

    def _body(self, priced: Priced) -> str:
        """Return the canonical text of what is asked: equal texts are the same question."""
        asked = [each.to_dict() for each in priced.asked]
        body = {"asked": asked, "neighbours": self.neighbours, "source": self.source}
        return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def _show(
        self, released: Sequence[Released], priced: Priced, answered_at: datetime, pay: Payment, stored: bool
    ) -> list[Answer]:
        budget, spent = self.account.position()
        paid_by = None if priced.plan is None else self._standing(priced.plan)
        return [
            Answer(
                self.dataset,
                asked.question,
                asked.noises,
                each.cells,
                priced.charge,
                self.neighbours,
                answered_at,
                budget,
                spent,
                stored,
                pay.clamp,
                None if priced.plan is None else priced.plan.id,
                level=pay.probability,
                paid_by=paid_by,
                found=each.found,
                threshold=asked.threshold,
                together=len(priced.asked),
            )
            for asked, each in zip(priced.asked, released, strict=True)
        ]

    def _standing(self, plan: Plan) -> Plan:
        """Return the plan with the number of answers that are left now."""
        return next(stored_plan(state) for state in self.account.plans() if state.id == plan.id)


def _asked(question: Question, noises: tuple[IntegerNoise, ...], units: int) -> Asked:
    threshold = threshold_for(question, noises[0], units) if question.discovers else None
    return Asked(question, noises, threshold)


def _by_plan(questions: Sequence[Question], plan: Plan, charge: Charge) -> Priced:
    if any(question.discovers for question in questions):
        raise InvalidParameter(
            "plan", plan.id, 'left out with keys="discover"', "A plan has no delta for a threshold."
        )
    asked = tuple(Asked(question, noises_for(plan, question)) for question in questions)
    return Priced(asked, charge, plan, sum(slots_for(plan, question) for question in questions))
