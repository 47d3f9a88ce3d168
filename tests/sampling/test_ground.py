"""Uniform digits with rejection: every coin is decided like the definition, on every branch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dovetail.exact.balls import precision
from dovetail.noise import Geometric, GeometricMixture
from dovetail.sampling import replay
from dovetail.sampling.bits import Recording
from dovetail.sampling.draws import sampler_for
from dovetail.sampling.ground import ground_of
from dovetail.sampling.offsets import RIGHT

RATE = Fraction(1, 10**6)
BITS = 10
GROUND = ground_of(((RATE, BITS),))


def threshold(j):
    """Return floor(2^64·exp(-rate·j))."""
    with precision(256):
        return int(((-arb(j) / 10**6).exp() * 2**64).floor().unique_fmpz())


def decided(j, coin, more=b""):
    """Say whether j stays when the coin begins with these 64 bits."""
    value, coins = np.array([j], np.int64), np.array([coin], np.uint64)
    return bool(GROUND._kept(value, np.array([0]), coins, Recording(more))[0])


@pytest.mark.parametrize("j", [1, 2, 17, 500, 1023])
def test_a_coin_is_decided_by_the_exact_threshold(j):
    floor = threshold(j)
    # So near to the threshold the whole numbers leave it open, and rigorous arithmetic decides.
    assert decided(j, floor - 1)
    assert not decided(j, floor + 1)
    assert decided(j, floor, bytes(8))
    assert not decided(j, floor, b"\xff" * 8)


def test_zero_always_stays():
    assert decided(0, 2**64 - 1)


def test_sure_coins_would_stay_whatever_was_drawn():
    last = (GROUND.sure << 48) - 1
    assert all(decided(j, last) for j in (0, 1, 512, 1023))
    assert GROUND.sure > 0.99 * 2**16


def test_what_is_refused_is_drawn_anew_until_it_stays():
    heads = np.array([[1023], [0xFFFF]], np.uint16)
    refuse = b"\xff" * 8
    # A second pair of words is refused too, a third is kept.
    second = (1022).to_bytes(2, "little") + b"\xff\xff" + refuse
    third = (5).to_bytes(2, "little") + bytes(2) + bytes(8)
    source = Recording(refuse + second + third)
    kept = GROUND.settle(heads, np.array([0]), np.array([False]), source)
    assert kept.tolist() == [5]
    assert source._position == 8 + 12 + 12


def test_left_of_zero_words_are_read_backwards():
    heads = np.array([[3], [0]], np.uint16)
    kept = GROUND.settle(heads, np.array([0]), np.array([True]), Recording(bytes(8)))
    assert kept.tolist() == [1020]


def test_the_law_of_the_digits_is_the_truncated_geometric():
    """Enumerate: P(j) = P(uniform is j, kept) / P(kept), with the chances that the code compares with."""
    with precision(200):
        weights = [(-arb(j) / 10**6).exp() for j in range(1 << BITS)]
        total = sum(weights, arb(0))
        ratio = (weights[7] / total) / (weights[6] / total)
        assert ratio.overlaps((-arb(1) / 10**6).exp())
    assert all(
        int(GROUND.least[0]) * j <= 2**64 - threshold(j)
        and 2**64 - threshold(j) - 1 <= int(GROUND.most[0]) * j
        for j in range(1, 1 << BITS)
    )


@pytest.mark.parametrize("noise", [Geometric("1e-6"), GeometricMixture("1e-5", "5e-5", 100_003)], ids=repr)
def test_a_draw_with_an_unsure_coin_has_the_value_of_the_same_words_with_a_sure_one(noise):
    """If the coin keeps what was drawn, it does not matter how long it took to decide."""
    tables = sampler_for(noise)
    sure = tables.offsets.ground.sure
    for first in (100, RIGHT + 3000, 40_000, 20_000):
        words = [first, 12_345, *[7] * (tables.planes - 3)]
        plain = replay(noise, None, _bytes([*words, sure - 1]))
        # `sure` followed by zeros is the first coin that is not sure, and it keeps everything still.
        slow = replay(noise, 1, _bytes([*words, sure]) + bytes(24) + bytes(64))
        assert slow[0] == plain


def _bytes(words):
    return b"".join(word.to_bytes(2, "little") for word in words)
