"""How often somebody may ask: exactly as a queue that empties evenly, and in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.service import rate_limit
from dovetail.service.rate_limit import MOST_KNOWN, RateLimit
from dovetail.service.settings import Limits

_SECOND = 10**9


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 5 * _SECOND

    def __call__(self) -> int:
        return self.now


@pytest.fixture(scope="module")
def clock() -> Iterator[Clock]:
    with pytest.MonkeyPatch.context() as patch:
        made = Clock()
        patch.setattr(rate_limit, "monotonic_ns", made)
        yield made


@given(st.integers(1, 20), st.lists(st.integers(0, 30 * _SECOND), max_size=60))
def test_a_request_is_refused_exactly_while_the_bucket_is_full(
    clock: Clock, count: int, pauses: list[int]
) -> None:
    """The oracle is a leaking bucket of exact fractions."""
    limit, level, pace = RateLimit(f"{count}/minute"), Fraction(0), 60 * _SECOND // count
    for pause in pauses:
        clock.now += pause
        level = max(level - Fraction(pause, pace), Fraction(0))
        allowed = (level + 1) * pace <= 60 * _SECOND
        assert limit.admits("ann") == allowed
        level += allowed


def test_each_caller_is_counted_alone(clock: Clock) -> None:
    limit = RateLimit("2/hour")
    assert [limit.admits(who) for who in ("ann", "ann", "bob", "ann", "bob", "bob")] == [
        *(True, True, True, False, True, False)
    ]
    clock.now += 1800 * _SECOND
    assert [limit.admits("ann"), limit.admits("ann")] == [True, False]


def test_many_addresses_do_not_fill_the_memory(clock: Clock) -> None:
    limit = RateLimit("1/day")
    assert all(limit.admits(f"from {number}") for number in range(3 * MOST_KNOWN))
    assert len(limit) == MOST_KNOWN
    # Whoever asked last is still known.
    assert not limit.admits(f"from {3 * MOST_KNOWN - 1}")


def test_who_is_refused_is_not_kept_from_asking_later(clock: Clock) -> None:
    limit = RateLimit("1/second")
    assert limit.admits("ann")
    assert not any(limit.admits("ann") for _ in range(1000))
    clock.now += _SECOND
    assert limit.admits("ann")


@pytest.mark.parametrize("rate", ["", "600", "600/week", "0/minute", "-1/minute", "1e3/second", "6 /minute"])
def test_a_rate_that_cannot_be_read_says_what_can(rate: str) -> None:
    with pytest.raises(InvalidParameter, match="per second, minute, hour or day"):
        RateLimit(rate)


def test_the_rate_of_a_service_without_settings_can_be_read() -> None:
    assert RateLimit(Limits().rate).admits("ann")
