"""Replayed bits reach every branch and give the value that the definition demands."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.exact.balls import precision
from dovetail.noise import Geometric, GeometricMixture, Laplace, LaplaceMixture, PiecewiseGeometric
from dovetail.sampling import replay, sample
from dovetail.sampling.build import build
from dovetail.sampling.digits import Group
from dovetail.sampling.draws import sampler_for
from dovetail.sampling.steps import UNSETTLED

NARROW = [
    Geometric("1/3"),
    GeometricMixture("0.2", 1, 5),
    GeometricMixture(1, "0.2", 3),
    Laplace("0.7").rounded(),
    LaplaceMixture("0.2", 1, "4.3").rounded(),
    Geometric(60),
]
WIDE = [
    Geometric("0.001"),
    Geometric("1e-6"),
    Geometric("1e-15"),
    GeometricMixture("1e-3", "5e-3", 777),
    GeometricMixture("0.5", "1e-4", 20),
    GeometricMixture("1e-4", "3", 12345),
    Laplace("1e-4").rounded(),
    LaplaceMixture("1e-4", "7e-4", "12345.6").rounded(),
    PiecewiseGeometric(("0.001", "0.002", "0.003", "0.004"), (100, 333, 1001)),
]


def inverse(law, u, bits):
    """Return min{k : U < F(k)} for U = u·2^-bits, straight from the definition and without any table."""
    depth = bits + 128
    with precision(depth):
        point = arb(u) / (1 << bits)

        def reached(k):
            value = law.tail_ball(-k, depth) if k < 0 else 1 - law.tail_ball(k + 1, depth)
            assert (point < value) != (point >= value), "choose another word"
            return bool(point < value)

        low, high = -1, 0
        while reached(low):
            low *= 2
        while not reached(high):
            high = 2 * high + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(middle) else (middle, high)
    return high


def recorded(word, more=b""):
    """Return the bytes by which a narrow draw reads the 64 bits of `word` after its first 16."""
    return (word >> 48).to_bytes(2, "little") + ((word & (1 << 48) - 1) << 16).to_bytes(8, "little") + more


@pytest.mark.parametrize("law", NARROW, ids=repr)
def test_every_16_bit_cell_holds_the_value_of_its_whole_cell(law):
    tables = sampler_for(law)
    steps = tables.steps.cells()
    settled = np.flatnonzero(steps != UNSETTLED)
    for word in {*settled[:: max(settled.size // 300, 1)].tolist(), int(settled[0]), int(settled[-1])}:
        value = replay(law, None, int(word).to_bytes(2, "little"))
        assert value == inverse(law, int(word), 16)
        assert value == inverse(law, ((int(word) + 1) << 48) - 1, 64)
        assert replay(law, 1, int(word).to_bytes(2, "little"))[0] == value


@pytest.mark.parametrize("law", NARROW, ids=repr)
def test_a_cut_cell_is_decided_by_its_own_16_bits_and_48_more(law):
    tables = sampler_for(law)
    thresholds = tables.steps.low.tolist()
    for floor in thresholds[:: max(len(thresholds) // 40, 1)]:
        for word in (floor - 1, floor + 1):
            if not 0 < word < 2**64 - 1 or word in thresholds:
                continue
            expected = inverse(law, (word << 32) + 12345, 96)
            assert replay(law, None, recorded(word)) == expected
            assert replay(law, 1, recorded(word))[0] == expected


@pytest.mark.parametrize("law", NARROW, ids=repr)
def test_a_word_equal_to_a_threshold_is_decided_by_further_bits(law):
    tables = sampler_for(law)
    floors = sorted(set(tables.steps.low.tolist()) - {0, 2**64 - 1})
    for floor in floors[:: max(len(floors) // 12, 1)]:
        seen = set()
        for more in (0, 2**64 - 1):
            drawn = replay(law, None, recorded(floor, more.to_bytes(8, "little") + bytes(16)))
            assert drawn == inverse(law, ((floor << 64) | more) << 64, 192)
            seen.add(drawn)
        assert len(seen) >= 2, "0…0 and 1…1 after the threshold lie on both sides of it"


@pytest.mark.parametrize("law", NARROW, ids=repr)
def test_the_deep_tail_is_reached_on_both_sides(law):
    depth = sampler_for(law).depth
    low = replay(law, None, recorded(0, bytes(8) + (1).to_bytes(8, "little") + bytes(32)))
    assert low == inverse(law, 1 << 32, 192 + 32)
    high = replay(law, 1, recorded(2**64 - 1, b"\xff" * 8 + (2**64 - 2).to_bytes(8, "little") + b"\xff" * 32))
    assert high[0] == inverse(law, (2**192 - 1) * 2**32 - 1, 192 + 32)
    assert low < -depth or law == Geometric(60)
    assert high[0] == -low


def test_an_unlucky_word_can_need_bits_for_ever_and_never_gets_a_guess():
    with pytest.raises(InvalidParameter, match="Record more bits"):
        replay(Geometric("1/3"), None, bytes(100))


@pytest.mark.parametrize("law", NARROW + WIDE, ids=repr)
@given(bits=st.binary(min_size=64, max_size=64))
@settings(max_examples=60, deadline=None)
def test_one_draw_and_an_array_of_one_agree(law, bits):
    bits += b"\x5a" * 512
    assert replay(law, None, bits) == replay(law, 1, bits)[0]


@pytest.mark.parametrize("law", WIDE, ids=repr)
def test_the_blocks_of_a_wide_law_tile_the_integers_and_have_its_probabilities(law):
    tables = sampler_for(law)
    ends = tables.begins.astype(object)
    masks = tables.masks.astype(object)
    middle = tables.depth
    assert ends[middle] == 0
    assert masks[middle] == 0
    for step in range(middle + 1, 2 * tables.depth):
        assert ends[step] + masks[step] + 1 == ends[step + 1]
        assert ends[2 * middle - step] == -ends[step]
    with precision(256):
        for block in range(1, tables.depth + 1, 97):
            exact = law.tail_ball(int(ends[middle + block]), 200) * (1 << 64)
            assert int(tables.steps.low[middle + block - 1]) == 2**64 - 1 - int(exact.floor().unique_fmpz())


@pytest.mark.parametrize("law", WIDE, ids=repr)
def test_block_and_offset_multiply_to_the_probability_of_the_value(law):
    """P(block)·P(digits), from the very tables' definitions, encloses the law's own probability."""
    tables = sampler_for(law)
    rng = np.random.default_rng(5)
    with precision(200):
        for block in rng.integers(1, tables.depth, 40).tolist():
            segment = tables.blocks.segment(block)
            size = 1 << segment.bits
            offset = int(rng.integers(0, size))
            value = segment.begin(block) + offset
            mass = tables.blocks.tail_ball(block, 160) - tables.blocks.tail_ball(block + 1, 160)
            row = tables.row_of_run[segment.run]
            group = tables.offsets.digits.groups[row]
            unit = int(tables.offsets.units[row])
            mass *= _masked(group, offset // unit, segment.bits - (unit.bit_length() - 1))
            if unit > 1:
                rate = tables.offsets.ground.rates[row]
                size = min(size, unit)
                mass *= _mass(Group(rate, size.bit_length() - 1), offset % size)
            exact = law.tail_ball(value, 160) - law.tail_ball(value + 1, 160)
            ratio = mass / exact
            assert ratio.overlaps(arb(1))
            assert ratio.rad() < 1e-20


def _masked(group, value, bits):
    """Return the probability that the lowest `bits` binary digits of a group are those of `value`."""
    width = max(min(bits, group.width), 0)
    value %= 1 << width
    return sum(
        (_mass(group, (upper << width) | value) for upper in range(1 << (group.width - width))), arb(0)
    )


def _mass(group, j):
    return group.below(j)(300) - (group.below(j - 1)(300) if j else 0)


@pytest.mark.parametrize("law", WIDE, ids=repr)
def test_digits_are_decided_like_the_definition_at_their_thresholds(law):
    tables = sampler_for(law)
    digits = tables.offsets.digits
    for group, steps in zip(digits.groups, digits.steps, strict=True):
        floors = steps.high.tolist()
        for j in range(0, len(floors), max(len(floors) // 8, 1)):
            decided = steps.settle(np.array([floors[j] - 1, floors[j] + 1], np.uint64), _never)
            assert decided.tolist() == [j, j + 1]
            outcomes = {group.resolve(_Fixed(byte), floors[j], j) for byte in (b"\x00", b"\xff")}
            assert outcomes == {j, j + 1}


class _Fixed:
    def __init__(self, byte):
        self._byte = byte

    def read(self, count):
        return self._byte * count


def _never(word, fewest):
    raise AssertionError("decided words must not be resolved")


def test_values_beyond_the_tables_keep_block_offset_and_sign():
    law = GeometricMixture("1e-4", "1e-3", 10**6)
    tables = build(law)
    assert tables.blocks.begin(tables.depth) < 10**6, "the last piece must lie beyond the tables"
    words = 2 * tables.planes
    deep = bytes(words) + bytes(8) + bytes(8 * 25) + b"\x01" * 8 * 100
    value = replay(law, None, deep)
    assert value == replay(law, 1, deep)[0]
    assert value < -(10**6)
    mirrored = b"\xff\xff" + bytes(words - 2) + b"\xff" * 8 + b"\xff" * 8 * 25 + b"\xfe" * 8 * 100
    assert replay(law, None, mirrored) == -value


def test_a_draw_beyond_int64_is_an_int_or_an_error_but_never_wraps():
    law = GeometricMixture("2e-16", "1e-18", 4 * 10**17)
    tables = sampler_for(law)
    assert tables.begins.dtype == np.int64
    words = 2 * tables.planes
    deep = bytes(words) + bytes(8) + bytes(8 * 6) + b"\x01" * 8 * 60
    assert replay(law, None, deep) < -(2**63)
    with pytest.raises(InvalidParameter, match="wide enough"):
        replay(law, 1, deep)


def test_noise_too_wide_for_64_bits_is_refused():
    with pytest.raises(InvalidParameter, match="coarser lattice"):
        sample(Geometric("1e-18"))


@given(
    rates=st.lists(st.fractions(Fraction(1, 3000), 2, max_denominator=5000), min_size=1, max_size=4),
    gaps=st.lists(st.integers(1, 3000), min_size=3, max_size=3),
    word=st.integers(1, 2**64 - 2),
)
@settings(max_examples=40, deadline=None)
def test_any_piecewise_law_draws_the_block_of_the_definition(rates, gaps, word):
    breaks = np.cumsum(gaps[: len(rates) - 1]).tolist()
    law = PiecewiseGeometric(rates, breaks)
    tables = build(law)
    expected = inverse(law, (word << 64) + 99991, 128)
    bits = recorded(word)
    drawn = replay(law, None, bits[:2] + bytes(2 * tables.planes - 2) + bits[2:] + b"\x00" * 64)
    if abs(expected) <= abs(int(tables.begins[0])):
        nearest = np.abs(tables.begins[tables.depth :])
        step = tables.depth + int(nearest.searchsorted(abs(expected), side="right")) - 1
        begin, mask = int(tables.begins[step]), int(tables.masks[step])
        assert begin <= abs(drawn) <= begin + mask
    assert drawn * expected >= 0
