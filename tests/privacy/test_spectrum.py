"""The transform of a sum of losses, against the distribution that was convolved term by term."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest

import dovetail as dv
from dovetail.privacy import spectrum
from dovetail.privacy.spectrum import Factor, transform

POINTS = 256


def factor(uses: int, **masses: float) -> Factor:
    """Return a factor of masses by step, as `m1=0.25` for a loss of -1 step."""
    steps = [int(name[1:]) * (-1 if name[0] == "m" else 1) for name in masses]
    order = np.argsort(steps)
    listed = np.log(np.array(list(masses.values())))
    return Factor(np.array(steps)[order], listed[order], uses)


def convolved(factors: list[Factor], tilt: float) -> np.ndarray:
    """Return the probabilities of the tilted sum modulo the number of points, in extended precision."""
    total = np.zeros(POINTS, np.longdouble)
    total[0] = 1
    for each in factors:
        weights = np.exp(each.log_masses.astype(np.longdouble) + np.longdouble(tilt) * each.steps)
        weights /= weights.sum()
        for _ in range(each.uses):
            total = sum(
                weight * np.roll(total, step) for step, weight in zip(each.steps, weights, strict=True)
            )
    return total


@contextmanager
def by(way: str) -> Iterator[mock.Mock]:
    """Use one way for every factor but the first."""
    other = getattr(spectrum, "_at_few" if way == "_at_all" else "_at_all")
    seen = mock.Mock(side_effect=getattr(spectrum, way))
    with mock.patch.multiple(spectrum, **{way: seen, other.__name__: seen}):
        yield seen


FACTORS = [
    factor(1, p0=0.5, p3=0.25, m2=0.25),
    factor(40, p1=0.7, m1=0.3),
    factor(7, p5=0.01, p0=0.98, m5=0.01),
]


@pytest.mark.parametrize("way", ["_at_all", "_at_few"])
@pytest.mark.parametrize("tilt", [0.0, 0.4, -0.2])
def test_both_ways_keep_their_bound_on_errors(tilt: float, way: str) -> None:
    with by(way) as used:
        product, error = transform(FACTORS, tilt, POINTS)
    assert used.call_count == len(FACTORS)
    found = np.fft.irfft(product, POINTS)
    # The way back errs too, by less than this.
    assert np.max(np.abs(found - convolved(FACTORS, tilt))) <= error + 1e-15
    assert error < 1e-12


def test_where_few_frequencies_are_left_they_are_reckoned_one_by_one() -> None:
    many = [factor(10**6, p1=0.5, m1=0.5), factor(3, p1=0.5, p2=0.5)]
    with mock.patch.object(spectrum, "_at_few", side_effect=spectrum._at_few) as few:
        transform(many, 0.0, 2**15)
    assert few.call_count == 1


def test_losses_that_no_lattice_holds_are_bounded_and_not_listed() -> None:
    coins = dv.privacy_loss(dv.Staircase("0.0577847")).compose(10**9)
    wide = coins.then(dv.privacy_loss(dv.Geometric(7), sensitivity=27_730)).compose(10**5)
    assert wide.above("0.07") == 1.0
    assert 0 < wide.epsilon_at(1e-6) <= wide.epsilon
    assert wide.zeta <= wide.epsilon
    with pytest.raises(dv.InvalidParameter, match="so few uses"):
        _ = wide.atoms


def test_a_sketch_of_many_atoms_is_short_and_keeps_mass_and_mean() -> None:
    """Moments that need not be exact are taken from it; whatever is grouped, the mass stays where it was."""
    steps = np.cumsum(1 + np.arange(20_000) % 3) - 7_000
    log_masses = -np.abs(steps) / 3_000.0
    places, totals = Factor(steps, log_masses, 1).sketch
    assert 2_000 < len(places) <= 4_097
    weights, masses = np.exp(totals), np.exp(log_masses)
    assert weights.sum() == pytest.approx(masses.sum(), rel=1e-12)
    assert (weights * places).sum() == pytest.approx((masses * steps).sum(), rel=1e-12)
    assert (weights * places**2).sum() == pytest.approx((masses * steps.astype(float) ** 2).sum(), rel=1e-3)
