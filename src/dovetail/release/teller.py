"""Give answers in the one safe order: price, reserve, read, draw, store, return."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from dovetail.errors import DataError, DovetailError, InvalidParameter, InvalidQuery
from dovetail.noise import IntegerNoise
from dovetail.privacy import Charge

from .answer import Answer, component_noises, never_negative
from .engines import Engine
from .goals import noises_at_price, noises_within
from .intervals import half_width
from .pay import Pay
from .plan import Plan, sketched_plan, stored_plan
from .ports import Account, Request, StoredAnswer
from .price import charge_of
from .query import Query
from .question import Distinct, Persons, Question
from .schema import Table
from .select import true_cells
from .sensitivity import Neighbours, units

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1
MOST_TOGETHER = 10_000
# Beyond this many cells noise is drawn as one array.
_FEW = 64

Cells = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Priced:
    """Questions with their noise and their price; nothing has been touched yet.

    `plan` is what pays, and then `charge` is zero; of a plan that is not open yet, `charge` is its price.
    """

    questions: tuple[Question, ...]
    noises: tuple[tuple[IntegerNoise, ...], ...]
    charge: Charge
    plan: Plan | None
    slots: int

    def errors(self, level: Fraction) -> tuple[Fraction | None, ...]:
        """Return what the error of each answer stays within with probability `level`; of a mean, None.

        The error of a mean depends on the number of rows, which is private.
        """
        return tuple(
            None if len(noises) > 1 else half_width(noises[0], 1 - level, 1) * question.step
            for question, noises in zip(self.questions, self.noises, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Teller:
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

    def priced(self, queries: Sequence[Query], pay: Pay) -> Priced:
        """Check and price queries from their text alone."""
        if not 0 < len(queries) <= MOST_TOGETHER or not all(hasattr(query, "checked") for query in queries):
            raise InvalidParameter(
                "queries",
                queries,
                f"a list of 1 to {MOST_TOGETHER} queries",
                'For example [Count("age > 40")].',
            )
        questions = tuple(self._checked(query) for query in queries)
        if pay.clamp and not all(map(never_negative, questions)):
            raise InvalidQuery("clamp=True cuts off at 0, which only suits counts and sums with low >= 0.")
        if pay.plan is not None:
            return self._from_plan(questions, pay.plan)
        noises = tuple(self._noises(question, pay, len(questions)) for question in questions)
        return Priced(questions, noises, charge_of(questions, noises, self.neighbours), None, 0)

    def sketched(self, queries: Sequence[Query], noise: IntegerNoise, slots: int) -> Priced:
        """Price a plan that is not open yet, as these queries would use it."""
        questions = tuple(self._checked(query) for query in queries)
        plan = sketched_plan(self.account, noise, slots, self.neighbours)
        used = sum(plan.slots_for(question) for question in questions)
        return Priced(questions, tuple(map(plan.noises_for, questions)), plan.charge, plan, used)

    def _checked(self, query: Query) -> Question:
        question = query.checked(self.table)
        if self.persons is not None:
            return replace(question, persons=self.persons)
        if isinstance(question.measure, Distinct):
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
        slots = sum(plan.slots_for(question) for question in questions)
        return Priced(questions, tuple(map(plan.noises_for, questions)), Charge.zero(), plan, slots)

    def _noises(self, question: Question, pay: Pay, together: int) -> tuple[IntegerNoise, ...]:
        if pay.noise is not None:
            return scaled_noises(question, pay.noise, pay.sensitivity)
        if pay.within is not None:
            budget = self.account.budget
            return noises_within(question, pay.within, pay.probability, budget, self.neighbours)
        assert pay.spend is not None
        return noises_at_price(question, pay.spend, self.neighbours, together)

    def answer(self, queries: Sequence[Query], pay: Pay) -> list[Answer]:
        """Answer queries together, or return what was answered to the very same before."""
        priced = self.priced(queries, pay)
        request = Request(
            body=self._body(priced),
            charge=priced.charge,
            analyst=self.analyst,
            key=pay.request,
            fresh=pay.fresh,
            plan=None if priced.plan is None else priced.plan.id,
            slots=max(priced.slots, 1),
        )
        for noise in (noise for noises in priced.noises for noise in noises):
            noise.sample(0)  # Too wide a noise is refused now, before anything is spent.
        given = self.account.reserve(request)
        if isinstance(given, StoredAnswer):
            cells = [tuple(map(tuple, each)) for each in json.loads(given.answer)["cells"]]
            return self._show(cells, priced, given.answered_at, pay, True)
        try:
            cells = [self._noisy(q, n) for q, n in zip(priced.questions, priced.noises, strict=True)]
            stored = json.dumps({"cells": cells, "charge": priced.charge.to_dict()})
        except BaseException as error:
            with suppress(DovetailError):
                unread = isinstance(error, DataError)
                self.account.fail(given, "the data could not be read" if unread else "stopped on the way")
            raise
        answered_at = self.account.settle(given, stored)
        return self._show(cells, priced, answered_at, pay, False)

    def _noisy(self, question: Question, noises: Sequence[IntegerNoise]) -> Cells:
        secret = self.account.secret if question.persons is not None else b""
        true = true_cells(self.engine, question, secret)
        drawn = [draws(noise, len(true)) for noise in noises]
        return tuple(
            tuple(saturated(value + more) for value, more in zip(cell, extra, strict=True))
            for cell, extra in zip(true, zip(*drawn, strict=True), strict=True)
        )

    def _body(self, priced: Priced) -> str:
        """Return the canonical text of what is asked: equal texts are the same question."""
        asked = [
            {"question": question.to_dict(), "noise": [noise.to_dict() for noise in noises]}
            for question, noises in zip(priced.questions, priced.noises, strict=True)
        ]
        body = {"asked": asked, "neighbours": self.neighbours, "source": self.source}
        return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def _show(
        self, cells: Sequence[Cells], priced: Priced, answered_at: datetime, pay: Pay, stored: bool
    ) -> list[Answer]:
        budget, spent = self.account.position()
        paid_by = None if priced.plan is None else self._standing(priced.plan)
        return [
            Answer(
                self.dataset,
                question,
                noises,
                each,
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
            )
            for question, noises, each in zip(priced.questions, priced.noises, cells, strict=True)
        ]

    def _standing(self, plan: Plan) -> Plan:
        """Return the plan with the number of answers that are left now."""
        return next(stored_plan(state) for state in self.account.plans() if state.id == plan.id)


def scaled_noises(question: Question, noise: IntegerNoise, sensitivity: int) -> tuple[IntegerNoise, ...]:
    """Return a given noise for each component; one designed for a sensitivity fits questions of that only."""
    if sensitivity == 1:
        return component_noises(question, noise)
    if units(question) != (sensitivity,):
        raise InvalidParameter(
            "noise",
            f"a design for sensitivity {sensitivity}",
            f"for sensitivity {' and '.join(map(str, units(question)))}, that of this question",
            "A design for sensitivity 1 fits every question.",
        )
    return (noise,)


def draws(noise: IntegerNoise, count: int) -> list[int]:
    """Draw noise for `count` cells."""
    if count <= _FEW:
        return [int(noise.sample()) for _ in range(count)]
    return [int(value) for value in noise.sample(count)]  # type: ignore[union-attr]


def saturated(value: int) -> int:
    """Return the sum of answer and noise, held within 64 bits (post-processing).

    >>> saturated(2**70) == 2**63 - 1
    True
    """
    return min(max(value, _SMALLEST), _LARGEST)
