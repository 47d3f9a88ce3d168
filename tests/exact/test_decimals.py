from decimal import Decimal
from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from dovetail.exact.decimals import decimal_text, exact_number, short, units_text

FINITE = st.builds(
    lambda above, twos, fives: Fraction(above, 2**twos * 5**fives),
    st.integers(-(10**40), 10**40),
    st.integers(0, 60),
    st.integers(0, 30),
)


@given(FINITE)
def test_a_finite_decimal_is_exact_and_has_no_exponent_and_no_idle_zero(value: Fraction) -> None:
    text = decimal_text(value)
    assert Fraction(text) == Fraction(exact_number(value)) == value
    assert set(text) <= set("-.0123456789")
    assert "." not in text or not text.endswith(("0", "."))


@given(FINITE, st.sampled_from([3, 7, 11, 10**9 + 7]))
def test_what_has_no_finite_decimal_stays_a_ratio(value: Fraction, prime: int) -> None:
    number = exact_number(value + Fraction(1, prime))
    assert isinstance(number, Fraction)
    assert decimal_text(number) == str(number)


def test_decimals_read_as_people_write_them() -> None:
    assert str(exact_number(Fraction(10))) == "10"
    assert exact_number(Fraction(0)) == Decimal(0)


@given(st.integers(0, 10**30), st.sampled_from((9, 18)))
def test_units_are_written_as_their_decimal(units: int, places: int) -> None:
    assert units_text(units, places) == decimal_text(Fraction(units, 10**places))


@example(Fraction(10**20 - 2**18), 1)
@given(st.fractions(Fraction(1, 10**20), 10**20), st.integers(1, 9))
def test_a_short_number_lies_on_its_side_and_within_a_unit_of_its_last_digit(
    value: Fraction, digits: int
) -> None:
    low, high = short(value, digits), short(value, digits, up=True)
    assert low <= value <= high
    assert high - low <= value * 10 * Fraction(1, 10**digits)
    assert len(Decimal(exact_number(low)).normalize().as_tuple().digits) <= digits
