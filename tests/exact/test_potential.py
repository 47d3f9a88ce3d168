"""The potential is exact, even, continuous and piecewise linear."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dovetail.exact import Potential
from strategies import pieces, real_breaks


@given(pieces(breaks=real_breaks), st.fractions(min_value=-(10**6), max_value=10**6))
def test_phi_is_the_sum_of_rate_times_length(both: tuple, x: Fraction) -> None:
    rates, breaks = both
    phi = Potential(tuple(rates), tuple(breaks))
    edges = [Fraction(0), *breaks, max(abs(x), breaks[-1] if breaks else 0) + 1]
    expected = sum(
        rate * max(0, min(abs(x), high) - low)
        for rate, low, high in zip(rates, edges, edges[1:], strict=False)
    )
    assert phi(x) == phi(-x) == expected


def test_a_break_starts_the_piece_after_it() -> None:
    phi = Potential((Fraction(1), Fraction(2)), (Fraction(5),))
    assert [phi.piece(Fraction(x)) for x in (4, 5, -5, 6)] == [0, 1, 1, 1]
    assert phi.levels == (0, 5)
