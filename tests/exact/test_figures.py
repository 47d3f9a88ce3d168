"""Figures for reading: an error bar is never shown shorter than it is."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.exact.figures import figure, figure_up


@given(st.fractions(0, 10**8, max_denominator=10**7), st.sampled_from([4, 6]))
def test_a_half_width_is_rounded_up_and_by_no_more_than_its_last_digit(half: Fraction, digits: int) -> None:
    shown = Fraction(figure_up(half, digits).replace(",", ""))
    assert half * (1 - Fraction(1, 10**12)) <= shown <= half * (1 + Fraction(1, 100)) + Fraction(1, 10**300)
    # Read as a nearest figure it is the same text, or one digit more.
    assert shown <= Fraction(figure(half, digits).replace(",", "")) * (1 + Fraction(1, 99)) + Fraction(
        1, 10**300
    )


@pytest.mark.parametrize(
    ("half", "digits", "text"),
    [
        (Fraction(2, 3), 6, "0.666667"),
        (Fraction(1, 3), 6, "0.333334"),
        (Fraction(5), 6, "5"),
        (12.341, 4, "12.35"),
        (Fraction(10**6, 3), 6, "333,334"),
        (0.1 + 0.2, 6, "0.3"),
        (Fraction(1, 30_000), 6, "3.34e-05"),
    ],
)
def test_half_widths_as_they_are_shown(half: Fraction | float, digits: int, text: str) -> None:
    assert figure_up(half, digits) == text
