"""The privacy loss of a noise, exactly: everything that a guarantee can be stated in follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.exact import float_down, float_up
from dovetail.exact.figures import upper_figure
from dovetail.noise import Noise

from . import gaussian_and_staircase  # noqa: F401 - tells how the losses of other kinds are computed
from .atoms import Atoms, Floats
from .charge import Charge
from .composition import OneWay
from .dominating_pairs import Masses, atoms_from_pmfs, shift_atoms

# Beyond, what rounding may have done to so many factors would be all that is seen.
_MOST_USES = 10**9
_LARGEST = Fraction(10) ** 300
_CELLS = "Give whole shifts, one for each cell that moves: (1,) a row added, (1, -1) a row replaced."


@dataclass(frozen=True, eq=False, slots=True)
class PrivacyLoss:
    """The privacy loss between two neighbouring data sets, in both directions.

    L = ln(P/Q) at an outcome drawn from P. Every figure is the larger one of the two directions and an upper
    bound, rounded outward; an infinite loss gives inf, not an error. Make one with `privacy_loss`.
    """

    forward: OneWay
    backward: OneWay | None = None  # None: the same as forward, as for every shift of symmetric noise

    @classmethod
    def from_pmfs(cls, p: Masses, q: Masses) -> PrivacyLoss:
        """Return the loss of any mechanism from its two output distributions on neighbouring data.

        Both list the probabilities of the same outcomes, as lists or arrays; or both map outcomes to their
        probabilities, where an outcome that one of them lacks has none there. They may miss a sum of 1 by
        1e-9, as floats do, and are scaled to it.

        >>> loss = PrivacyLoss.from_pmfs([0.75, 0.25], [0.25, 0.75])
        >>> round(loss.epsilon, 12)
        1.098612288668
        >>> PrivacyLoss.from_pmfs({"yes": 1}, {"yes": 0.5, "no": 0.5}).epsilon
        inf
        """
        forward, backward = atoms_from_pmfs(p, q)
        return cls(OneWay(((forward, 1),)), OneWay(((backward, 1),)))

    @property
    def epsilon(self) -> float:
        """The worst case: pure differential privacy."""
        return float_up(self.worst)

    @property
    def worst(self) -> Fraction | float:
        """The worst case, as an exact rational where it is one."""
        return max(one.worst() for one in self._ways)

    @property
    def zeta(self) -> float:
        """The paper's general privacy budget, ln E exp|L|: an average, at most the worst case.

        Paper: Eq. 24.
        """
        return min(max(one.zeta() for one in self._ways), self.epsilon)

    @property
    def mean(self) -> float:
        """The mean loss (Kullback-Leibler divergence)."""
        return max(one.mean() for one in self._ways)

    @property
    def atoms(self) -> tuple[Floats, Floats]:
        """The values that the loss takes, ascending, and their probabilities, P against Q.

        Where the loss has a continuous part, or after a composition without a common unit, these are the
        atoms of a dominating discrete loss.
        """
        return self.forward.listed()

    def renyi(self, order: Real) -> float:
        """Return the Rényi divergence of an order above 1.

        >>> from dovetail.noise import Geometric
        >>> loss = privacy_loss(Geometric(1))
        >>> round(loss.renyi(2), 6)
        0.735326
        """
        exact = check.rational("order", order)
        if not 1 < exact <= _LARGEST:
            raise InvalidParameter("order", order, "a number above 1, to 1e300", "Use .mean for order 1.")
        # A larger order has a larger divergence.
        return min(max(one.renyi(float_up(exact)) for one in self._ways), self.epsilon)

    def delta(self, epsilon: Real) -> float:
        """Return the smallest delta for which the whole is (epsilon, delta)-differentially private.

        >>> from dovetail.noise import Geometric
        >>> loss = privacy_loss(Geometric(1))
        >>> round(loss.delta(0.5), 6), loss.delta(1)
        (0.287649, 0.0)
        """
        exact = check.rational("epsilon", epsilon)
        if not exact >= 0:
            raise InvalidParameter("epsilon", epsilon, "a number of at least 0")
        if exact >= self.worst:
            return 0.0
        # A float stands for itself here, so that delta(epsilon_at(d)) is at most d.
        near = min(exact, _LARGEST)
        below = float(near) if isinstance(epsilon, float) else float_down(near)
        return max(one.delta(max(below, 0.0)) for one in self._ways)

    def epsilon_at(self, delta: Real) -> float:
        """Return the smallest epsilon for which the whole is (epsilon, delta)-differentially private.

        >>> from dovetail.noise import Geometric
        >>> round(privacy_loss(Geometric("0.1")).compose(1000).epsilon_at("1e-6"), 4)
        19.3447
        """
        exact = check.rational("delta", delta)
        if not 0 <= exact <= 1:
            raise InvalidParameter("delta", delta, "a number from 0 to 1")
        return max(one.epsilon(float_down(exact)) for one in self._ways)

    def above(self, epsilon: Real) -> float:
        """Return P(L > epsilon), the chance of an answer whose own loss is larger than epsilon.

        This is not delta, which counts only by how much such losses exceed epsilon, and is never below it.

        >>> from dovetail.noise import Geometric
        >>> loss = privacy_loss(Geometric(1))
        >>> round(loss.above("0.999999"), 6), round(loss.delta("0.999999"), 9), loss.above(1)
        (0.731059, 7.31e-07, 0.0)
        """
        limit = check.within("epsilon", epsilon, "-1e300", "1e300")
        return max(one.above(limit) for one in self._ways)

    def tail(self, t: Real) -> float:
        """Return P(|L| > t)."""
        limit = check.within("t", t, "-1e300", "1e300")
        if limit < 0:
            return 1.0
        return max(min(one.above(limit) + one.below(-limit), 1.0) for one in self._ways)

    def compose(self, k: int) -> PrivacyLoss:
        """Return the loss of k independent uses; it also bounds k uses that are chosen adaptively.

        >>> from dovetail.noise import Geometric
        >>> privacy_loss(Geometric("0.1")).compose(10).epsilon
        1.0
        """
        uses = check.integer("k", k, low=1, high=_MOST_USES, fix="Give the number of uses.")
        return PrivacyLoss(*(OneWay(tuple((a, n * uses) for a, n in one.parts)) for one in self._ways))

    def then(self, other: PrivacyLoss) -> PrivacyLoss:
        """Return the loss of this followed by `other`, on the same two data sets."""
        if not isinstance(other, PrivacyLoss):
            raise InvalidParameter("other", other, "a PrivacyLoss", "Make one with privacy_loss(noise).")
        forward = OneWay(_joined(self.forward.parts + other.forward.parts))
        if self.backward is None and other.backward is None:
            return PrivacyLoss(forward)
        mine, theirs = self.backward or self.forward, other.backward or other.forward
        return PrivacyLoss(forward, OneWay(_joined(mine.parts + theirs.parts)))

    def charge(self) -> Charge:
        """Return what a budget is charged: pure epsilon, zeta and the Rényi curve, rounded up."""
        zeta, worst, ways = self.zeta, self.worst, self._ways
        top = float_up(worst)

        def curve(order: int) -> Real:
            value = min(max(one.renyi(order) for one in ways), top)
            return value if value == inf else Fraction(value)

        exact: Real = worst if worst == inf else Fraction(worst)
        return Charge.rounded_up(epsilon=exact, zeta=zeta if zeta == inf else Fraction(zeta), renyi=curve)

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the probabilities of the losses and delta(epsilon); return the Matplotlib figure.

        With `ax`, only the losses are drawn, into these axes.
        """
        from dovetail.plots.loss import loss

        values, masses = self.atoms
        top = self.epsilon if self.epsilon < inf else float(values[-2])
        # Past what a delta of 1e-18 allows there is nothing to see.
        epsilons = np.linspace(0, min(top, self.epsilon_at("1e-18")), 200)
        deltas = [self.delta(float(epsilon)) for epsilon in epsilons]
        finite = values < inf
        return loss(
            values[finite], masses[finite], epsilons, deltas, zeta=self.zeta, worst=self.epsilon, ax=ax
        )

    @property
    def _ways(self) -> tuple[OneWay, ...]:
        return (self.forward,) if self.backward is None else (self.forward, self.backward)

    def __repr__(self) -> str:
        uses = sum(count for _, count in self.forward.parts)
        epsilon, zeta = (upper_figure(figure, 6) for figure in (self.epsilon, self.zeta))
        return f"PrivacyLoss(epsilon={epsilon}, zeta={zeta}, uses={uses})"


def privacy_loss(noise: Noise, *, sensitivity: int | Sequence[int] = 1) -> PrivacyLoss:
    """Return the exact privacy loss of adding `noise` where a neighbour moves the answer by `sensitivity`.

    The largest shift is the worst one, so smaller shifts need no look. A tuple lists the shifts of cells
    that move together, each with its own noise: (1, -1) is one row replaced.

    >>> from dovetail.noise import GeometricMixture
    >>> loss = privacy_loss(GeometricMixture(inner=0.2, outer=1, break_point=5))
    >>> round(loss.zeta, 4), loss.epsilon
    (0.3281, 1.0)

    Paper: Theorems 1 and 3, Eq. 24.
    """
    if isinstance(sensitivity, str | bytes) or not isinstance(sensitivity, Sequence):
        return _symmetric(((shift_atoms(noise, sensitivity), 1),))
    shifts = tuple(sensitivity)
    if not shifts:
        raise InvalidParameter("sensitivity", sensitivity, "at least one shift", _CELLS)
    sizes: dict[Fraction, int] = {}
    for shift in shifts:
        size = abs(check.rational("sensitivity", shift, _CELLS))
        sizes[size] = sizes.get(size, 0) + 1
    return _symmetric(tuple((shift_atoms(noise, size), count) for size, count in sorted(sizes.items())))


def _symmetric(parts: tuple[tuple[Atoms, int], ...]) -> PrivacyLoss:
    """Both directions of a shift are alike, because the noise is symmetric."""
    return PrivacyLoss(OneWay(parts))


def _joined(parts: tuple[tuple[Atoms, int], ...]) -> tuple[tuple[Atoms, int], ...]:
    """Add up the uses of the same atoms."""
    uses: dict[int, tuple[Atoms, int]] = {}
    for atoms, count in parts:
        known = uses.get(id(atoms), (atoms, 0))[1]
        uses[id(atoms)] = (atoms, known + count)
    return tuple(uses.values())
