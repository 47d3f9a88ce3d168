"""Noises of several families, each as small as one and the same guarantee allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import dovetail as dv

from .mechanisms import FIVE

GRID = 10**7


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What all uses together must keep to: worst-case epsilon if delta is None, else (epsilon, delta)."""

    epsilon: str
    delta: str | None
    uses: int

    def met_by(self, noise: dv.noise.IntegerNoise) -> bool:
        """Say whether `uses` answers with this noise keep to it."""
        total = dv.privacy_loss(noise).compose(self.uses)
        if self.delta is None:
            return total.worst <= Fraction(self.epsilon)
        return total.delta(self.epsilon) <= Fraction(self.delta)

    @property
    def sense(self) -> str:
        """The sense in which privacy is equal, in words."""
        small = "worst case" if self.delta is None else f"δ = {self.delta}"
        return f"ε = {self.epsilon} in all ({small}), k = {self.uses}"


@dataclass(frozen=True, slots=True)
class Rival:
    """A noise that meets a guarantee, and what it costs in every sense."""

    family: str
    noise: dv.noise.IntegerNoise
    worst_case: float
    zeta: float
    """Of one use; the sum over the uses bounds the whole."""


def rivals(guarantee: Guarantee) -> tuple[Rival, ...]:
    """Return the least noise of each family; the Gaussian is missing where the worst case counts.

    >>> [rival.family for rival in rivals(Guarantee("1", None, 1))]
    ['geometric', 'geometric mixture', 'two pieces', 'designed']
    """
    noises = {
        "geometric": steepest(guarantee.met_by, dv.Geometric),
        "geometric mixture": steepest(guarantee.met_by, paper_shape),
    }
    if guarantee.delta is not None:
        noises["discrete Gaussian"] = steepest(guarantee.met_by, lambda rate: dv.DiscreteGaussian(1 / rate))
    for family, pieces in (("two pieces", 2), ("designed", 8)):
        designed = dv.design(
            epsilon=guarantee.epsilon, delta=guarantee.delta, queries=guarantee.uses, pieces=pieces
        )
        noises[family] = designed.noise
    return tuple(_priced(family, noise, guarantee) for family, noise in noises.items())


def paper_shape(outer: Fraction) -> dv.noise.IntegerNoise:
    """Return the mixture {5, 1/5, 1} of the paper, stretched until its outer rate is `outer`."""
    return dv.GeometricMixture(outer * Fraction(FIVE.inner), outer, max(1, round(FIVE.break_point / outer)))


def steepest(
    holds: Callable[[dv.noise.IntegerNoise], bool],
    make: Callable[[Fraction], dv.noise.IntegerNoise],
    *,
    most: int = 20,
    close: Fraction = Fraction(0),
) -> dv.noise.IntegerNoise:
    """Return the noise of the largest rate up to `most` for which a claim holds, on a grid of 1e-7.

    The search ends once it is `close` beside the rate.

    >>> steepest(Guarantee("1", None, 10).met_by, dv.Geometric)
    PiecewiseGeometric(rates=('0.1',))
    """
    low, high = 1, most * GRID
    while high - low > 1 and high - low > low * close:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(make(Fraction(middle, GRID))) else (low, middle)
    return make(Fraction(low, GRID))


def _priced(family: str, noise: dv.noise.IntegerNoise, guarantee: Guarantee) -> Rival:
    loss = dv.privacy_loss(noise)
    if not guarantee.met_by(noise):
        raise AssertionError(f"the {family} noise misses {guarantee.sense}")
    return Rival(family, noise, loss.compose(guarantee.uses).epsilon, loss.zeta)
