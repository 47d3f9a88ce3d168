"""Wide laws without runs are drawn by rejection, exactly."""

from __future__ import annotations

import numpy as np
import pytest

from dovetail.noise import DiscreteGaussian, IntegerNoise, Staircase
from dovetail.sampling import experiment_bits, replay
from dovetail.sampling.bits import Recording
from dovetail.sampling.draws import sampler_for
from dovetail.sampling.rejection import RejectionSampler

WIDE = [DiscreteGaussian(1000), DiscreteGaussian("12345.5"), Staircase(2, 0.3).stretched(4001)]
# The chance that a sum of squares of 31 independent normal values exceeds this is below 1e-9.
LIMIT = 105.0
COUNT = 200_000


def misfit(noise: IntegerNoise, drawn: np.ndarray) -> float:
    """Return the chi-square distance over 32 cells of equal probability."""
    edges = np.asarray(noise.ppf(np.arange(1, 32) / 32))
    cells = np.searchsorted(edges, drawn, side="left")
    counts = np.bincount(cells, minlength=32)
    below = np.concatenate([[0], np.asarray(noise.cdf(edges)), [1]])
    expected = np.diff(below) * drawn.size
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("noise", WIDE, ids=repr)
def test_draws_follow_the_law(noise: IntegerNoise) -> None:
    drawn = replay(noise, COUNT, experiment_bits(5, 40 * COUNT))
    assert isinstance(sampler_for(noise), RejectionSampler)
    assert misfit(noise, np.asarray(drawn)) < LIMIT


def test_the_same_test_rejects_a_slightly_wrong_law() -> None:
    drawn = replay(DiscreteGaussian(1000), COUNT, experiment_bits(5, 40 * COUNT))
    assert misfit(DiscreteGaussian(1020), np.asarray(drawn)) > LIMIT


def test_one_draw_takes_the_same_path() -> None:
    noise = DiscreteGaussian(1000)
    bits = experiment_bits(9, 1 << 16)
    source = Recording(bits)
    drawn = [sampler_for(noise).one(source) for _ in range(2000)]
    assert np.std(drawn) == pytest.approx(1000, rel=0.1)
    assert isinstance(noise.sample(), int)


@pytest.mark.parametrize("noise", WIDE, ids=repr)
def test_floats_are_within_the_promised_distance_of_the_exact_refusal(noise: DiscreteGaussian) -> None:
    k = np.unique(np.linspace(-8 * noise.std(), 8 * noise.std(), 3001).astype(np.int64))
    exact = np.array([float(noise.rejection_exponent(int(i))) for i in k])
    assert exact.min() >= 0
    found = noise.rejection_exponents(k)
    sure = ~np.isnan(found)
    assert np.abs(found - exact)[sure].max() < 2.0**-40
    assert sure.mean() > 0.9


def test_a_word_next_to_the_chance_is_settled_by_more_bits() -> None:
    """The word equals the first 64 bits of exp(-rejection exponent), so only the appended bits decide."""
    noise = DiscreteGaussian(1000)
    refusing = sampler_for(noise)
    assert isinstance(refusing, RejectionSampler)
    import mpmath

    with mpmath.workdps(60):
        exponent = noise.rejection_exponent(1)
        chance = mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator)
        word = int(mpmath.floor(chance * 2**64))
        rest = int(mpmath.floor(chance * 2**128)) - (word << 64)
    k = np.array([1], np.int64)
    for fresh, kept in ((rest - 1, True), (rest + 1, False)):
        recorded = word.to_bytes(8, "little") + fresh.to_bytes(8, "little")
        assert refusing._keep(k, Recording(recorded)).tolist() == [kept]


def test_a_narrow_law_is_drawn_from_its_own_table() -> None:
    assert not isinstance(sampler_for(DiscreteGaussian(20)), RejectionSampler)
    assert not isinstance(sampler_for(Staircase(1).stretched(9)), RejectionSampler)
    assert not isinstance(sampler_for(Staircase("0.00001")), RejectionSampler)
