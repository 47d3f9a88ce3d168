"""The loss of independent uses in one direction, P against Q, and every figure drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, expm1, floor, inf, isinf, log, log1p, nextafter
from typing import TYPE_CHECKING

import numpy as np

from dovetail.errors import InvalidParameter
from dovetail.exact import float_down, float_up

from .atoms import ROUNDING, Atoms, Floats, log_sum_up

if TYPE_CHECKING:
    from .curve import Curve
    from .fourier import Placed
    from .moment_bounds import MomentBounds
    from .profile import Profile

_NOTHING = 1e-12
_LARGEST_GAP = 4.0


@dataclass(frozen=True, eq=False)
class OneWay:
    """Losses of independent uses: pairs of atoms and how often they are used.

    Every figure is an upper bound.
    """

    parts: tuple[tuple[Atoms, int], ...]

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

    def unmatched(self) -> float:
        """Return the mass that Q gives to outcomes that P cannot give."""
        if any(atoms.unmatched >= 1 for atoms, _ in self.parts):
            return 1.0
        log_matched = sum(uses * log1p(-atoms.unmatched) for atoms, uses in self.parts)
        return min(-expm1(log_matched) * (1 + 64 * ROUNDING), 1.0)

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
        from .fourier import tilted

        # E exp|S| = E[exp S; S > 0] + E[exp -S; S <= 0], each at the tilt that makes it a probability.
        right, left = tilted(self._dominating, 1.0), tilted(self._dominating, -1.0)
        positive = float(np.sum(right.probabilities[right.values > 0])) + right.beyond + right.before
        negative = float(np.sum(left.probabilities[left.values <= 0])) + left.beyond + left.before
        scale = max(right.log_scale, left.log_scale, 0.0)
        total = positive * exp(right.log_scale - scale) + negative * exp(left.log_scale - scale)
        # What Q gives where P gives nothing counts, too: exp(zeta) is the sum of max(P²/Q, Q).
        total += self.unmatched() * exp(-scale)
        blur = max(right.lattice.blur, left.lattice.blur)
        joint = scale + log(total) + (abs(scale) + 64) * ROUNDING * 4 + blur
        return min(sum_of_parts * (1 + ROUNDING), max(joint, 0.0))

    def delta(self, epsilon: float) -> float:
        """Return delta at `epsilon`; it never grows with epsilon."""
        if epsilon >= self.worst():
            return 0.0
        if self.infinite() >= 1:
            return 1.0
        bounds = [self._profile.delta(epsilon), self._basic_delta(epsilon)]
        if self._moment_bounds is not None:
            bounds.append(self._moment_bounds.delta(epsilon))
        return min(bounds)

    def deltas(self, epsilons: Floats) -> Floats:
        """Return delta at each epsilon."""
        if self.single is None:
            return np.array([self.delta(float(epsilon)) for epsilon in epsilons])
        none = epsilons >= float_up(self.worst())
        return np.where(none, 0.0, _listed_curve(self.single).deltas(epsilons))

    def epsilon(self, delta: float) -> float:
        """Return the least epsilon whose delta is at most `delta`; it never grows with delta."""
        worst = float_up(self.worst())
        if delta >= 1:
            return 0.0
        if delta <= 0 or (isinf(worst) and delta <= self.infinite()):
            return worst
        bounds = [self._profile.epsilon(delta), self._basic_epsilon(delta), worst]
        if self._moment_bounds is not None:
            bounds.append(self._moment_bounds.epsilon(delta))
        return min(bounds)

    def _basic_delta(self, epsilon: float) -> float:
        """Return delta by basic composition: k times that of one use at epsilon/k.

        It is the better bound where the losses of a use are of sizes so different that no lattice holds them.
        """
        if self._one_use is None:
            return 1.0
        uses = self.parts[0][1]
        return min(uses * self._one_use.delta(epsilon / uses * (1 - ROUNDING)) * (1 + ROUNDING), 1.0)

    def _basic_epsilon(self, delta: float) -> float:
        """Return the epsilon of basic composition."""
        if self._one_use is None:
            return inf
        uses = self.parts[0][1]
        return uses * self._one_use.epsilon(delta / uses * (1 - 4 * ROUNDING)) * (1 + 4 * ROUNDING)

    def above(self, limit: Fraction) -> float:
        """Return P(L > limit)."""
        if limit >= self.worst():
            return 0.0
        if self.infinite() >= 1:
            return 1.0
        if self.single is not None:
            return _chance(self.single, limit, self.infinite())
        found, point = _beyond(self._rounded_up, limit, self.infinite())
        if self._rounded_up.finest.exact or point <= 0:
            return found
        # A chance above t is at most delta(t - gap)/(1 - exp(-gap)) for any gap; this one is about the best.
        tilt = self._composed.tilt_at(point)
        gap = min(log1p(1 / tilt) if tilt else _LARGEST_GAP, _LARGEST_GAP, point)
        return min(found, self.delta(point - gap) / -expm1(-gap) * (1 + ROUNDING), 1.0)

    def below(self, limit: Fraction) -> float:
        """Return P(L < limit)."""
        if self.infinite() >= 1:
            return 0.0
        if self.single is not None:
            return _chance(self.single, -limit, 0.0, mirrored=True)
        return _beyond(self._mirrored_up, -limit, 0.0)[0]

    def listed(self) -> tuple[Floats, Floats]:
        """Return the values of the loss and their masses; an infinite loss comes last."""
        values, masses = self._plain()
        if self.single is None or self.infinite() > 0:
            # After a composition most places of the window hold nothing but a bound on errors, and of a loss
            # without an upper end a list holds only so many.
            kept = masses > _NOTHING * np.max(masses, initial=0.0)
            values, masses = values[kept], masses[kept]
        if self.infinite() > 0:
            return np.append(values, inf), np.append(masses, self.infinite())
        return values, masses

    def _plain(self) -> tuple[Floats, Floats]:
        """Return values and masses of the finite losses."""
        if self.single is not None:
            return self.single.values, np.exp(self.single.log_masses)
        if self.infinite() >= 1:
            return np.empty(0), np.empty(0)
        from .fourier import tilted

        plain = tilted(self._dominating, 0.0)
        if not len(plain.probabilities):
            uses = sum(count for _, count in self.parts)
            raise InvalidParameter(
                "k", uses, "so few uses that their losses fit a list", "Ask for epsilon_at."
            )
        return plain.values, plain.probabilities

    @cached_property
    def _dominating(self) -> Placed:
        from .fourier import Placed, dominating

        return Placed(self.parts, dominating)

    @cached_property
    def _rounded_up(self) -> Placed:
        from .fourier import Placed, rounded_up

        return Placed(self.parts, rounded_up)

    @cached_property
    def _mirrored_up(self) -> Placed:
        from .fourier import Placed, mirrored_up

        return Placed(self.parts, mirrored_up)

    @cached_property
    def _profile(self) -> Profile | Curve:
        """delta(epsilon): of a single use from its list, of several by a ladder of tilts."""
        if self.single is not None:
            return _listed_curve(self.single)
        return self._composed

    @cached_property
    def _composed(self) -> Profile:
        from .profile import Profile

        return Profile(self._dominating, self.infinite())

    @cached_property
    def _moment_bounds(self) -> MomentBounds | None:
        """The bounds by moments, where some are known better than their list tells."""
        if not any(atoms.tighter for atoms, _ in self.parts) or self._endless():
            return None
        from .moment_bounds import MomentBounds

        return MomentBounds.of(self.renyi)

    @cached_property
    def _one_use(self) -> Curve | None:
        """delta(epsilon) of one of several uses, where all are alike."""
        return _listed_curve(self.parts[0][0]) if self.single is None and len(self.parts) == 1 else None


def _listed_curve(atoms: Atoms) -> Curve:
    from .curve import Curve

    return Curve(atoms.values, atoms.log_masses, atoms.infinite)


def _beyond(losses: Placed, limit: Fraction, infinite: float) -> tuple[float, float]:
    """Return the chance that a sum of losses is above a limit, and the float that stood for the limit."""
    from .profile import Profile

    # On an exact lattice a value is off by rounding only, and a tie is not above.
    more = abs(limit) * Fraction(4 * ROUNDING)
    point = float(limit + more) if losses.finest.exact else float_down(limit)
    return Profile(losses, infinite).above(point), point


def _chance(atoms: Atoms, limit: Fraction, infinite: float, *, mirrored: bool = False) -> float:
    """Return the chance that a single loss (mirrored: its negative) is above a limit."""
    if atoms.steps is not None and atoms.unit is not None and atoms.ranges is None:
        steps = -atoms.steps if mirrored else atoms.steps
        masses = atoms.log_masses[steps > floor(limit / atoms.unit)]
    else:
        ranges = atoms.all_ranges().mirrored() if mirrored else atoms.all_ranges()
        masses = ranges.log_masses[ranges.high > float_down(limit)]
    if not len(masses):
        return min(infinite, 1.0)
    total = log_sum_up(masses, np.zeros_like(masses))
    return min(nextafter(exp(total) * (1 + 8 * ROUNDING) + infinite, inf), 1.0)
