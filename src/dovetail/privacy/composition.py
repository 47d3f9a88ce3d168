"""The loss of independent uses in one direction, P against Q, and every figure drawn from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, expm1, inf, isinf, log, log1p, nextafter, sqrt
from typing import cast

import numpy as np

from .atoms import ROUNDING, Atoms, Floats
from .curve import Curve
from .fourier import Lattice, lattice, tilted

_LARGEST_POWER = 1500.0  # of tilt times the range of one loss
_ROUGHLY = 0.01
_ROUNDS = 20
_NEAR = 3.0  # ln of how much larger errors at the answer may be than at the centre
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False, slots=True)
class OneWay:
    """Losses of independent uses: pairs of atoms and how often they are used.

    Every figure is an upper bound.
    """

    parts: tuple[tuple[Atoms, int], ...]
    _kept: dict[str, object] = field(default_factory=dict, repr=False)

    @property
    def single(self) -> Atoms | None:
        """The atoms of a single use, where it is one."""
        return self.parts[0][0] if len(self.parts) == 1 and self.parts[0][1] == 1 else None

    def worst(self) -> Fraction | float:
        """Return the largest possible loss; the sum is exact, so it rounds nothing that parts have not."""
        if any(atoms.worst == inf for atoms, _ in self.parts):
            return inf
        return sum((uses * Fraction(atoms.worst) for atoms, uses in self.parts), Fraction(0))

    def infinite(self) -> float:
        """Return the probability of an infinite loss."""
        if all(atoms.infinite == 0 for atoms, _ in self.parts):
            return 0.0
        if any(atoms.infinite >= 1 for atoms, _ in self.parts):
            return 1.0
        log_finite = sum(uses * log1p(-atoms.infinite) for atoms, uses in self.parts)
        return min(-expm1(log_finite) * (1 + 64 * ROUNDING), 1.0)

    def _endless(self) -> bool:
        """Say whether moments are infinite: some losses are, and are not merely left out of a list."""
        return any(atoms.infinite > 0 and atoms.moments is None for atoms, _ in self.parts)

    def mean(self) -> float:
        """Return E L."""
        total = sum(uses * atoms.mean() for atoms, uses in self.parts)
        return nextafter(total + abs(total) * ROUNDING, inf)

    def renyi(self, order: float) -> float:
        """Return the Rényi divergence of an order above 1; independent uses add up."""
        if self._endless():
            return inf
        total = sum(uses * atoms.log_moment(order - 1) for atoms, uses in self.parts) / (order - 1)
        return max(nextafter(total + abs(total) * ROUNDING, inf), 0.0)

    def zeta(self) -> float:
        """Return ln E exp|L| of all uses together; at most the sum of the single ones."""
        if self._endless():
            return inf
        sum_of_parts = sum(uses * atoms.log_mean_exp_size() for atoms, uses in self.parts)
        if self.single is not None:
            return sum_of_parts
        if self.infinite() > 0:
            return sum_of_parts * (1 + ROUNDING)
        on = self._lattice()
        # E exp|S| = E[exp S; S > 0] + E[exp -S; S <= 0], each at the tilt that makes it a probability.
        right, left = tilted(on, 1.0), tilted(on, -1.0)
        positive = float(np.sum(right.probabilities[right.values > 0])) + right.beyond + right.before
        negative = float(np.sum(left.probabilities[left.values <= 0])) + left.beyond + left.before
        scale = max(right.log_scale, left.log_scale, 0.0)
        total = positive * exp(right.log_scale - scale) + negative * exp(left.log_scale - scale)
        joint = scale + log(total) + (abs(scale) + 64) * ROUNDING * 4 + on.blur
        return min(sum_of_parts * (1 + ROUNDING), max(joint, 0.0))

    def delta(self, epsilon: float) -> float:
        """Return delta at `epsilon`."""
        if epsilon >= self.worst():
            return 0.0
        if self.infinite() >= 1:
            return 1.0
        if self.single is not None:
            return self._direct(self.single).delta(epsilon)
        return self._curve_at(epsilon).delta(epsilon)

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon whose delta is at most `delta`."""
        worst = float(self.worst())
        worst = nextafter(worst, inf) if self.worst() > worst else worst
        if delta <= 0 or (isinf(worst) and delta <= self.infinite()):
            return worst
        if self.single is not None:
            return min(self._direct(self.single).epsilon(delta), worst)
        found = self._about(delta)
        for _ in range(_ROUNDS):
            tilt, curve = self._tilt_at(found), self._curve_at(found)
            answer = curve.epsilon(delta)
            if answer == -inf:  # it lies left of this curve: look where half the tilt has its centre
                found = max(self._lattice().moments(tilt / 2)[1], 0.0)
                continue
            centred = tilt * abs(self._lattice().moments(tilt)[1] - answer) < _NEAR
            found = answer
            if (centred or tilt == self._tilt_at(found)) and self.delta(found) <= delta:
                return min(found, worst)
        # The tilts of neighbouring answers kept changing places: step up until the check holds.
        step = max(found, 1e-3) * 2.0**-40
        while self.delta(found) > delta:
            found, step = found + step, 2 * step
        return min(found, worst)

    def tail(self, size: float) -> float:
        """Return P(|L| > size)."""
        values, masses, moved, rest = self._plain()
        # On an exact lattice a value is off by rounding only, and a tie is not above.
        limit = size - moved if moved else size * (1 + 4 * ROUNDING)
        total = float(np.sum(masses[np.abs(values) > limit])) * (1 + 64 * ROUNDING) + rest
        return min(total + self.infinite(), 1.0)

    def listed(self) -> tuple[Floats, Floats]:
        """Return the values of the loss and their masses; an infinite loss comes last."""
        values, masses, _, _ = self._plain()
        if self.single is None or self.infinite() > 0:
            # After a composition most places of the window hold nothing but a bound on errors, and of a loss
            # without an upper end a list holds only so many.
            kept = masses > _NOTHING * np.max(masses, initial=0.0)
            values, masses = values[kept], masses[kept]
        if self.infinite() > 0:
            return np.append(values, inf), np.append(masses, self.infinite())
        return values, masses

    def _plain(self) -> tuple[Floats, Floats, float, float]:
        """Return values and masses, how far values may have moved, and the mass outside the window."""
        if self.single is not None:
            return self.single.values, np.exp(self.single.log_masses), self.single.slack, 0.0
        if self.infinite() >= 1:
            return np.empty(0), np.empty(0), 0.0, 0.0
        plain = tilted(self._lattice(), 0.0)
        return plain.values, plain.probabilities, plain.lattice.drift, plain.beyond + plain.before

    def _lattice(self) -> Lattice:
        if "lattice" not in self._kept:
            self._kept["lattice"] = lattice(self.parts)
        return cast(Lattice, self._kept["lattice"])

    def _direct(self, single: Atoms) -> Curve:
        """Return delta(epsilon) of a single use."""
        if "direct" not in self._kept:
            self._kept["direct"] = Curve(single.values, single.log_masses, single.infinite)
        return cast(Curve, self._kept["direct"])

    def _curve_at(self, epsilon: float) -> Curve:
        """Return delta(epsilon) by the tilt whose centre is about `epsilon`; the last curve is kept."""
        tilt = self._tilt_at(epsilon)
        known = self._kept.get("curve")
        if not isinstance(known, tuple) or known[0] != tilt:
            known = (tilt, tilted(self._lattice(), tilt).curve(self.infinite()))
            self._kept["curve"] = known
        curve: Curve = known[1]
        return curve if epsilon >= curve.start else tilted(self._lattice(), 0.0).curve(self.infinite())

    def _tilt_at(self, epsilon: float) -> float:
        """Return about the tilt whose centre is `epsilon`."""
        return self._tilt(lambda total, mean, deviation, tilt: mean - epsilon)

    def _about(self, delta: float) -> float:
        """Return about the epsilon of `delta`, from the saddle point."""

        def excess(total: float, mean: float, deviation: float, tilt: float) -> float:
            tail = log(max(tilt * (1 + tilt) * deviation * 2.5, 1.0))
            return tilt * mean - total + tail + log(delta)

        return max(self._lattice().moments(self._tilt(excess))[1], 0.0)

    def _tilt(self, excess: Callable[[float, float, float, float], float]) -> float:
        """Return the tilt in [0, largest] where an increasing function of it passes 0, roughly.

        Any tilt is sound; a rough one costs a little accuracy only, and neighbours share it.
        """
        on = self._lattice()
        reach = max(int(factor.steps[-1] - factor.steps[0]) for factor in on.factors) * on.step
        largest = _LARGEST_POWER / max(reach, on.step)
        low, high = 0.0, largest
        while high - low > _ROUGHLY * max(high, 1e-6 * largest):
            middle = (low + high) / 2
            total, mean, variance = on.moments(middle)
            low, high = (middle, high) if excess(total, mean, sqrt(variance), middle) < 0 else (low, middle)
        return (low + high) / 2
