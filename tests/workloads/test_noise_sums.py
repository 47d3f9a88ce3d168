"""The law of a sum of noises against direct convolution."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import product
from math import log2, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, IntegerNoise, PiecewiseGeometric
from dovetail.workloads import NoiseSum, Term
from dovetail.workloads.cutoff import cut
from dovetail.workloads.noise_sums import _Group, _set_apart, summed_masses
from oracles import mp
from strategies import magnitudes, narrow_geometrics

chances = magnitudes(1e-6, 0.4)
# Short enough to be enumerated together.
short_noises = st.sampled_from(
    [Geometric(2), PiecewiseGeometric([1, 3], [2]), DiscreteGaussian(1), Geometric("1.5")]
)


def listed(noise: IntegerNoise, beyond: float = 1e-10) -> tuple[np.ndarray, np.ndarray]:
    last = int(-noise.ppf(beyond)) + 1
    places = np.arange(-last, last + 1)
    return places.astype(float), np.asarray(noise.pmf(places))


def direct_tail(terms: list[Term], t: float) -> float:
    """P(|X| > t), by adding up all combinations of values."""
    sums, masses = np.zeros(1), np.ones(1)
    for term in terms:
        for _ in range(term.count):
            places, chance = listed(term.noise)
            sums = np.add.outer(sums, term.weight * places).ravel()
            masses = np.multiply.outer(masses, chance).ravel()
            kept = masses > 1e-12
            sums, place = np.unique(np.round(sums[kept], 12), return_inverse=True)
            masses = np.bincount(place, masses[kept])
    return float(masses[np.abs(sums) > t * (1 + 1e-12) + 1e-12].sum())


@given(narrow_geometrics, chances)
@settings(max_examples=40, deadline=None)
def test_a_single_noise_has_its_own_quantile(noise: PiecewiseGeometric, chance: Fraction) -> None:
    bar, exact = NoiseSum([Term(1, noise)]).two_sided(chance), noise.quantile_abs(1 - chance)
    assert exact <= bar
    # A tie within the allowance for rounding may take the next integer.
    assert bar <= noise.quantile_abs(1 - chance * Fraction(999, 1000))


@given(
    st.lists(st.tuples(st.integers(1, 9), short_noises, st.integers(1, 2)), min_size=1, max_size=3), chances
)
@settings(max_examples=40, deadline=None)
def test_whole_weights_are_exact(parts: list[tuple[int, IntegerNoise, int]], chance: Fraction) -> None:
    terms = [Term(weight, noise, count) for weight, noise, count in parts]
    bar = NoiseSum(terms).two_sided(chance)
    assert bar == int(bar)
    assert direct_tail(terms, bar) <= chance
    assert direct_tail(terms, bar - 1) > chance * Fraction(99, 100) or bar == 0


@given(
    st.lists(st.tuples(st.floats(0.05, 3), short_noises, st.integers(1, 2)), min_size=2, max_size=3), chances
)
@settings(max_examples=40, deadline=None)
def test_any_weights_are_covered_and_tight(
    parts: list[tuple[float, IntegerNoise, int]], chance: Fraction
) -> None:
    terms = [Term(weight, noise, count) for weight, noise, count in parts]
    law = NoiseSum(terms)
    bar = law.two_sided(chance)
    assert direct_tail(terms, bar) <= chance
    # Less two per cent, and less the chance that rounding took, it would not hold.
    assert direct_tail(terms, bar * 0.98 - 1e-9) >= float(chance) * 0.97 or bar < 1e-3
    assert bar <= law.chernoff(float(chance) / 2)


@given(st.lists(st.tuples(st.floats(0.01, 3), st.integers(1, 4)), min_size=1, max_size=6), chances)
@settings(max_examples=30, deadline=None)
def test_signs_and_order_do_not_matter_and_more_is_wider(
    parts: list[tuple[float, int]], chance: Fraction
) -> None:
    noise = Geometric("0.7")
    law = NoiseSum([Term(weight, noise, count) for weight, count in parts])
    other = [Term(-weight, noise) for weight, count in reversed(parts) for _ in range(count)]
    assert NoiseSum(other) == law
    assert law.two_sided(chance) >= law.two_sided(min(chance * 2, Fraction(9, 10))) * 0.99


def exact_tail(parts: list[tuple[Fraction, IntegerNoise]], t: Fraction) -> float:
    """P(|X| > t) with weights and t as they are: not even the last digit of a float is forgiven."""
    law = {Fraction(0): 1.0}
    for weight, noise in parts:
        found: dict[Fraction, float] = defaultdict(float)
        for (at, chance), (k, mass) in product(law.items(), zip(*listed(noise, 1e-8), strict=True)):
            found[at + weight * int(k)] += chance * float(mass)
        law = {at: chance for at, chance in found.items() if chance > 1e-12}
    return sum(chance for at, chance in law.items() if abs(at) > t)


@given(
    st.sampled_from([3, 5, 7, 15, 24, 49]),
    st.lists(st.tuples(st.integers(1, 9), short_noises), min_size=1, max_size=2),
    chances,
)
@settings(max_examples=60, deadline=None)
def test_a_unit_that_no_float_holds_loses_no_atom_at_the_bar(
    below: int, parts: list[tuple[int, IntegerNoise]], chance: Fraction
) -> None:
    """A bar of 2/3 that is rounded to below 2/3 would miss whenever the error is 2/3, which is often."""
    bar = NoiseSum([Term(many / below, noise) for many, noise in parts]).two_sided(chance)
    exact = [(Fraction(many, below), noise) for many, noise in parts]
    assert exact_tail(exact, Fraction(bar)) <= chance * (1 + Fraction(1, 10**6))
    assert exact_tail(exact, Fraction(bar) - Fraction(1, below)) > chance * Fraction(99, 100) or bar == 0


@pytest.mark.parametrize("unit", [1000.0, 0.25, 1 / 4096])
def test_multiples_of_any_unit_are_exact(unit: float) -> None:
    """Terms of one unit are added without rounding: the bar is the least multiple that holds."""
    terms = [Term(2 * unit, Geometric(2)), Term(5 * unit, DiscreteGaussian(1))]
    bar = NoiseSum(terms).two_sided(0.05)
    assert bar == unit * round(bar / unit)
    assert direct_tail(terms, bar) <= 0.05 < direct_tail(terms, bar - unit)


def test_a_unit_too_small_for_the_grid_is_rounded() -> None:
    """One step of the unit at a time, the grid would not fit, and Chernoff's bound is much too large."""
    terms = [Term(300, Geometric(2)), Term(211 + 1 / 4096, DiscreteGaussian(1))]
    law = NoiseSum(terms)
    bar = law.two_sided(0.05)
    assert direct_tail(terms, bar) <= 0.05
    assert direct_tail(terms, bar * 0.98) >= 0.05 * 0.97
    assert bar < 0.9 * law.chernoff(0.025)


def test_a_normal_bar_is_too_short_far_out_where_ours_holds() -> None:
    terms = [Term(1, Geometric(1)), Term(0.7, Geometric(1))]
    law, chance = NoiseSum(terms), 1e-6
    normal = NormalDist().inv_cdf(1 - chance / 2) * sqrt(law.variance())
    assert direct_tail(terms, normal) > 10 * chance
    assert direct_tail(terms, law.two_sided(chance)) <= chance


def test_without_the_widening_a_coarse_grid_would_miss() -> None:
    """The rounding error is real: on a coarse grid the bare bar covers too little in some case."""
    missed = 0
    for weight, chance in product(np.linspace(1.01, 1.49, 13), (0.3, 0.1, 0.03)):
        terms = [Term(float(weight), Geometric(1)), Term(float(weight) * 0.61, Geometric(1))]
        bar = NoiseSum(terms).two_sided(chance, widening=0.2)
        bare = bar - 0.2 * NoiseSum(terms).chernoff(chance / 2)
        assert direct_tail(terms, bar) <= chance
        missed += direct_tail(terms, bare) > chance
    assert missed > 0


def test_the_rounded_law_is_symmetric_so_its_errors_have_mean_zero() -> None:
    for weight, count in ((0.5, 1), (1.5, 1), (0.25, 3), (0.37, 1)):
        masses = _Group(Term(weight, Geometric(1), count)).on_grid(1.0, 512)
        assert np.array_equal(masses[1:], masses[:0:-1])


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("weight", [0.25, 1.0, 2.75])
def test_a_group_on_the_grid_has_the_law_of_its_sum(weight: float, count: int) -> None:
    """Convolved, then each value moved to its nearest place; of halves, either."""
    noise, reach = Geometric("0.7"), cut(Geometric("0.7")).reach
    single = np.asarray(noise.pmf(np.arange(-reach, reach + 1)))
    whole = single
    for _ in range(count - 1):
        whole = np.convolve(whole, single)
    values = (np.arange(len(whole)) - len(whole) // 2) * weight
    found = _Group(Term(weight, noise, count)).on_grid(1.0, 4096)
    for place in range(40):
        near = np.abs(values - place)
        assert whole[near < 0.5].sum() - 1e-12 <= found[place] <= whole[near <= 0.5].sum() + 1e-12
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("weight", [1e-6, 0.3, 1e4])
@pytest.mark.parametrize("noise", [Geometric("0.2"), DiscreteGaussian(5)])
def test_chernoff_s_bound_holds_and_is_at_most_twice_too_large(noise: IntegerNoise, weight: float) -> None:
    law = NoiseSum([Term(weight, noise, 3), Term(weight / 2, noise)])
    for chance in (0.05, 1e-3, 1e-6):
        assert law.one_sided(chance) <= law.chernoff(chance) <= law.one_sided(chance) * 2


@pytest.mark.parametrize(
    "noise", [Geometric(1), Geometric("0.1"), PiecewiseGeometric([1, 3], [2]), DiscreteGaussian(2)]
)
@pytest.mark.parametrize("count", [2, 3, 7])
def test_powers_are_convolutions(noise: IntegerNoise, count: int) -> None:
    found = summed_masses(cut(noise), count)
    assert found is not None
    masses, error = found
    single = np.asarray(noise.pmf(np.arange(-cut(noise).reach, cut(noise).reach + 1)))
    whole = single
    for _ in range(count - 1):
        whole = np.convolve(whole, single)
    middle = len(whole) // 2
    assert np.abs(masses - whole[middle : middle + len(masses)]).sum() < error < 1e-10


def test_a_sum_may_reach_less_far_than_one_noise_that_is_cut_off_further_out() -> None:
    """Two noises of rate 0.005: the variance of the masses that are kept is twice that of one."""
    noise = Geometric("0.005")
    found = summed_masses(cut(noise), 2)
    assert found is not None
    masses = found[0]
    assert len(masses) < cut(noise).reach
    assert 2 * masses.sum() - masses[0] == pytest.approx(1)
    assert 2 * float(np.sum(masses * np.arange(len(masses)) ** 2)) == pytest.approx(2 * noise.variance())


@pytest.mark.parametrize("count", [2, 100])
def test_the_error_of_a_power_counts_every_frequency(count: int) -> None:
    """By Parseval: each factor of each frequency, of both signs, errs by so much."""
    noise = cut(Geometric(1))
    found = summed_masses(noise, count)
    assert found is not None
    masses, error = found
    lengths = sorted(factor << power for factor in (4, 5, 6) for power in range(16))
    points = next(length for length in lengths if length > 2 * len(masses))
    places = np.arange(-noise.reach, noise.reach + 1)
    single = np.bincount(places % points, noise.noise.pmf(places), points)
    each = 4 * 2.0**-53 * log2(points)
    factors = count * each * np.abs(np.fft.fft(single).real) ** (count - 1)
    both_sides = sqrt(points * float(masses[0] ** 2 + 2 * np.sum(masses[1:] ** 2)))
    assert error >= sqrt(float(np.sum(factors**2))) + each * both_sides


@pytest.mark.parametrize("chance", [0.2, 0.025, 1e-4])
def test_tiny_terms_that_are_set_apart_widen_the_bar_and_take_their_share_of_the_chance(
    chance: float,
) -> None:
    """Beside a wide noise, nine that are nearly nothing: the bar is that of the wide one and a bit more."""
    tiny = [Term(1e-5 * (place + 1), Geometric(1)) for place in range(9)]
    whole, main = NoiseSum([Term(1.0, Geometric("0.05")), *tiny]), NoiseSum([Term(1.0, Geometric("0.05"))])
    left, apart = _set_apart(whole.terms, chance * 1e-3, whole.chernoff(chance) * 0.001)
    assert (len(left), apart > 0) == (1, True)
    least = main.one_sided(chance * (1 - 1e-3))
    assert least < whole.one_sided(chance) <= least + apart * (1 + 1e-9)


def test_a_million_noises_are_normal_and_quick() -> None:
    law = NoiseSum([Term(0.001, Geometric("0.2"), 10**6)])
    assert law.two_sided(0.05) == pytest.approx(NormalDist().inv_cdf(0.975) * law.std(), rel=1e-3)


def test_wide_noise_is_put_on_the_grid_by_its_tails() -> None:
    wide, narrow = Geometric("0.5").stretched(10**6), Geometric("0.5")
    far = NoiseSum([Term(1e-6, wide), Term(0.5e-6, wide, 2)]).two_sided(0.05)
    near = NoiseSum([Term(1, narrow), Term(0.5, narrow, 2)]).two_sided(0.05)
    assert far == pytest.approx(near, abs=0.6)


def test_chances_below_rounding_use_chernoff() -> None:
    law = NoiseSum([Term(1, DiscreteGaussian(3), 2), Term(0.3, DiscreteGaussian(3))])
    assert law.two_sided(1e-16) == law.chernoff(0.5e-16)


@pytest.mark.parametrize("chance", ["1e-25", "1e-40", "1e-300"])
def test_chances_that_cut_off_noise_cannot_tell_have_bars_too(chance: str) -> None:
    """The sum of two geometric noises in 200 digits; a bar of each alone is not much longer."""
    q, bar = mp.exp(-1), int(NoiseSum([Term(1, Geometric(1)), Term(2, Geometric(1))]).two_sided(chance))
    single = (1 - q) / (1 + q)

    def above(t: int) -> Any:
        """P(Y > t)."""
        return q ** (t + 1) / (1 + q) if t >= 0 else 1 - q ** (-t) / (1 + q)

    def missed(t: int) -> Any:
        return 2 * mp.fsum(single * q ** abs(k) * above(t - 2 * k) for k in range(-3000, 3001))

    assert missed(bar) <= mp.mpf(chance)
    assert missed(bar // 2) > mp.mpf(chance)
    # Of a thousand, all stay within their bars at once.
    many = NoiseSum([Term(3, Geometric(1), 1000)]).two_sided(chance)
    assert many >= 3 * 1000 * Geometric(1).error_bound(chance, 1000)


def test_noise_whose_variance_no_float_holds_has_a_bar() -> None:
    noise = Geometric(2000)
    assert noise.variance() == 0.0
    assert 0 <= NoiseSum([Term(0.5, noise, 4)]).two_sided("0.05") <= 0.5


def test_nothing_added_is_no_error() -> None:
    assert NoiseSum([]).two_sided(0.05) == 0
    assert NoiseSum([Term(0, Geometric(1))]).std() == 0
    assert NoiseSum([Term(1, Geometric(1))]).one_sided(0.6) == 0


@pytest.mark.parametrize("chance", [0, 1, -1, float("nan")])
def test_a_chance_lies_between_0_and_1(chance: float) -> None:
    with pytest.raises(InvalidParameter, match="chance"):
        NoiseSum([Term(1, Geometric(1))]).two_sided(chance)


def test_weights_must_be_finite() -> None:
    with pytest.raises(InvalidParameter, match="weights from"):
        NoiseSum([Term(float("nan"), Geometric(1))])
