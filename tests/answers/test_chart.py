"""Numbers with their error bars in text: what is shown is an interval that holds, too."""

from __future__ import annotations

import re
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dovetail.answers.chart import Line
from dovetail.answers.ranges import RangeEstimate


def shown_interval(text: str) -> tuple[Fraction, Fraction]:
    numbers = [Fraction(number.replace(",", "")) for number in re.findall(r"-?[\d.,]+(?:e[-+]\d+)?", text)]
    if "±" in text:
        value, half = numbers
        return value - half, value + half
    _, low, high = numbers
    return low, high


@given(
    st.fractions(-(10**7), 10**7, max_denominator=1000),
    st.fractions(Fraction(1, 1000), 10**4, max_denominator=1000),
    st.fractions(Fraction(1, 1000), 10**4, max_denominator=1000),
    st.booleans(),
)
def test_the_interval_in_words_holds_as_the_interval_does_but_for_a_hundredth(
    value: Fraction, below: Fraction, above: Fraction, even: bool
) -> None:
    """A mean of 1,234,567.4 ± 0.2 that is shown as 1,234,567 ± 0.2 would be another interval."""
    low, high = value - below, value + (below if even else above)
    first, last = shown_interval(Line("a", value, low, high).amount())
    room = (high - low) / 100
    shown_even = "±" in Line("a", value, low, high).amount()
    assert first <= (low + room if shown_even else low)
    assert last >= (high - room if shown_even else high)
    # Ends that are as good as even are shown by the larger one.
    assert last - first <= high - low + 2 * room + Fraction(1, 10**8) * abs(high)


@given(
    st.fractions(-(10**9), 10**9, max_denominator=1000),
    st.fractions(0, 10, max_denominator=1000),
    st.booleans(),
)
def test_no_form_of_an_interval_is_shorter_than_it(value: Fraction, half: Fraction, whole: bool) -> None:
    """In a notebook, a mean from 1,234,567.6 to 1,234,568.4 was shown as 1,234,568 to 1,234,568."""
    low, high = (round(value - half), round(value + half)) if whole else (value - half, value + half)
    texts = (
        " ".join(Line("", value, low, high).figures()),
        str(RangeEstimate(value, low, high, Fraction(19, 20))).removesuffix("at 0.95)"),
        str(RangeEstimate(float(value), float(low), float(high), Fraction(19, 20))).removesuffix("at 0.95)"),
    )
    for text in texts:
        first, last = shown_interval(text)
        slack = abs(low) * Fraction(1, 10**11), abs(high) * Fraction(1, 10**11)
        assert first <= low + slack[0]
        assert last >= high - slack[1]


@given(
    st.fractions(-(10**15), 10**15, max_denominator=1000),
    st.fractions(Fraction(1, 100), 10**4, max_denominator=1000),
)
def test_no_interval_of_a_large_sum_is_shown_shorter(value: Fraction, half: Fraction) -> None:
    """A sum of 10^14 was shown from 77 above itself to 74 below: 10^-12 of each end was left out as dust."""
    low, high = value - half, value + 2 * half
    first, last = shown_interval(" ".join(Line("", value, low, high).figures()))
    # Beyond that, floats hold no more digits.
    dust = Fraction(1, 10**9) * (high - low) + Fraction(1, 10**15) * max(abs(low), abs(high))
    assert first <= low + dust
    assert last >= high - dust


def test_digits_are_as_many_as_the_error_bar_is_worth() -> None:
    half = Fraction(1, 5)
    large = Fraction("1234567.41")
    assert Line("a", large, large - half, large + half).amount() == "1,234,567.41 ± 0.2"
    assert (
        Line("a", large, large - half, large + 2 * half).amount()
        == "1,234,567.41 (1,234,567.21 to 1,234,567.81)"
    )
    wide = Fraction(1, 3)
    assert Line("a", wide, -wide, 3 * wide).amount() == "0.333333 ± 0.666667"
