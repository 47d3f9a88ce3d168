"""How a noise is described: what is read, what is refused, and that nothing is lost on the way back."""

from __future__ import annotations

import copy
import json
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail import noise as noise_package
from dovetail.errors import InvalidParameter
from dovetail.noise import (
    Geometric,
    GeometricMixture,
    Laplace,
    LaplaceMixture,
    Noise,
    PiecewiseGeometric,
    PiecewiseLaplace,
    RoundedLaplace,
    from_dict,
)
from strategies import noises, pieces, rates, spelled

HOSTILE = [
    0,
    -1,
    -0.5,
    0.0,
    nan,
    inf,
    -inf,
    True,
    False,
    None,
    "",
    "abc",
    "nan",
    "inf",
    "1_0",
    "１",  # a full-width digit
    "٣",
    "0x10",
    "1,5",
    "1e99999999",
    "1e-99999999",
    "1e401",
    "1/0",
    "1/2/3",
    "9" * 5000,
    "0." + "9" * 5000,
    10**5000,
    Fraction(1, 10**5000),
    Fraction(10**5000 + 1, 10**5000),
    Decimal("NaN"),
    Decimal("Infinity"),
    Decimal("1e99999999"),
    1e308,
    "1e-101",
    1j,
    b"1",
    [],
    (1,),
    np.array([1.0]),
    np.array([1.0, 2.0]),
    np.bool_(True),
    object(),
]
MAKERS = [
    (lambda bad: Geometric(bad), "epsilon|rates"),
    (lambda bad: Laplace(bad), "epsilon|rates"),
    (lambda bad: GeometricMixture(bad, 1, 5), "inner|rates"),
    (lambda bad: GeometricMixture(0.2, bad, 5), "outer|rates"),
    (lambda bad: GeometricMixture(0.2, 1, bad), "break_point|breaks"),
    (lambda bad: LaplaceMixture(bad, 1, 5), "inner|rates"),
    (lambda bad: LaplaceMixture(0.2, bad, 5), "outer|rates"),
    (lambda bad: LaplaceMixture(0.2, 1, bad), "break_point|breaks"),
    (lambda bad: PiecewiseGeometric((0.2, bad), (5,)), "rates"),
    (lambda bad: PiecewiseLaplace((0.2, 1), (bad,)), "breaks"),
]


@pytest.mark.parametrize("bad", HOSTILE, ids=lambda bad: str(type(bad).__name__))
@pytest.mark.parametrize(("make", "name"), MAKERS)
def test_hostile_numbers_are_refused_with_what_was_given_allowed_and_to_do(
    make, name: str, bad: object
) -> None:
    with pytest.raises(InvalidParameter) as caught:
        make(bad)
    message = str(caught.value)
    # what was given, what is allowed, what to do next
    assert re.match(rf"({name})=.+ must be a .+\. (Give|Round) .+\.$", message), message
    assert len(message) < 350
    assert isinstance(caught.value, ValueError)


def test_messages_read_as_intended() -> None:
    with pytest.raises(InvalidParameter) as caught:
        GeometricMixture(0.2, nan, 5)
    assert str(caught.value) == (
        "outer=nan must be a finite number of at most 400 digits (int, float, str, Decimal or Fraction). "
        "Give r·epsilon, the rate outside the break-point, for example 1.0."
    )
    with pytest.raises(InvalidParameter) as caught:
        GeometricMixture(0, 1, 5)
    assert str(caught.value) == (
        "inner=0 must be a finite number above 0. "
        "Give the paper's epsilon, the rate inside the break-point, for example 0.2."
    )
    with pytest.raises(InvalidParameter) as caught:
        GeometricMixture(0.2, 1, 4.5)
    assert str(caught.value) == (
        "break_point=4.5 must be a whole number of at least 1. Give the paper's c_t, for example 5."
    )
    with pytest.raises(InvalidParameter, match="rates=an integer of about 5000 digits must be"):
        PiecewiseGeometric((10**5000,))


@pytest.mark.parametrize(
    ("rates", "breaks", "message"),
    [
        ((), (), "rates=() must be 1 to 64 numbers"),
        ((1, 2), (), "breaks=() must be 1 numbers for 2 rates"),
        ((1,), (5,), "breaks=(5,) must be 0 numbers for 1 rates"),
        ((1, 2, 3), (5, 5), "breaks=(5, 5) must be strictly increasing"),
        ((1, 2, 3), (6, 5), "breaks=(6, 5) must be strictly increasing"),
        ((1, 2), ("5.5",), "breaks=('5.5',) must be whole numbers, for noise on the integers"),
        (1, (), "rates=1 must be a sequence of numbers"),
        ("12", (5,), "rates='12' must be a sequence of numbers"),
        ({1, 2}, (5,), "rates={1, 2} must be a sequence of numbers"),
        ({1: 2, 3: 4}, (5,), "rates={1: 2, 3: 4} must be a sequence of numbers"),
        ([1] * 65, (), "must be 1 to 64 numbers"),
        (range(1, 10**12), (), "must be at most 64 numbers"),
    ],
)
def test_pieces_that_do_not_fit_together_are_refused(rates: object, breaks: object, message: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        PiecewiseGeometric(rates, breaks)
    assert message in str(caught.value)


@settings(max_examples=100)
@given(st.lists(spelled(rates), min_size=2, max_size=2, unique_by=lambda pair: pair[0]))
def test_every_spelling_of_a_number_gives_the_same_exact_noise(two: list) -> None:
    (inner, spelled_inner), (outer, spelled_outer) = two
    noise = GeometricMixture(spelled_inner, spelled_outer, 5)
    assert noise == GeometricMixture(inner, outer, "5")
    assert noise.rates == (inner, outer)
    assert noise.breaks == (5,)
    assert all(type(rate) is Fraction for rate in noise.rates)
    assert all(type(point) is int for point in noise.breaks)


def test_a_float_means_the_decimal_that_it_prints_as() -> None:
    assert Laplace(0.1).rates == (Fraction(1, 10),)
    assert Laplace(np.float32(0.1)).rates == (Fraction(1, 10),)
    assert Laplace(0.1) == Laplace("0.1") == Laplace(Decimal("0.1")) == Laplace("1/10")


def test_neighbouring_pieces_of_one_rate_are_one_piece() -> None:
    assert PiecewiseGeometric((1, 1, 2, 2), (3, 5, 9)) == PiecewiseGeometric((1, 2), (5,))
    assert GeometricMixture(0.5, "1/2", 7) == Geometric(0.5)
    assert hash(GeometricMixture(0.5, "1/2", 7)) == hash(Geometric(0.5))


def test_kinds_are_never_equal_and_all_hash() -> None:
    three = [Geometric(1), Laplace(1), Laplace(1).rounded()]
    assert len(set(three)) == 3
    assert len({*three, Geometric("1"), Laplace(Fraction(1)), RoundedLaplace(Laplace(1.0))}) == 3


def test_a_noise_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Geometric(1).rates = ()  # type: ignore[misc]


@settings(max_examples=100, deadline=None)
@given(noises)
def test_a_noise_survives_repr_pickle_copy_and_json(noise: Noise) -> None:
    noise.cdf(1)  # what was worked out stays behind
    written = {name: getattr(noise_package, name) for name in noise_package.__all__}
    for again in (
        eval(repr(noise), written),
        pickle.loads(pickle.dumps(noise)),
        copy.deepcopy(noise),
        from_dict(json.loads(json.dumps(noise.to_dict()))),
    ):
        assert again == noise
        assert hash(again) == hash(noise)
        assert repr(again) == repr(noise)


def test_numbers_at_the_limit_of_digits_survive_too() -> None:
    long = Fraction(10**399 + 1, 10**399 + 7)
    for noise in (
        Laplace(long),
        LaplaceMixture(1, 2, long),
        PiecewiseGeometric(("1e-100", "1e100"), (10**99,)),
    ):
        assert from_dict(noise.to_dict()) == noise
        assert (
            eval(
                repr(noise), {"PiecewiseLaplace": PiecewiseLaplace, "PiecewiseGeometric": PiecewiseGeometric}
            )
            == noise
        )


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"kind": "gauss"},
        {"kind": ["piecewise-laplace"]},
        {"kind": "piecewise-laplace", "rates": ["1"]},
        {"kind": "piecewise-laplace", "rates": ["1"], "breaks": [], "seed": 1},
    ],
)
def test_a_description_of_no_noise_is_refused(data: object) -> None:
    with pytest.raises(InvalidParameter, match=r"^noise=.* must be a description with kind one of"):
        from_dict(data)  # type: ignore[arg-type]


def test_a_stored_number_is_checked_like_any_other() -> None:
    with pytest.raises(InvalidParameter, match=r"^rates="):
        from_dict({"kind": "piecewise-geometric", "rates": ["1e99999999"], "breaks": []})


@settings(max_examples=60, deadline=None)
@given(pieces(), st.integers(1, 1000), st.integers(-(10**6), 10**6))
def test_stretching_keeps_the_potential_at_stretched_points(both: tuple, d: int, k: int) -> None:
    for noise in (PiecewiseGeometric(*both), PiecewiseLaplace(*both)):
        assert noise.stretched(d).potential(k * d) == noise.potential(k)
        assert noise.stretched(1) == noise
        assert noise.stretched(d).stretched(3) == noise.stretched(3 * d)


def test_a_stretch_is_whole_on_the_integers_and_positive_on_the_reals() -> None:
    assert Laplace(1).stretched("0.5") == Laplace(2)
    assert Laplace(1).rounded().stretched(2) == Laplace("0.5").rounded()
    for bad in (0, -1, 1.5, nan, True):
        with pytest.raises(InvalidParameter, match=r"^d=.* must be"):
            Geometric(1).stretched(bad)
    with pytest.raises(InvalidParameter, match=r"^d=0 must be a finite number above 0"):
        Laplace(1).stretched(0)
