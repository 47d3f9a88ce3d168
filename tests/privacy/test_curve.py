"""delta(epsilon) of a list of losses, its inverse and its tail, against sums in 40 digits."""

from __future__ import annotations

from math import exp, inf, nextafter

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.privacy.curve import Curve
from loss_oracle import never_below_and_close

atoms = st.lists(
    st.tuples(st.floats(-5, 5, allow_subnormal=False), st.floats(-60, 0)),
    min_size=1,
    max_size=12,
    unique_by=lambda pair: pair[0],
).map(sorted)


def exact_delta(pairs: list[tuple[float, float]], constant: float, epsilon: float) -> mpmath.mpf:
    at = mpmath.mpf(epsilon)
    terms = (mpmath.exp(mpmath.mpf(m)) * -mpmath.expm1(at - mpmath.mpf(v)) for v, m in pairs if v > epsilon)
    return min(mpmath.fsum(terms) + mpmath.mpf(constant), mpmath.mpf(1))


def curve(pairs: list[tuple[float, float]], constant: float, start: float = -inf) -> Curve:
    values, masses = np.array(pairs).reshape(-1, 2).T
    return Curve(values, masses, constant, start)


@given(atoms, st.sampled_from([0.0, 1e-9, 0.25]), st.floats(-6, 6))
def test_delta_and_the_tail_are_never_below_the_sums_and_close(pairs, constant, epsilon):
    found = curve(pairs, constant)
    with mpmath.workdps(40):
        assert never_below_and_close(found.delta(epsilon), exact_delta(pairs, constant, epsilon))
        tail = mpmath.fsum(mpmath.exp(mpmath.mpf(m)) for v, m in pairs if v > epsilon)
        assert never_below_and_close(found.above(epsilon), min(tail + mpmath.mpf(constant), mpmath.mpf(1)))
    assert found.deltas(np.array([epsilon, pairs[0][0]])).tolist() == [
        found.delta(epsilon),
        found.delta(pairs[0][0]),
    ]


@given(atoms, st.sampled_from([0.0, 1e-9, 0.25]), st.floats(1e-20, 1), st.sampled_from([-inf, 0.5]))
def test_epsilon_is_the_least_that_keeps_delta(pairs, constant, delta, start):
    found = curve(pairs, constant, start).epsilon(delta)
    least = max(start, 0.0)
    with mpmath.workdps(40):
        if found == inf:
            assert exact_delta(pairs, constant, 6.0) >= delta * (1 - 1e-9)
            return
        assert found >= least
        assert exact_delta(pairs, constant, found) <= delta
        lower = found - 1e-9 - found * 1e-9
        if lower > least:
            assert exact_delta(pairs, constant, lower) > delta * (1 - mpmath.mpf("1e-8"))


def test_a_curve_without_losses_is_its_constant() -> None:
    empty = Curve(np.empty(0), np.empty(0), 0.25, 0.5)
    assert empty.delta(1) == empty.above(1) == 0.25
    assert [empty.epsilon(delta) for delta in (0.2, 0.25, 0.3, 1.0)] == [inf, 0.5, 0.5, 0.5]


def test_a_delta_of_the_whole_mass_needs_no_epsilon_to_the_last_digit() -> None:
    """One of these is the mass itself: the epsilon that is looked for lies endlessly far to the left."""
    one = curve([(1.0, -2.0)], 0.0)
    delta = exp(-2.0) * (1 + one._excess) * (1 - 2.0**-48)
    for _ in range(200):
        delta = nextafter(delta, 1)
        assert one.epsilon(delta) == 0


@pytest.mark.parametrize("delta", [0.1, 0.3])
def test_no_epsilon_keeps_a_delta_that_the_constant_uses_up(delta: float) -> None:
    assert curve([(1.0, -0.5)], 0.3).epsilon(delta) == inf
    assert curve([(1.0, -0.5)], 0.3).epsilon(1.0) == 0
