"""What lies outside of a window counts: in a curve with the tilt divided out, and in zeta."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp, log, prod
from types import SimpleNamespace
from typing import Any

import mpmath
import numpy as np
import pytest

from dovetail.noise import Geometric
from dovetail.privacy import fourier, privacy_loss
from dovetail.privacy.atoms import LossRanges, on_steps
from dovetail.privacy.composition import OneWay
from dovetail.privacy.fourier import LossLattice, Tilted
from dovetail.privacy.spectrum import Factor

LATTICE: Any = SimpleNamespace(step=0.5, blur=0.0)


def window(tilt: float, **outside: float) -> Tilted:
    """Return two sums, 2.0 and 2.5: their chances are exp(log_scale - tilt·sum) times the tilted ones."""
    given = {"log_scale": -1.0, "before": 0.0, "beyond": 0.0, "error": 0.0} | outside
    return Tilted(LATTICE, tilt, 4, np.array([0.25, 0.125]), **given)


@pytest.mark.parametrize("tilt", [0.0, 0.5, 3.0])
def test_a_curve_divides_the_tilt_out_of_masses_and_of_what_lies_beyond(tilt: float) -> None:
    real = {2.0: 0.25 * exp(-1.0 - tilt * 2.0), 2.5: 0.125 * exp(-1.0 - tilt * 2.5)}
    at_most = exp(-1.0 - tilt * 2.5)  # of one unit of tilted mass at 2.5 or beyond
    for beyond in (0.0, 1e-3):
        curve = window(tilt, beyond=beyond).curve(1e-4, 0.0)
        for epsilon in (0.0, 1.0, 2.25, 4.0):
            seen = sum(p * (1 - exp(epsilon - value)) for value, p in real.items() if value > epsilon)
            assert curve.delta(epsilon) == pytest.approx(1e-4 + seen + beyond * at_most, rel=1e-9)


@pytest.mark.parametrize("step", [0.1, 1 / 3, 2.0**-20])
def test_the_sums_of_a_window_are_no_less_than_multiples_of_the_step(step: float) -> None:
    lattice: Any = SimpleNamespace(step=step)
    found = Tilted(lattice, 0.0, -7, np.full(40, 0.025), 0.0, before=0.0, beyond=0.0, error=0.0).values
    for place, value in enumerate(found.tolist(), start=-7):
        exact = place * Fraction(step)
        assert 0 <= Fraction(value) - exact <= abs(exact) * Fraction(1, 2**48)


@pytest.mark.parametrize("tilt", [0.0, 0.3, 45.0])
@pytest.mark.parametrize("log_scale", [0.0, -3.7, 250.0])
def test_no_mass_of_a_curve_is_less_than_that_of_the_window(tilt: float, log_scale: float) -> None:
    lattice: Any = SimpleNamespace(step=0.1)
    chances = np.linspace(0.01, 0.05, 40)
    outside = {"before": 0.0, "beyond": 0.0, "error": 0.0}
    curve = Tilted(lattice, tilt, -7, chances, log_scale=log_scale, **outside).curve(0.0, -10.0)
    assert len(curve.values) == 40
    with mpmath.workdps(40):
        for chance, value, log_mass in zip(chances, curve.values, curve.log_masses, strict=True):
            power = log_scale - mpmath.mpf(tilt) * mpmath.mpf(float(value))
            room = mpmath.mpf(float(log_mass)) - mpmath.log(mpmath.mpf(float(chance))) - power
            assert 0 <= room <= (abs(log_scale) + abs(power) + 10) * mpmath.mpf(2) ** -46


@pytest.mark.parametrize(("tilt", "start"), [(0.5, 1.0), (3.0, 1.0), (3.0, 0.5)])
def test_what_lies_before_a_window_weighs_as_much_as_at_the_start(tilt: float, start: float) -> None:
    curve = window(tilt, before=1e-3).curve(0.0, start)
    assert curve.delta(4.0) == pytest.approx(1e-3 * exp(-1.0 - tilt * start), rel=1e-9)


@pytest.mark.parametrize("tilt", [0.0, 0.7, -1.5])
def test_moments_and_ends_of_a_lattice_are_those_of_its_sums(tilt: float) -> None:
    """Two losses of one kind and three of another: all sums, one by one."""
    kinds = [({-2: 0.3, 1: 0.5, 4: 0.2}, 2), ({0: 0.9, 3: 0.1}, 3)]
    factors = [Factor(np.array(list(law)), np.log(list(law.values())), uses) for law, uses in kinds]
    lattice = LossLattice(0.25, tuple(factors))
    drawn = list(product(*(law.items() for law, uses in kinds for _ in range(uses))))
    sums = np.array([sum(step for step, _ in draw) for draw in drawn]) * 0.25
    masses = np.array([prod(mass for _, mass in draw) for draw in drawn]) * np.exp(tilt * sums)
    total, weights = masses.sum(), masses / masses.sum()
    mean = weights @ sums
    assert lattice.moments(tilt) == pytest.approx((log(total), mean, weights @ (sums - mean) ** 2))
    assert lattice.log_moment(tilt) == pytest.approx(log(total))
    assert lattice.support == (sums.min() / 0.25, sums.max() / 0.25)
    assert lattice.widest == 6 * 0.25


@pytest.mark.parametrize(("tilt", "edge", "rough"), [(0.0, 12, 0.8), (0.5, 14, 0.6), (-0.3, -3, -0.9)])
def test_what_is_left_out_is_bounded_from_above(tilt: float, edge: int, rough: float) -> None:
    """Chernoff's bound at five further tilts, in 40 digits: the least of them, and no less."""
    law = {-2: 0.3, 1: 0.5, 4: 0.2}
    lattice = LossLattice(0.3, (Factor(np.array(list(law)), np.log(list(law.values())), 4),))
    with mpmath.workdps(40):

        def log_moment(at: mpmath.mpf) -> mpmath.mpf:
            masses = zip(law, np.log(list(law.values())).tolist(), strict=True)
            return 4 * mpmath.log(mpmath.fsum(mpmath.exp(m + at * mpmath.mpf(0.3) * k) for k, m in masses))

        further = [mpmath.mpf(rough) * scale for scale in (1.0, 0.75, 0.5, 0.25, 1.5)]
        start = mpmath.mpf(tilt)
        exact = min(
            log_moment(start + more) - log_moment(start) - more * edge * mpmath.mpf(0.3) for more in further
        )
        assert -42 < exact < 0
        assert 0 <= fourier._chernoff(lattice, tilt, edge, rough) - exact < 1e-10


@pytest.mark.parametrize("outside", ["before", "beyond"])
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_zeta_counts_what_lies_outside_of_both_windows(
    monkeypatch: pytest.MonkeyPatch, outside: str, side: float
) -> None:
    """E exp|S| is the mass of positive sums at a tilt of 1 and that of the others at -1, each scaled back."""
    scale = log(2)

    def tilted(losses: Any, tilt: float) -> Tilted:
        given = {"before": 0.0, "beyond": 0.0, "error": 0.0}
        if tilt == side:
            given[outside] = 0.03125
        probabilities = np.array([0.5, 0.25, 0.125])  # at -0.5, 0 and 0.5
        return Tilted(LATTICE, tilt, -1, probabilities, log_scale=scale, **given)

    loss = privacy_loss(Geometric(1)).compose(3)
    monkeypatch.setattr(fourier, "tilted", tilted)
    whole = 0.125 + 0.5 + 0.25 + 0.03125
    assert loss.zeta == pytest.approx(log(whole * 2), abs=1e-9)


@pytest.mark.parametrize("turned", [False, True])
def test_losses_that_stand_for_ranges_count_at_their_ends_beside_exact_ones(turned: bool) -> None:
    """Half of the mass of a range stands at each end for delta, but all of it may be at either."""
    half = np.log([0.5, 0.5])
    exact = on_steps(np.array([0, 1]), half, Fraction(1))
    ranged = replace(
        on_steps(np.array([0, 2]), half, Fraction(1)),
        ranges=LossRanges(np.array([0.0]), np.array([2.0]), np.array([0.0])),
    )
    loss = OneWay(((ranged, 1), (exact, 1)))
    # The range at its upper end: a sum above 2.5 whenever the other loss is 1. At its lower end: below 0.5.
    chance = loss.below(Fraction(1, 2)) if turned else loss.above(Fraction(5, 2))
    assert 0.5 <= chance < 0.51
