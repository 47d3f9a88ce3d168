"""The search for the least point, against a plain walk."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.exact.bisection import least_float, least_whole


@given(st.integers(0, 10**40), st.integers(-5, 10**40))
def test_the_least_whole_number_is_found_from_any_start_in_few_steps(goal: int, start: int) -> None:
    asked = []
    assert least_whole(start, lambda k: asked.append(k) or k >= goal) == goal
    assert len(asked) <= 300
    assert min(asked) >= 0


@given(st.floats(0, 1e308), st.floats(0, 1e308))
def test_the_least_float_is_found_from_any_start_in_few_steps(goal: float, start: float) -> None:
    asked = []
    assert least_float(start, lambda t: asked.append(t) or t >= goal) == goal
    assert len(asked) <= 140
    assert np.isfinite(asked).all()


def test_where_nothing_holds_the_least_float_is_infinite() -> None:
    assert least_float(1.0, lambda t: False) == np.inf
