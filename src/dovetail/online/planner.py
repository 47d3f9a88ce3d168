"""Choose how a run answers: a base that is measured once, a guard that checks each answer, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any, Literal, TypeAlias

from dovetail import check
from dovetail.check import Real
from dovetail.designer.goal import loss_limit, told_apart
from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise
from dovetail.pricing.plans import plan_charge
from dovetail.privacy import Budget, Charge, PrivacyLoss
from dovetail.workloads import MarginalWorkload, Strategy

from .base_tables import BaseKind, measured_by
from .calibration import Calibrated, Terms, base_only, calibrate
from .forecast import Forecast, Form, forecasts
from .guard import Guard, Neighbours
from .hypothesis import MOST_CELLS
from .response_curve import ResponseCurve

Kind: TypeAlias = BaseKind | None

_UPDATES = 50
_MOST_QUERIES = 10**9


@dataclass(frozen=True)
class OnlineDesign:
    """How a run answers, what it promises and what it costs; from public facts alone.

    `base` is "histogram", the number of columns of each table that is measured, or None. `guard` is None
    where answers are not checked. `loss` is the privacy loss of the whole run, rounded up.
    """

    shape: tuple[int, ...]
    queries: int
    ways: int
    budget: Budget
    promise: Fraction
    base: Kind
    base_noise: IntegerNoise | None
    guard: Guard | None
    loss: PrivacyLoss
    alternatives: tuple[Forecast, ...]
    rows: int = 1

    @property
    def updates(self) -> int:
        """How many answers may be measured anew."""
        return 0 if self.guard is None else self.guard.updates

    @property
    def threshold(self) -> IntegerNoise | None:
        """The noise of both thresholds."""
        return None if self.guard is None else self.guard.threshold

    @property
    def curve(self) -> ResponseCurve | None:
        """The response curve of the tests."""
        return None if self.guard is None else self.guard.curve

    @property
    def answers(self) -> IntegerNoise | None:
        """The noise of measured answers."""
        return None if self.guard is None else self.guard.answers

    @cached_property
    def alpha(self) -> int | None:
        """How far answers that pass the guard may be off, all of them at once, at the promised level."""
        return None if self.guard is None else self.guard.alpha(self.promise)

    @property
    def strategy(self) -> Strategy | None:
        """How the base is measured, with the noise that is drawn: stretched to what one person can move."""
        if self.base is None or self.base_noise is None:
            return None
        return measured_by(self.shape, self.base, self.base_noise, self.rows)

    @property
    def charge(self) -> Charge:
        """What the whole run is charged, within the budget that it was designed for."""
        return plan_charge(self.loss, self.budget, Charge.zero())

    @property
    def tables(self) -> int:
        """How many tables the base measures."""
        return _tables(self.shape, self.base)

    @property
    def why(self) -> str:
        """The reason for the choice in one sentence."""
        best = self.alternatives[0]
        if self.base is None:
            return (
                "Without a base the hypothesis learns from measured answers alone (multiplicative weights)."
            )
        if best.base is None:
            return f"So few questions are best answered one by one: ±{best.bar:.0f} in 95 % of answers."
        measured = "the whole histogram" if self.base == "histogram" else f"all {self.base}-way tables"
        if self.base != "histogram" and self.base < self.ways:
            return f"Measuring {measured} is not enough for {self.ways} columns; the biased fit is checked."
        return f"Measuring {measured} once answers questions on {self.ways} columns without bias."

    def explain(self) -> str:
        """Say in plain words what is measured, what is checked, what is promised, and what else there was."""
        lines = [f"The run: {self.queries} questions on up to {self.ways} of {len(self.shape)} columns"]
        if self.base is not None and self.base_noise is not None:
            lines.append(f"  base: tables {self.tables}, each cell with {self.base_noise!r}")
        if self.guard is not None:
            lines += [
                f"  guard: {self.updates} updates, measured with {self.guard.answers!r}",
                f"  answers that pass: all within ±{self.alpha} with probability {float(self.promise):g}",
            ]
        lines += ["", "Why", f"  {self.why}", "", "95 % error of each way, without bias, at this budget"]
        lines += [f"  {each.name:<10} {each.bar:>10.1f}" for each in self.alternatives]
        return "\n".join(lines)

    def plot(self) -> Any:
        """Draw the 95 % error of each way of answering, and return the axes."""
        from dovetail.plots.bars import draw_bars

        bars = [each.bar for each in self.alternatives]
        return draw_bars(
            [each.name for each in self.alternatives],
            bars,
            [(bar, bar) for bar in bars],
            amounts=[f"±{bar:.0f}" for bar in bars],
            title=f"95 % error of {self.queries} questions on {self.ways} columns",
            scale="rows",
        )

    def __repr__(self) -> str:
        return f"<online design: base {self.base}, {self.updates} updates, {self.loss!r}>"


def design_online(
    shape: Sequence[int],
    *,
    queries: int,
    budget: Budget,
    ways: int = 3,
    base: Kind | Literal["auto"] = "auto",
    updates: int | Literal["auto"] = "auto",
    promise: Real = "0.95",
    form: Form = "subset",
    neighbours: Neighbours = "add-remove",
    rows: int = 1,
) -> OnlineDesign:
    """Design a run over columns with so many values each; no row is looked at.

    A base is taken where it answers without bias and better than anything else; then no guard is needed.
    `updates` adds a guard, which promises a largest error of every answer that passes.

    >>> design_online((9, 16, 7, 2, 2), queries=1000, budget=Budget.pure(1), updates=0).base
    3
    """
    sizes = _checked_shape(shape)
    asked = check.integer("queries", queries, 1, _MOST_QUERIES)
    columns = check.integer("ways", ways, 1, len(sizes))
    level = check.within("promise", promise, "0.5", "0.999999999")
    for name, limit in (("epsilon", budget.epsilon_limit), ("zeta", budget.zeta_limit)):
        if limit is not None:
            loss_limit(name, limit)
    form = check.choice("form", form, ("point", "subset"))  # type: ignore[assignment]
    moved = 1 if neighbours == "add-remove" else 2
    if budget.currency == "approximate" and not told_apart(budget.delta_limit):
        budget = Budget.pure(budget.epsilon_limit)
    listed = tuple(forecasts(sizes, asked, columns, form, budget, moved))
    chosen = _chosen_base(sizes, base, listed)
    number = _chosen_updates(updates, chosen)
    calibrated = _calibrated(
        budget, Terms(number, asked, _tables(sizes, chosen), neighbours, rows, str(level))
    )
    return OnlineDesign(
        sizes,
        asked,
        columns,
        budget,
        level,
        chosen,
        calibrated.base,
        calibrated.guard,
        calibrated.loss,
        listed,
        rows,
    )


def _calibrated(budget: Budget, terms: Terms) -> Calibrated:
    if terms.updates == 0 and terms.tables == 0:
        raise InvalidParameter("updates", 0, "at least 1 without a base", "Choose a base, or allow updates.")
    return calibrate(budget, terms) if terms.updates else base_only(budget, terms)


def _checked_shape(shape: Sequence[int]) -> tuple[int, ...]:
    sizes = tuple(check.integer("shape", size, 1) for size in shape)
    if not sizes:
        raise InvalidParameter("shape", shape, "at least one column")
    if prod(sizes) > MOST_CELLS:
        fix = "Use fewer columns or coarser bins."
        raise InvalidParameter("shape", prod(sizes), f"at most {MOST_CELLS} cells", fix)
    return sizes


def _tables(shape: tuple[int, ...], base: Kind) -> int:
    if base is None:
        return 0
    return 1 if base == "histogram" else len(MarginalWorkload.of_ways(shape, base).tables)


def _chosen_base(shape: tuple[int, ...], base: Kind | str, listed: tuple[Forecast, ...]) -> Kind:
    if base is None or base == "histogram":
        return base  # type: ignore[return-value]
    if base != "auto":
        return check.integer("base", base, 1, len(shape), 'Give "auto", "histogram", None or 1 to 3.')
    # The whole histogram is always among them.
    return min((each for each in listed if each.base is not None), key=lambda each: each.bar).base


def _chosen_updates(updates: int | str, base: Kind) -> int:
    if updates == "auto":
        return _UPDATES if base is None else 0
    return check.integer("updates", updates, 0, 10**6, 'Give "auto" or a whole number.')
