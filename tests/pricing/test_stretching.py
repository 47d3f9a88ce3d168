"""Which noise the components of a question get where one noise is given."""

from __future__ import annotations

import pytest

import dovetail as dv
from dovetail.errors import InvalidParameter
from dovetail.pricing.stretching import scaled_noises
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.schema import Schema

TABLE = Schema([dv.Column("age", "integer", low=0, high=120)]).table()
NOISE = dv.Geometric("0.1")


def sum_up_to(high: int) -> CheckedQuery:
    return dv.Sum("age", low=0, high=high, step=1).checked(TABLE)


def test_a_noise_for_sensitivity_1_is_widened_to_the_question() -> None:
    assert scaled_noises(sum_up_to(10), NOISE, 1) == (NOISE.stretched(10),)


def test_a_noise_designed_for_a_sensitivity_is_used_as_it_is_and_for_that_only() -> None:
    assert scaled_noises(sum_up_to(10), NOISE, 10) == (NOISE,)
    for high in (9, 11, 120):
        with pytest.raises(InvalidParameter, match=f"for sensitivity {high}, that of this question"):
            scaled_noises(sum_up_to(high), NOISE, 10)
