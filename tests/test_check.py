"""Parameters are read exactly or refused by name; nothing is clamped or guessed."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail import check
from dovetail.errors import InvalidParameter

readable = "must be a finite number of at most 400 digits"


def kind(value: object) -> str:
    """Name a case by its type: some values are too long for a name."""
    return type(value).__name__


@given(st.fractions(max_denominator=10**30))
def test_exact_numbers_stay_exact(value: Fraction) -> None:
    assert check.rational("x", value) == check.rational("x", str(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_decimal_it_prints_as(value: float) -> None:
    assert check.rational("x", value) == Fraction(repr(value))
    assert float(check.rational("x", value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=5))
def test_decimals_are_exact(value: Decimal) -> None:
    assert check.rational("x", value) == Fraction(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [(" 1 ", 1), ("+.5", Fraction(1, 2)), ("5.", 5), ("-1e-3", Fraction(-1, 1000)), ("2/6", Fraction(1, 3))],
)
def test_plain_numbers_in_text_are_read(text: str, value: Fraction) -> None:
    assert check.rational("x", text) == value


@pytest.mark.parametrize("value", [np.float32(0.1), np.float64(0.1), np.array(0.1), np.float16(0.1)])
def test_numpys_scalars_are_decimals_too(value: object) -> None:
    assert check.rational("x", value) == Fraction(1, 10)


@pytest.mark.parametrize("value", [np.int8(3), np.uint64(3), np.array(3)])
def test_numpys_integers_are_integers(value: object) -> None:
    assert check.integer("x", value) == 3


@pytest.mark.parametrize(
    "value",
    [
        *(nan, inf, -inf, True, np.bool_(True), None, 1j, [], [1], np.array([1.0]), np.array([1, 2]), b"1"),
        *(
            "",
            " ",
            "x",
            "nan",
            "inf",
            "1_0",
            "１",
            "٣",
            "0x1",
            "1e",
            "--1",
            "1/0",
            "1/-2",
            "1/2/3",
            "1e1/2",
            "\t1",
        ),
        *("1e401", "1e-401", "9" * 401, "1/" + "9" * 401, 10**401, Fraction(1, 10**401), "1.5e-400"),
        *(Decimal("nan"), Decimal("sNaN"), Decimal("inf"), Decimal("1e99999999")),
    ],
    ids=kind,
)
def test_anything_else_is_refused_by_name(value: object) -> None:
    with pytest.raises(InvalidParameter) as caught:
        check.rational("epsilon", value, "Give 1.")
    assert str(caught.value).startswith("epsilon=")
    assert readable in str(caught.value)
    assert str(caught.value).endswith(" Give 1.")


@pytest.mark.parametrize(
    "value",
    ["1e99999999", "1e-99999999", "9" * 10**7, "1/" + "9" * 10**6, 10**100000, Decimal("1e99999999")],
    ids=kind,
)
def test_hostile_sizes_are_refused_before_they_cost_anything(value: object) -> None:
    # Whoever computed such a number first would not end here, or not for minutes.
    with pytest.raises(InvalidParameter):
        check.rational("epsilon", value)


@pytest.mark.parametrize(
    "value", ["1e400", "1e-400", "9" * 400, 10**400, Fraction(10**400 - 1, 10**400)], ids=kind
)
def test_the_caps_themselves_are_allowed(value: object) -> None:
    assert check.rational("x", value) > 0


@pytest.mark.parametrize("value", [0, -1, "0", -0.0, "-1e-400"])
def test_positive_excludes_zero(value: object) -> None:
    with pytest.raises(InvalidParameter, match=r"^sigma=.* must be a finite number above 0\. Try 1\.$"):
        check.positive("sigma", value, "Try 1.")


def test_ranges_include_their_ends_as_decimals() -> None:
    assert check.within("x", "0.1", 0.1, 0.3) == Fraction(1, 10)
    assert check.within("x", 0.3, 0.1, 0.3) == Fraction(3, 10)
    with pytest.raises(InvalidParameter, match=r"^x=0\.31 must be a number from 0\.1 to 0\.3\.$"):
        check.within("x", 0.31, 0.1, 0.3)


@pytest.mark.parametrize("value", [0, 1, "1.0", -0.5, 2])
def test_probabilities_exclude_their_ends(value: object) -> None:
    with pytest.raises(InvalidParameter, match=r"between 0 and 1, both excluded"):
        check.probability("beta", value)
    assert check.probability("beta", "1e-399") > 0


def test_integers_say_their_limits() -> None:
    assert check.integer("k", 3.0) == 3
    assert check.integer("k", "4e2", 1, 400) == 400
    for arguments, allowed in (
        ((None, None), "a whole number"),
        ((2, None), "a whole number of at least 2"),
        ((None, 2), "a whole number of at most 2"),
        ((1, 2), "a whole number from 1 to 2"),
    ):
        with pytest.raises(InvalidParameter, match=rf"^k=1\.5 must be {allowed}\.$"):
            check.integer("k", 1.5, *arguments)
    for value, arguments in ((1, (2, None)), (3, (None, 2)), (0, (1, 2)), (3, (1, 2))):
        with pytest.raises(InvalidParameter):
            check.integer("k", value, *arguments)


@pytest.mark.parametrize("value", ["b", "", "A", None, 1, ["a"]])
def test_a_choice_lists_its_words(value: object) -> None:
    assert check.choice("mode", "a", ["a", "z"]) == "a"
    with pytest.raises(InvalidParameter, match=r"^mode=.* must be one of 'a', 'z'\.$"):
        check.choice("mode", value, ["a", "z"])
