"""What may be given as a point, and what comes back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from math import inf, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, GeometricMixture, Laplace, LaplaceMixture, Noise, PiecewiseLaplace
from strategies import integer_noises, noises

EACH = [
    GeometricMixture(0.2, 1, 5),
    GeometricMixture(50, "1e-9", 10**9),
    LaplaceMixture(0.1, 1, 4.5),
    LaplaceMixture("1e-9", 50, "1/3"),
    LaplaceMixture(0.1, 1, 4.5).rounded(),
]
each = pytest.mark.parametrize("noise", EACH, ids=repr)


def functions(noise: Noise) -> list:
    density = [noise.pmf, noise.log_pmf] if hasattr(noise, "pmf") else [noise.pdf, noise.log_pdf]
    return [*density, noise.cdf, noise.sf, noise.log_sf, noise.within]


@each
def test_a_scalar_gives_a_float_and_an_array_its_own_shape(noise: Noise) -> None:
    grid = np.arange(-6, 6).reshape(3, 4)
    for function in (*functions(noise), lambda x: noise.ppf(np.abs(x) / 10)):
        assert type(function(3)) is float
        assert type(function(np.array(3.0))) is float
        assert type(function(np.int8(3))) is float
        table = function(grid)
        assert table.shape == grid.shape
        assert table.dtype == np.float64
        assert table[1, 2] == function(int(grid[1, 2]))
        assert function([]).shape == (0,)
        assert function(np.empty((0, 3), np.int64)).shape == (0, 3)


@each
def test_every_kind_of_number_means_the_same_point(noise: Noise) -> None:
    for function in functions(noise):
        expected = function(3)
        for same in (3.0, Fraction(3), Decimal(3), np.uint8(3), np.float32(3), np.int64(3), np.longdouble(3)):
            assert function(same) == expected
        mixed = function([Fraction(3), 3, Decimal("3.0")])
        assert (mixed == expected).all()


@each
def test_the_ends_of_the_line_are_reached_without_warnings(noise: Noise) -> None:
    ends = [-inf, inf, nan, -1e308, 1e308, 10**400, -(10**400), Fraction(10**400, 3)]
    cdf, sf, inside = (function(ends).tolist() for function in (noise.cdf, noise.sf, noise.within))
    assert cdf[:2] == [0, 1]
    assert cdf[3:] == [0, 1, 1, 0, 1]
    assert sf[:2] == [1, 0]
    assert sf[3:] == [1, 0, 0, 1, 0]
    assert inside[:2] == [0, 1]
    log_sf = noise.log_sf(ends)
    assert log_sf[0] == 0
    assert log_sf[1] == -inf
    assert log_sf[4] < -1e298
    density, log_density = functions(noise)[:2]
    assert density(ends)[:2].tolist() == [0, 0]
    assert log_density(ends)[:2].tolist() == [-inf, -inf]


@each
def test_nan_gives_nan_and_leaves_its_neighbours_alone(noise: Noise) -> None:
    for function in (*functions(noise), noise.ppf):
        found = function([0.25, nan, 0.75])
        assert np.isnan(found).tolist() == [False, True, False]
        assert found[0] == function(0.25)


@each
@pytest.mark.parametrize(
    "bad", ["1", "abc", None, 1j, [None, 1], [1, "x"], True, [[1], [1, 2]], np.datetime64(0, "s")]
)
def test_what_is_no_number_is_refused(noise: Noise, bad: object) -> None:
    for function, name in ((noise.cdf, "x"), (noise.ppf, "p"), (noise.within, "t")):
        with pytest.raises(InvalidParameter, match=f"^{name}=.* must be a real number or an array of them"):
            function(bad)


@settings(max_examples=30, deadline=None)
@given(integer_noises, st.integers(1, 200000), st.integers(0, 2**32 - 1))
def test_many_integers_are_looked_up_and_agree_with_one_by_one(noise: Noise, width: int, seed: int) -> None:
    k = np.random.default_rng(seed).integers(-width, width + 1, size=1 << 17)
    some = k[:: 1 << 12]
    for function in (noise.pmf, noise.cdf, noise.sf):
        np.testing.assert_array_equal(function(k)[:: 1 << 12], function(some))
        np.testing.assert_array_equal(function(k.astype(np.int32))[:: 1 << 12], function(some))
        np.testing.assert_array_equal(function(k.astype(float))[:: 1 << 12], function(some))


@settings(max_examples=30, deadline=None)
@given(integer_noises, st.integers(1, 3000), st.integers(0, 2**32 - 1))
def test_a_few_points_between_many_integers_are_not_rounded(noise: Noise, width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(-width, width + 1, size=1 << 17).astype(float)
    odd = np.array([70_000, 70_001, 99_999, 131_071])
    x[odd] += rng.uniform(-0.9, 0.9, 4)
    x[100_000] = nan
    for function in (noise.pmf, noise.cdf, noise.sf):
        table = function(x)
        np.testing.assert_array_equal(table[odd], function(x[odd]))
        assert np.isnan(table[100_000])
        x[100_000] = 0
        np.testing.assert_array_equal(function(x)[odd], function(x[odd]))
        x[100_000] = nan


def test_look_up_keeps_small_types_one_sided_ranges_and_shapes() -> None:
    noise = GeometricMixture(0.2, 1, 5)
    for low, high in ((-128, 127), (3, 100), (-100, -3), (0, 0)):
        k = np.resize(np.arange(low, high + 1, dtype=np.int8), (2, 1 << 16))
        np.testing.assert_array_equal(noise.cdf(k)[1, :300], noise.cdf(k[1, :300].astype(float)))


@settings(max_examples=30, deadline=None)
@given(integer_noises, st.integers(-50, 50), st.floats(0.01, 0.99))
def test_between_the_integers_nothing_happens(noise: Noise, k: int, share: float) -> None:
    assert noise.pmf(k + share) == 0
    assert noise.log_pmf(k + share) == -inf
    assert noise.cdf(k + share) == noise.cdf(k)
    assert noise.sf(k + share) == noise.sf(k)
    assert noise.within(abs(k) + share) == noise.within(abs(k))


@settings(max_examples=40, deadline=None)
@given(noises, st.floats(0, 1e12))
def test_densities_are_symmetric_and_fall_outward(noise: Noise, x: float) -> None:
    density = functions(noise)[0]
    x = float(np.floor(x))
    assert density(x) == density(-x)
    assert density(x + 1) <= density(x)
    assert noise.within(-1) == 0


EIGHT = PiecewiseLaplace([f"0.{i}" for i in range(1, 9)], range(2, 16, 2))


@pytest.mark.parametrize("noise", [*EACH, EIGHT], ids=repr)
def test_points_and_earlier_results_stay_as_they_were(noise: Noise) -> None:
    """Blocks are worked on in place, in arrays that the next call uses again."""
    x = np.random.default_rng(3).laplace(scale=4, size=70_000)
    before = x.copy()
    for function in functions(noise):
        first = function(x)
        kept = first.copy()
        assert (x == before).all()
        second = function(x[::-1])
        assert (first == kept).all()
        assert (second == kept[::-1]).all()
        assert (first[40_000:40_010] == function(x[40_000:40_010])).all()


def test_threads_do_not_disturb_each_other() -> None:
    x = np.random.default_rng(4).laplace(scale=4, size=300_000)
    alone = EIGHT.cdf(x)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: EIGHT.cdf(x), range(16)):
            assert (result == alone).all()


def test_memory_stays_at_the_result_and_one_block() -> None:
    import tracemalloc

    x = np.random.default_rng(0).laplace(scale=5, size=10**6)
    for noise in (LaplaceMixture(0.2, 1, 5), GeometricMixture(0.2, 1, 5)):
        noise.cdf(x)
        tracemalloc.start()
        noise.cdf(x)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1.2 * x.nbytes


def test_extreme_rates_underflow_to_0_instead_of_failing() -> None:
    for rate in (10**5, 10**100):
        for noise in (Geometric(rate), Laplace(rate).rounded()):
            assert noise.pmf(0) == 1
            assert noise.pmf(1) == 0
            assert noise.entropy() == 0
            assert noise.variance() == 0
            assert noise.ppf(0.3) == 0
    assert Geometric("1e-100").cdf(0) == pytest.approx(0.5)
    assert Laplace("1e-100").variance() == pytest.approx(2e200)
