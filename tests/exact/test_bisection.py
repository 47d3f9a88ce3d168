"""The search for the least point, against a plain walk."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dovetail.exact.bisection import bracket, least_float, least_whole


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


@given(st.floats(1e-9, 1e9), st.sampled_from([0.0, 1e-9, 1e-3]), st.booleans())
def test_a_bracket_holds_the_point_and_is_as_close_as_asked(
    goal: float, close: float, by_ratio: bool
) -> None:
    asked = []
    below, above = bracket(
        1e-10, 1e10, lambda x: asked.append(x) or x >= goal, close=close, by_ratio=by_ratio
    )
    assert below < goal <= above
    assert above - below <= max(close * above, 1e-15 * above)
    assert len(asked) <= 200


def test_a_bracket_may_be_turned_over() -> None:
    above, below = bracket(5.0, -3.0, lambda x: x <= 1, close=1e-9)
    assert below <= 1 < above < 1 + 1e-8
