"""A quote: what questions would cost and how accurate their answers would be, before any row is read."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from html import escape
from textwrap import wrap
from typing import Any

from dovetail.check import Real, error_bar_level
from dovetail.errors.values import percent
from dovetail.exact.decimals import decimal_text, exact_number
from dovetail.exact.figures import figure_up
from dovetail.noise import IntegerNoise
from dovetail.privacy import Budget, Charge, Remaining
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Way
from dovetail.query.neighbours import Neighbours

from .contribution_bounds import bounded
from .number_formats import noise_in_decimals
from .payment import Payment
from .plan import Plan, charge_in_words
from .provenance import changed, day, facts
from .threshold import Threshold

FORMAT = "dovetail.quote/2"
_LONG = 160
_UNKNOWN = "depends on the rows, which are private"


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a budget stands: its limit (None where nobody has set one), what is spent, and the open plans."""

    budget: Budget | None = None
    spent: Charge = field(default_factory=Charge.zero)
    plans: tuple[Plan, ...] = ()

    @property
    def remaining(self) -> Remaining | None:
        """What can still be paid outside of plans."""
        return None if self.budget is None else self.budget.remaining(self.spent)


@dataclass(frozen=True, slots=True)
class QuotedQuery:
    """A question with the noise of its components and, where its keys are found out, the threshold.

    Where it can be measured in several `ways`, the first one is taken.
    """

    question: CheckedQuery
    noises: tuple[IntegerNoise, ...]
    threshold: Threshold | None = None
    ways: tuple[Way, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what makes two requests the same one."""
        noises = [noise.to_dict() for noise in self.noises]
        form = {"question": self.question.to_dict(), "noise": noises}
        return form if self.threshold is None else form | {"threshold": self.threshold.least}

    def told(self) -> dict[str, Any]:
        """Return the same for a reader outside: numbers are decimals wherever one is exact."""
        return self.to_dict() | {"noise": list(map(noise_in_decimals, self.noises))}

    def error(self, level: Fraction, *, simultaneous: bool = False) -> Fraction | None:
        """Return what the error stays within with probability `level`, in each cell or in all at once.

        None where that is private: the error of a mean depends on the number of rows, and how many keys are
        found out is not known before.
        """
        if simultaneous and self.threshold is not None:
            return None
        measure = self.question.measure
        if simultaneous:
            return measure.error_of_all(self.noises, 1 - level, self.question.cells)
        return measure.error(self.noises, 1 - level)

    def by_table(self, level: Fraction) -> dict[str, Fraction]:
        """Return what the error of each cell stays within, by the name of its table, where there are many."""
        return self.question.measure.errors_by_table(self.noises, 1 - level)


@dataclass(frozen=True, slots=True)
class StoredOffer:
    """An answer that was given before and would be given again, free.

    It is `stale` if the data have changed since; where they are not `versioned`, nobody knows.
    """

    asked: tuple[QuotedQuery, ...]
    answered_at: datetime
    stale: bool = False
    versioned: bool = True
    stored: bool = True

    @property
    def bounded(self) -> str | None:
        """What it leaves out by design."""
        return bounded(*(each.question for each in self.asked))

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form."""
        return facts(self) | {"versioned": self.versioned, "asked": [each.told() for each in self.asked]}


@dataclass(frozen=True, slots=True)
class Quote:
    """Questions with their noise, their price and their errors; nothing has been read or spent.

    `charge` is exactly what an answer to this quote is charged. If an open `plan` pays, it is zero; if the
    plan is not open yet (its `id` is 0), it is the price of the whole plan. `slots` is how many of the plan's
    answers are used. `standing` is where the budget stood when the quote was made.

    >>> from dovetail.noise import Geometric
    >>> from dovetail.query.checked_query import CheckedQuery
    >>> from dovetail.query.measures import Rows
    >>> one = QuotedQuery(CheckedQuery(Rows()), (Geometric(1),))
    >>> Quote((one,), Charge.approximate(1), Payment(), Standing(Budget.pure(3)), "add-remove")
    cost        epsilon 1 in the worst case
    error       ±3, with probability 95 %
    remains     epsilon 3
    affordable  yes
    """

    asked: tuple[QuotedQuery, ...]
    charge: Charge
    payment: Payment
    standing: Standing
    neighbours: Neighbours
    plan: Plan | None = None
    slots: int = 0
    stored: StoredOffer | None = None

    @property
    def level(self) -> Fraction:
        """The probability of the errors that are shown: the one that was asked for, else 0.95."""
        return self.payment.probability

    @property
    def bounded(self) -> str | None:
        """What the answers would leave out by design, where only so much of each person is used."""
        return bounded(*(each.question for each in self.asked))

    @property
    def affordable(self) -> bool | None:
        """Whether the budget, or the plan, pays for it as things stood; None without a budget."""
        if self.plan is not None and self.slots > self.left:
            return False
        budget = self.standing.budget
        return None if budget is None else budget.allows(self.standing.spent, self.charge)

    @property
    def left(self) -> int:
        """How many answers of the plan are left before this one; 0 without a plan."""
        plan = self.plan
        return 0 if plan is None else plan.slots if plan.left is None else plan.left

    @property
    def remaining(self) -> Remaining | None:
        """What would remain of the budget afterwards; None without a budget, or where it is too small."""
        budget = self.standing.budget
        return budget.remaining(self.standing.spent + self.charge) if budget and self.affordable else None

    def errors(
        self, level: Real | None = None, *, simultaneous: bool = False
    ) -> tuple[Decimal | Fraction | None, ...]:
        """Return what the error of each answer stays within with probability `level`; of a mean, None.

        With `simultaneous`, what the errors of all cells of the answer stay within at once. Where a stored
        answer would be given, they are the errors of that one.
        """
        chance = (
            self.level if level is None else error_bar_level("level", level, "Give a number such as 0.95.")
        )
        asked = self.asked if self.stored is None else self.stored.asked
        bounds = (each.error(chance, simultaneous=simultaneous) for each in asked)
        return tuple(None if error is None else exact_number(error) for error in bounds)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form; charges and errors are exact decimals as text."""
        return {
            "schema": FORMAT,
            "asked": [each.told() for each in self.asked],
            "errors": list(map(_text, self.errors())),
            "errors_of_all_cells": list(map(_text, self.errors(simultaneous=True))),
            "errors_by_table": [
                {name: decimal_text(error) for name, error in each.by_table(self.level).items()}
                for each in self.asked
            ],
            "ways": [list(map(_way, each.ways)) for each in self.asked],
            "level": decimal_text(self.level),
            "bounded": self.bounded,
            "neighbours": self.neighbours,
            "charge": self.charge.to_dict(),
            "plan": None if self.plan is None else self.plan.to_dict(),
            "slots": self.slots,
            "affordable": self.affordable,
            "stored": None if self.stored is None else self.stored.to_dict(),
            "remaining": None if self.remaining is None else self.remaining.to_dict(),
        }

    def to_json(self) -> str:
        """Return the quote as JSON text of the format "dovetail.quote/2"."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @property
    def digest(self) -> str:
        """A short name for exactly this offer: equal for the same questions, noise, charge and plan."""
        offer: dict[str, Any] = {"asked": [each.to_dict() for each in self.asked]}
        offer |= {"charge": self.charge.to_dict(), "plan": None if self.plan is None else self.plan.id}
        offer["neighbours"] = self.neighbours
        return sha256(json.dumps(offer, sort_keys=True).encode()).hexdigest()

    def words(self) -> dict[str, str]:
        """Return what a reader wants to know, each under its label."""
        lines = {"cost": self._cost(), "error": self._error()}
        if self.bounded is not None:
            lines |= {"error": f"{lines['error']}, for the rows used", "bounded": self.bounded}
        least = [str(each.threshold.least) for each in self.asked if each.threshold is not None]
        if least:
            lines["keys"] = f"those with a noisy count of at least {', '.join(least)} are shown"
        lines |= self._measured()
        if self.standing.budget is not None:
            lines["remains"] = str(self.standing.remaining)
            lines["affordable"] = "yes" if self.affordable or self.stored else "no"
        return lines

    def _cost(self) -> str:
        """Say what it costs: nothing where it was answered before."""
        if self.stored is None:
            return self._price()
        since = f"; {changed(self.stored)}" if self.stored.stale else ""
        return f"nothing: answered on {day(self.stored.answered_at)}{since} (a new answer: {self._price()})"

    def _price(self) -> str:
        plan = self.plan
        if plan is None:
            return charge_in_words(self.charge)
        if not plan.id:
            used = f"; this question uses {self.slots} of them" if self.slots > 1 else ""
            return f"all {plan.slots} answers together: {plan.price()}{used}"
        used = f"{self.slots} of the {self.left} answers left in a plan"
        return f"nothing more: {used} that is paid for ({plan.price()})"

    def _error(self) -> str:
        """Say how accurate each answer would be; of several questions, with their names."""
        texts = []
        for each, error in zip(self.asked, self.errors(), strict=True):
            name = f"{each.question.measure.scale()} " if len(self.asked) > 1 else ""
            cells = " in each cell" if each.question.grouped and error is not None else ""
            cells += " of the least accurate table" if len(each.by_table(self.level)) > 1 else ""
            texts.append(name + (_UNKNOWN if error is None else f"±{figure_up(Fraction(error))}") + cells)
        return f"{'; '.join(texts)}, with probability {percent(self.level)}"

    def _measured(self) -> dict[str, str]:
        """Say how tables are measured, how accurate each one is, and what other ways would have given."""
        lines = {}
        for each in self.asked:
            tables = each.by_table(self.level)
            if len(tables) > 1:
                shown = (f"{name} ±{figure_up(error, 4)}" for name, error in tables.items())
                lines["tables"] = "; ".join(shown)
            if each.ways:
                best, *others = each.ways
                where = "in the worst table" if len(best.errors) > 1 else f"of {next(iter(best.errors))}"
                lines["measured"] = f"{best.name}: standard error {best.worst:.4g} {where}"
                lines["instead"] = "; ".join(f"{way.name} {way.worst:.4g}" for way in others)
        return {word: text for word, text in lines.items() if text}

    def __str__(self) -> str:
        words = self.words()
        wide = max(map(len, words))
        margin = "\n" + " " * (wide + 2)
        return "\n".join(f"{word:<{wide}}  {margin.join(_wrapped(text))}" for word, text in words.items())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = (f"<tr><th>{word}</th><td>{escape(text)}</td></tr>" for word, text in self.words().items())
        return f"<table><tbody>{''.join(rows)}</tbody></table>"


def _way(way: Way) -> dict[str, Any]:
    """Return a way to measure as JSON: the standard error of each table, to six digits."""
    errors = {name: decimal_text(Fraction(f"{error:.6g}")) for name, error in way.errors.items()}
    return {"name": way.name, "standard_errors": errors}


def _wrapped(text: str) -> list[str]:
    return wrap(text, 100, break_on_hyphens=False) if len(text) > _LONG else [text]


def _text(error: Decimal | Fraction | None) -> str | None:
    return None if error is None else decimal_text(Fraction(error))
