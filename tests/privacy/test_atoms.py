"""Lists of losses: what is added up or moved is rounded to the safe side, and hardly."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import loss_oracle as oracle
from dovetail.privacy import privacy_loss
from dovetail.privacy.atoms import _mean_of, common_unit, log_sum_up, on_steps, on_values, spread
from loss_oracle import geometric_noises, never_below_and_close


@given(geometric_noises(), st.integers(1, 7))
def test_every_atom_of_a_loss_is_bounded_from_above_and_closely(noise, shift):
    atoms = privacy_loss(noise, sensitivity=shift).forward.parts[0][0]
    assert atoms.steps is not None
    assert atoms.unit is not None
    with mpmath.workdps(oracle.DIGITS):
        truth = oracle.loss_atoms(noise, shift)
        assert [int(step) * atoms.unit for step in atoms.steps] == sorted(truth)
        for value, log_mass, (exact, mass) in zip(
            atoms.values, atoms.log_masses, sorted(truth.items()), strict=True
        ):
            assert 0 <= mpmath.mpf(float(value)) - oracle.number(exact) <= 1e-13
            assert 0 <= mpmath.mpf(float(log_mass)) - mpmath.log(mass) <= 1e-12


@pytest.mark.parametrize(
    ("numbers", "unit"),
    [
        (["2/5", "4/5"], "2/5"),
        (["2/3", "1/2"], "1/6"),
        (["-6", "4"], "2"),
        (["0", "7/3"], "7/3"),
        (["0", "0"], None),
        (["1", "1/4503599627370496"], None),
        (["1", "1/4503599627370495"], "1/4503599627370495"),
    ],
)
def test_the_common_unit_is_the_largest_that_floats_can_count(numbers: list[str], unit: str | None) -> None:
    assert common_unit([Fraction(each) for each in numbers]) == (None if unit is None else Fraction(unit))


@given(st.lists(st.tuples(st.floats(-700, 3), st.floats(-40, 40)), min_size=1, max_size=30))
def test_a_sum_of_exponentials_is_bounded_from_above_and_closely(pairs):
    left, right = np.array(pairs).T
    with mpmath.workdps(40):
        exact = mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(a) + mpmath.mpf(b)) for a, b in pairs))
        assert 0 <= mpmath.mpf(log_sum_up(left, right)) - exact <= 1e-11


def test_equal_losses_become_one_atom_whose_mass_is_not_below_the_sum() -> None:
    steps, masses = np.array([2, -1, 2, 2, -1]), np.array([0.1, 0.2, 0.3, 0.15, 0.25])
    for made in (
        on_steps(steps, np.log(masses), Fraction(1, 3)),
        on_values(steps / 3.0, np.log(masses), Fraction(2, 3)),
    ):
        assert made.values.tolist() == pytest.approx([-1 / 3, 2 / 3])
        assert made.worst == Fraction(2, 3)
        with mpmath.workdps(40):
            for log_mass, listed in zip(made.log_masses, ([0.2, 0.25], [0.1, 0.3, 0.15]), strict=True):
                exact = mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(float(np.log(m)))) for m in listed))
                assert 0 <= mpmath.mpf(float(log_mass)) - exact <= 1e-14
    assert on_steps(steps, np.log(masses), Fraction(1, 3), infinite=0.01).worst == inf
    assert on_values(steps / 3.0, np.log(masses), Fraction(2, 3), infinite=0.01).worst == inf


@pytest.mark.parametrize("terms", [1, 1000, 2**17])
def test_the_error_of_a_mean_covers_every_order_in_which_its_terms_are_added(terms: int) -> None:
    """Added one by one, n terms of one sign lose at most n - 1 half units of the last place of their sum."""
    values, log_masses = np.linspace(1.0, 2.0, terms), np.full(terms, -np.log(terms))
    total, error = _mean_of(values, log_masses)
    least = 64 * 2.0**-53 + (terms - 1) * 2.0**-53
    assert total * least <= error <= total * 1000 * least
    turned, same = _mean_of(-values, log_masses)
    assert (turned, same) == (-total, error)


@pytest.mark.parametrize("size", [-5.0, -100.0, -700.0])
def test_many_equal_losses_of_tiny_mass_have_no_less_together(size: float) -> None:
    """Logs of tiny masses are large numbers, so each addition rounds away more."""
    log_masses = np.append(np.full(100, size), size - np.linspace(0, 5, 2000))
    for made in (
        on_steps(np.repeat([0, 1], [100, 2000]), log_masses, Fraction(1)),
        on_values(np.repeat([0.0, 0.7], [100, 2000]), log_masses, Fraction(7, 10)),
    ):
        with mpmath.workdps(40):
            for log_mass, listed in zip(made.log_masses, np.split(log_masses, [100]), strict=True):
                exact = mpmath.log(mpmath.fsum(mpmath.exp(mpmath.mpf(float(each))) for each in listed))
                assert 0 <= mpmath.mpf(float(log_mass)) - exact <= len(listed) * (1 - size) * 1e-15


@given(
    st.lists(
        st.tuples(st.floats(-3, 3), st.floats(0.01, 1)), min_size=1, max_size=12, unique_by=lambda p: p[0]
    )
)
def test_a_spread_keeps_the_masses_of_both_sides_and_moves_to_neighbours_only(pairs):
    """P's mass is kept, and Q's, of which P's is exp(loss) times as much: no more than rounding is added."""
    values, masses = np.array(sorted(pairs)).T
    atoms, step = on_values(values, np.log(masses / masses.sum()), 3.0), 0.25
    steps, logs = spread(atoms, step)
    assert set(steps.tolist()) <= {int(n) for v in values for n in (np.ceil(v / step) - 1, np.ceil(v / step))}
    with mpmath.workdps(40):
        before = [
            (mpmath.mpf(float(v)), mpmath.exp(float(m)))
            for v, m in zip(atoms.values, atoms.log_masses, strict=True)
        ]
        after = [(mpmath.mpf(int(k)) * step, mpmath.exp(float(m))) for k, m in zip(steps, logs, strict=True)]
        for sign in (0, 1):
            sums = [mpmath.fsum(m * mpmath.exp(-sign * v) for v, m in side) for side in (after, before)]
            assert abs(sums[0] - sums[1]) <= 1e-12 * sums[1]
        for epsilon in (-1, 0, 0.3, 1.7):
            deltas = [
                mpmath.fsum(m * -mpmath.expm1(epsilon - v) for v, m in side if v > epsilon)
                for side in (after, before)
            ]
            # The most that a spread can add, where a loss lies on epsilon and halfway between its neighbours.
            most = -mpmath.expm1(-step / 2) / (1 + mpmath.exp(-step / 2))
            assert never_below_and_close(deltas[0], deltas[1], relative=0, absolute=most * 1.01)
