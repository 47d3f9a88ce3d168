"""Losses of listed distributions, of which every figure is exact or above, and what is no distribution."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, Laplace
from dovetail.privacy.dominating_pairs import LatestLosses, atoms_from_pmfs, shift_atoms, shift_loss_of

shares = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=2, max_size=7).filter(
    lambda pairs: all(sum(column) > 0 for column in zip(*pairs, strict=True))
)


@given(shares, st.sampled_from([0, 200, 900]))
def test_every_loss_and_mass_is_bounded_from_above_and_closely(pairs, small):
    """A mass that is too small for a float, 2^-900, has a logarithm all the same."""
    first, second = ([Fraction(each) for each in column] for column in zip(*pairs, strict=True))
    first = [each / 2**small if number else each + 1 for number, each in enumerate(first)]
    p, q = ([each / sum(listed) for each in listed] for listed in (first, second))
    with mpmath.workdps(40):
        for made, (mine, other) in zip(atoms_from_pmfs(p, q), ((p, q), (q, p)), strict=True):
            exact = sum((a for a, b in zip(mine, other, strict=True) if not b), Fraction(0))
            assert exact <= Fraction(made.infinite) <= exact * (1 + Fraction(1, 10**12))
            truth: dict[Fraction, Fraction] = {}
            for a, b in zip(mine, other, strict=True):
                if a and b:
                    truth[a / b] = truth.get(a / b, Fraction(0)) + a
            mass = mpmath.fsum(mpmath.exp(float(each)) for each in made.log_masses)
            total = mpmath.fsum(mpmath.mpf(a.numerator) / a.denominator for a in truth.values())
            assert 0 <= mass - total <= 1e-11
            if truth:
                ratio = max(truth)
                worst = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
                assert 0 <= mpmath.mpf(float(made.values[-1])) - worst <= 1e-11
            low = [mpmath.log(mpmath.mpf(r.numerator) / r.denominator) for r in truth]
            for value in made.values.tolist():
                assert min(abs(value - each) for each in low) <= made.slack


@pytest.mark.parametrize(
    ("p", "fits"),
    [
        ([0.5, 0.5], True),
        ([0.5, 0.5 - 1e-9], True),
        ([0.5, Fraction(1, 2) + Fraction(1, 10**9)], True),
        ([0.5, 0.5 - 1.1e-9], False),
        ([0.5, 0.5 + 1e-8], False),
        ([1.5, -0.5], False),
        ([0.5, 0.25, 0.25], False),
        ({"a": 0.5, "b": 0.5}, False),
        (np.full((2, 1), 0.5), False),
    ],
)
def test_masses_sum_to_one_but_for_a_billionth(p: object, fits: bool) -> None:
    if fits:
        made, _ = atoms_from_pmfs(p, [0.5, 0.5])  # type: ignore[arg-type]
        # What is missing or too much is shared by all.
        with mpmath.workdps(40):
            total = mpmath.fsum(mpmath.exp(float(each)) for each in made.log_masses)
            assert 0 <= total - 1 <= 1e-13
    else:
        with pytest.raises(InvalidParameter):
            atoms_from_pmfs(p, [0.5, 0.5])  # type: ignore[arg-type]


def test_a_sensitivity_is_as_large_as_numbers_hold_and_whole_for_whole_noise() -> None:
    assert shift_atoms(Geometric(1), 2**62).worst == 2**62
    assert shift_atoms(Laplace(1), "0.5").worst == Fraction(1, 2)
    for noise, wrong in ((Geometric(1), 2**62 + 1), (Geometric(1), "0.5"), (Laplace(1), 10**301), (5, 1)):
        with pytest.raises(InvalidParameter):
            shift_atoms(noise, wrong)  # type: ignore[arg-type]


def test_an_outcome_too_rare_for_a_float_still_has_an_infinite_loss() -> None:
    rare = Fraction(1, 10**400)
    forward, backward = atoms_from_pmfs([1 - rare, rare], [1, 0])
    assert (forward.infinite, forward.worst) == (5e-324, float("inf"))
    assert backward.infinite == 0


def test_the_latest_losses_are_kept_as_long_as_they_fit_into_their_bytes() -> None:
    one = shift_loss_of(DiscreteGaussian(50), Fraction(1)).nbytes
    kept = LatestLosses(3 * one + 100)
    noises = [DiscreteGaussian(50 - Fraction(number, 1000)) for number in range(5)]
    first = kept.of(noises[0], Fraction(1))
    for noise in noises[1:3]:
        kept.of(noise, Fraction(1))
    assert kept.of(noises[0], Fraction(1)) is first, "asked for again, it is the latest"
    for noise in noises[3:]:
        kept.of(noise, Fraction(1))
        assert kept.nbytes <= 3 * one + 100
    assert kept.of(noises[0], Fraction(1)) is first
    assert kept.nbytes == 3 * one
    wide = kept.of(DiscreteGaussian(5000), Fraction(1))
    assert wide.nbytes > 10 * one
    assert kept.nbytes == 0, "a loss larger than all bytes is given and not kept"
