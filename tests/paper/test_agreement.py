"""The bounds on chance: never below the truth, and sharp enough to catch a slightly wrong noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

import dovetail as dv
from dovetail.paper.agreement import cdf_chance, mean_chance, share_chance
from dovetail.paper.claims import Measured
from dovetail.paper.clamped import clamped, noise_shares


@given(st.integers(1, 400), st.floats(0.001, 0.999), st.data())
def test_the_chance_is_never_below_the_binomial_tail(draws: int, share: float, data: st.DataObject) -> None:
    hits = data.draw(st.integers(0, draws))
    observed = hits / draws
    tail = binom.cdf(hits, draws, share) if observed < share else binom.sf(hits - 1, draws, share)
    assert share_chance(observed, [share], draws) >= min(1.0, tail) * (1 - 1e-9)


def test_strata_count_together_as_their_average() -> None:
    coin = np.array([0.0, 1.0])
    two = [(coin, np.array([0.75, 0.25])), (coin, np.array([0.25, 0.75]))]
    assert mean_chance(0.5, two, 100) == 1.0
    assert mean_chance(0.55, two, 100) > 1e-3
    assert mean_chance(0.55, two, 10_000) < 1e-9


@pytest.mark.parametrize("wrong", ["0.335", "0.321"])
def test_a_rate_that_is_two_percent_off_is_caught_at_a_million_samples(wrong: str) -> None:
    right, other = (clamped(noise_shares(dv.Geometric(rate)), 50) for rate in ("0.328", wrong))
    assert cdf_chance(other.cdf(), right.cdf(), 1_000_000) < 1e-9
    assert share_chance(other.within(5), [right.within(5)], 1_000_000) < 1e-9
    assert cdf_chance(right.cdf(), right.cdf(), 1_000_000) == 1.0


def test_a_missing_tail_is_caught_by_the_mean_beyond_the_break_point() -> None:
    law = clamped(noise_shares(dv.GeometricMixture("1/5", 1, 5)), 50)
    sizes = np.arange(len(law.shares)) * (np.arange(len(law.shares)) > 5) / 50
    cut = np.where(np.arange(len(law.shares)) <= 9, law.shares, 0)
    assert mean_chance(float(sizes @ cut), [(sizes, law.shares)], 1_000_000) < 1e-9


def test_two_comparisons_are_charged_for_both() -> None:
    first, second = Measured(0.9, 0.91, 1e-9), Measured(0.3, 0.3, 1.0)
    assert first.minus(second).chance == first.over(second).chance == 2e-9
    assert first.over(second).exact == pytest.approx(3)
    assert first.minus(Measured(0.3)).sampled is None
