"""What `sample` accepts, returns and keeps."""

from __future__ import annotations

import inspect
import re
import sys
import tracemalloc

import numpy as np
import pytest

import dovetail.sampling
from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, GeometricMixture, Laplace
from dovetail.sampling import GeometricRun, Law, draws, replay, sample
from dovetail.sampling.draws import sampler_for
from dovetail.sampling.sampler import CHUNK

NOISE = Geometric("1/3")


def test_one_draw_is_an_int_and_a_size_gives_an_int64_array():
    assert type(sample(NOISE)) is int
    assert type(sample(Geometric("1e-6"))) is int
    assert sample(NOISE, 7).shape == (7,)
    assert sample(NOISE, (2, 3)).shape == (2, 3)
    assert sample(NOISE, 0).shape == (0,)
    assert sample(NOISE, (2, 3)).dtype == np.int64


def test_out_is_filled_and_returned():
    out = np.full((4, 5000), 10**6)
    assert sample(NOISE, out=out) is out
    assert np.abs(out).max() < 1000
    assert sample(NOISE, (4, 5000), out=out) is out


@pytest.mark.parametrize(
    "out",
    [
        np.empty(5, np.int32),
        np.empty(5),
        np.empty((4, 4), np.int64)[:, :2],
        np.frombuffer(bytes(40), np.int64),
        [0, 0],
        np.empty(4, ">i8"),
    ],
    ids=["int32", "float", "strided", "read-only", "list", "big-endian"],
)
def test_an_unsuitable_out_is_refused(out):
    with pytest.raises(InvalidParameter, match="out"):
        sample(NOISE, out=out)


def test_out_of_another_shape_than_size_is_refused():
    with pytest.raises(InvalidParameter, match="shape"):
        sample(NOISE, 5, out=np.empty(6, np.int64))


@pytest.mark.parametrize("size", [-1, 1.5, float("nan"), "many", True, (2, -1)])
def test_an_unsuitable_size_is_refused(size):
    with pytest.raises(InvalidParameter, match="size"):
        sample(NOISE, size)


@pytest.mark.parametrize("law", [Laplace(1), 3, None, "noise"])
def test_only_laws_on_the_integers_are_drawn(law):
    with pytest.raises(InvalidParameter, match="on a lattice"):
        sample(law)


def test_bits_are_bytes():
    with pytest.raises(InvalidParameter, match="bytes"):
        replay(NOISE, 3, 17)


def test_no_public_way_leads_from_a_seed_to_a_release():
    assert set(inspect.signature(sample).parameters) == {"law", "size", "out"}
    assert set(inspect.signature(NOISE.sample).parameters) == {"size", "out"}
    for name in ("seed", "rng", "random_state"):
        with pytest.raises(TypeError):
            sample(NOISE, 3, **{name: 1})


def test_equal_laws_share_their_tables():
    assert sampler_for(Geometric("0.25")) is sampler_for(Geometric("1/4"))


def test_the_cache_is_bounded():
    for number in range(2 * draws._MOST_KEPT):
        sample(Geometric(50 + number))
    assert len(draws._kept) <= draws._MOST_KEPT
    assert len(draws._seen) <= draws._MOST_KEPT


def test_an_identity_that_passes_to_another_law_finds_its_own_tables():
    """Laws made and dropped one after another often get the same address."""
    for number in range(200):
        rate = 20 if number % 2 else "0.01"
        spread = np.abs(sample(Geometric(rate), 100)).max()
        assert (spread == 0) == bool(number % 2)


@pytest.mark.parametrize(
    "law",
    [
        NOISE,
        Geometric("1e-15"),
        GeometricMixture("1e-6", "5e-6", 10**6),
        DiscreteGaussian(5),
        dovetail.noise.PiecewiseGeometric(
            [f"{i}e-7" for i in range(1, 65)], [10**5 * i for i in range(1, 64)]
        ),
    ],
    ids=["narrow", "widest", "mixture", "bell", "64 pieces"],
)
def test_tables_stay_below_2_mib(law):
    assert sampler_for(law).nbytes <= 2 * 1024**2


def test_tables_cannot_be_changed():
    tables = sampler_for(Geometric("1e-6"))
    steps, spans = tables.steps, tables.spans
    columns = (spans.lowest, spans.masks, spans.rows, tables.checks.shares, tables.checks.over)
    for array in (tables.cells, steps.low, steps.high, steps.first, *columns):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize(
    "noise", [NOISE, Geometric("1e-6"), GeometricMixture("1e-6", "5e-6", 10**6)], ids=repr
)
def test_a_long_draw_needs_little_memory_beside_its_output(noise):
    out = np.empty(5 * CHUNK + 17, np.int64)
    sample(noise)
    tracemalloc.start()
    sample(noise, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 1024**2


def test_chunks_do_not_repeat_each_other():
    drawn = sample(Geometric("1e-9"), 3 * CHUNK + 5)
    assert np.unique(drawn).size > 0.99 * drawn.size


class Coin:
    """A law of one's own: P(0) = 1/2, P(±1) = 1/4; every threshold is a whole number of 2^-64."""

    runs = None

    def tail_ball(self, k, bits):
        from flint import arb

        return arb(1) / 4 if k == 1 else arb(0)


def test_a_law_with_exact_thresholds_is_drawn_exactly():
    coin = Coin()
    assert isinstance(coin, Law)
    words = b"".join(word.to_bytes(2, "little") for word in (0x0001, 0x3FFE, 0x4001, 0xBFFE, 0xC001, 0xFFFE))
    assert replay(coin, 6, words).tolist() == [-1, -1, 0, 0, 1, 1]
    # u = 2^62 is the threshold itself: U >= 1/4, so 0; and the extreme words are in the support.
    assert replay(coin, 1, (0x4000).to_bytes(2, "little") + bytes(24)).tolist() == [0]
    assert replay(coin, 1, bytes(26)).tolist() == [-1]
    assert replay(coin, 1, b"\xff" * 26).tolist() == [1]


class Wide:
    """A law without runs that is too wide for a table of single values."""

    runs = None

    def tail_ball(self, k, bits):
        return Geometric("0.001").tail_ball(k, bits)


def test_a_wide_law_without_runs_is_refused_kindly():
    with pytest.raises(InvalidParameter, match="exponential pieces"):
        sample(Wide())


class Lone:
    """A finite support given as runs."""

    runs = (GeometricRun(0, 3, NOISE.rates[0]),)

    def __init__(self):
        self._weights = [np.exp(-k / 3) for k in range(3)]

    def tail_ball(self, k, bits):
        from flint import arb, fmpq

        from dovetail.exact.balls import precision

        with precision(bits + 32):
            weights = [(-arb(fmpq(i, 3))).exp() for i in range(3)]
            total = weights[0] + 2 * (weights[1] + weights[2])
            return sum(weights[k:], arb(0)) / total if k < 3 else arb(0)


def test_a_finite_support_is_never_left():
    assert set(sample(Lone(), 10_000).tolist()) == {-2, -1, 0, 1, 2}
    assert replay(Lone(), None, bytes(64)) == -2
    assert replay(Lone(), None, b"\xff" * 64) == 2


def test_sampling_uses_no_other_generator():
    """Nothing in the package draws from `random`, `secrets` or NumPy's generators."""
    folder = dovetail.sampling.__path__[0]
    from pathlib import Path

    for path in Path(folder).parent.rglob("*.py"):
        text = path.read_text()
        assert "numpy.random" not in text, path
        assert "np.random" not in text, path
        assert not re.search(r"import random\b", text), path
        assert "import secrets" not in text, path
    assert "dovetail.sampling.bits" in sys.modules
