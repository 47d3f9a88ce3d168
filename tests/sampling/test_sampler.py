"""Replayed bits reach every branch and give the value that the definition demands."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.exact.balls import ball, precision
from dovetail.noise import Geometric, GeometricMixture, Laplace, LaplaceMixture, PiecewiseGeometric
from dovetail.sampling import replay, sample
from dovetail.sampling.bits import Recording, Stream
from dovetail.sampling.build import build
from dovetail.sampling.cdf_steps import UNDECIDED
from dovetail.sampling.draws import sampler_for
from dovetail.sampling.sampler import CHUNK, FEW
from dovetail.sampling.undecided_draws import decide_one, exactly

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
    # All but flat in the middle.
    PiecewiseGeometric(("1e-25", "0.1"), (100,)),
    PiecewiseGeometric(("1e-30", "1e-6"), (10**7,)),
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
    settled = np.flatnonzero(steps != UNDECIDED)
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
            if not tables.steps.high[0] < word < tables.steps.low[-1] or word in thresholds:
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
    spans, steps = tables.spans, tables.steps
    middle = spans.rows.size // 2
    assert (spans.lowest[middle], spans.masks[middle]) == (0, 0)
    after = 1
    for step in range(middle + 1, 2 * middle):
        if spans.rows[step] == 0:
            assert spans.lowest[step] == after
            after += int(spans.masks[step]) + 1
        assert spans.lowest[2 * middle - step] == 1 - after
    with precision(256):
        for step in range(middle, 2 * middle - 1, 97):
            if spans.rows[step + 1]:
                continue
            exact = law.tail_ball(int(spans.lowest[step + 1]), 200) * (1 << 64)
            assert int(steps.low[step]) == 2**64 - 1 - int(exact.floor().unique_fmpz())


@pytest.mark.parametrize("law", NARROW + WIDE, ids=repr)
def test_blocks_in_a_row_are_those_found_one_by_one(law):
    blocks = sampler_for(law).blocks
    for first in (1, 2, 37, max(blocks.segments[-1].first - 5, 1)):
        one_by_one = [(blocks.segment(block), blocks.begin(block)) for block in range(first, first + 80)]
        assert blocks.from_block(first, 80) == one_by_one


@pytest.mark.parametrize("law", WIDE, ids=repr)
def test_block_and_place_multiply_to_the_probability_of_the_value(law):
    """P(block)·P(place), from the very tables' definitions, encloses the law's own probability."""
    tables = sampler_for(law)
    rng = np.random.default_rng(5)
    with precision(200):
        for block in rng.integers(1, tables.depth, 40).tolist():
            segment = tables.blocks.segment(block)
            size = 1 << segment.bits
            place = int(rng.integers(0, size))
            value = segment.begin(block) + place
            mass = tables.blocks.tail_ball(block, 160) - tables.blocks.tail_ball(block + 1, 160)
            if size > 1:
                row = tables.row_of_run[segment.run]
                share = arb(int(tables.checks.shares[row])) / (1 << 32)
                stays = 1 - share * tables.checks.rejection(place, row)(160)
                rate = ball(tables.checks.rows[row][0])
                mass *= stays * (-rate).expm1() / (-rate * size).expm1()
            exact = law.tail_ball(value, 160) - law.tail_ball(value + 1, 160)
            ratio = mass / exact
            assert ratio.overlaps(arb(1))
            assert ratio.rad() < 1e-20


@pytest.mark.parametrize("law", NARROW + WIDE, ids=repr)
def test_a_cell_that_answers_is_right_for_its_first_and_its_last_word(law):
    """Rigorous arithmetic finds the same value for both, and asks for no more bits: no check is due."""
    tables = sampler_for(law)
    answering = np.flatnonzero(tables.cells != tables.unset)
    rng = np.random.default_rng(11)
    for head in rng.choice(answering, 100).tolist():
        tail = int(rng.integers(0, 2**62))
        mask = tables.mask if tables.cell_masks is None else int(tables.cell_masks[head])
        expected = int(tables.cells[head]) + (tail & mask)
        for word in (head << 48, (head + 1 << 48) - 1):
            assert exactly(tables, word, tail, Recording(b"")) == expected
        bits = (head.to_bytes(2, "little") + tail.to_bytes(8, "little"))[: tables.draw_bytes]
        assert replay(law, None, bits) == replay(law, 1, bits)[0] == expected


@pytest.mark.parametrize("law", NARROW + WIDE, ids=repr)
def test_thresholds_and_rigorous_arithmetic_agree_next_to_every_kind_of_threshold(law):
    """The words next to a threshold lie in spans with and without a check, of blocks and of their parts."""
    tables = sampler_for(law)
    rng = np.random.default_rng(12)
    more = rng.bytes(200)
    for index in rng.choice(tables.steps.low.size, min(tables.steps.low.size, 40), replace=False).tolist():
        for word in (int(tables.steps.low[index]) - 1, int(tables.steps.high[index]) + 1):
            if not 0 <= word < 2**64:
                continue
            tail = int(rng.integers(0, 2**62)) % (1 << 8 * max(tables.draw_bytes - 2, 1))
            expected = exactly(tables, word, tail, Recording(more))
            appended = Recording(((word & (1 << 48) - 1) << 16).to_bytes(8, "little") + more)
            assert decide_one(tables, word >> 48, tail, appended) == expected
            words = np.array([word], np.uint64)
            steps, undecided = tables.steps.locate(words)
            if not undecided.size:
                assert steps[0] == tables.steps.locate_one(word)


@pytest.mark.parametrize("law", [Geometric("1/3"), *WIDE], ids=repr)
def test_every_64_bit_word_is_located_like_by_a_search(law):
    steps = sampler_for(law).steps
    rng = np.random.default_rng(13)
    words = rng.integers(0, 2**64, 20_000, dtype=np.uint64)
    # Many more in the cells of the tails, which are cut by many thresholds.
    words = np.concatenate((words, words >> np.uint64(14), ~(words >> np.uint64(14)), steps.low, steps.high))
    found, undecided = steps.locate(words)
    assert (found == steps.high.searchsorted(words)).all()
    assert set(undecided.tolist()) == set(np.flatnonzero(steps.low[found] <= words).tolist())


def test_values_beyond_the_tables_keep_block_place_and_sign():
    law = GeometricMixture("1e-4", "1e-3", 10**6)
    tables = build(law)
    assert tables.blocks.begin(tables.depth) < 10**6, "the last piece must lie beyond the tables"
    words = tables.draw_bytes
    deep = bytes(words) + bytes(8) + bytes(8 * 25) + b"\x01" * 8 * 100
    value = replay(law, None, deep)
    assert value == replay(law, 1, deep)[0]
    assert value < -(10**6)
    mirrored = b"\xff" * words + b"\xff" * 8 + b"\xff" * 8 * 25 + b"\xfe" * 8 * 100
    assert replay(law, None, mirrored) == -value


def test_a_draw_beyond_int64_is_an_int_or_an_error_but_never_wraps():
    law = GeometricMixture("2e-16", "1e-18", 4 * 10**17)
    tables = sampler_for(law)
    assert tables.cells.dtype == np.int64
    words = tables.draw_bytes
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
    drawn = replay(
        law,
        None,
        bits[:2] + bytes(tables.draw_bytes - 2) + bits[2:] + (99991).to_bytes(8, "little") + b"\xff" * 64,
    )
    block = 1
    while tables.blocks.begin(block) <= abs(expected):
        block += 1
    if block > 1:
        assert tables.blocks.begin(block - 1) <= abs(drawn) < tables.blocks.begin(block)
    assert drawn * expected >= 0


@pytest.mark.parametrize("law", NARROW + WIDE, ids=repr)
def test_a_short_array_settles_open_words_as_single_draws_do(law):
    """A word that the table leaves open, among words that it answers, is settled by the bits that follow."""
    sampler = sampler_for(law)
    rng = np.random.default_rng(5)
    marks = np.flatnonzero(sampler.cells == sampler.unset)
    for head in rng.choice(marks, 40):
        extra = rng.bytes(4096)
        tail = rng.bytes(sampler.draw_bytes - 2)
        alone = sampler.one(Recording(int(head).to_bytes(2, "little") + tail + extra))
        answered = int(np.flatnonzero(sampler.cells != sampler.unset)[0]).to_bytes(2, "little")
        bits = answered + int(head).to_bytes(2, "little") + answered + tail * 3 + extra
        assert replay(law, 3, bits)[1] == alone


@pytest.mark.parametrize(
    "law",
    [Geometric("1/3"), Geometric("1e-6"), Geometric("1e-12"), GeometricMixture("1e-3", "5e-3", 777)],
    ids=repr,
)
def test_short_and_long_arrays_read_the_same_words_from_the_same_tables(law):
    """Where no word is left open, the way of short arrays and the way of long ones give the same draws."""
    sampler, size = sampler_for(law), FEW + 5000
    answered = np.flatnonzero(sampler.cells != sampler.unset)
    rng = np.random.default_rng(6)
    heads = rng.choice(answered, size).astype("<u2")
    tails = [rng.bytes(sampler.draw_bytes - 2) for _ in range(size)]
    long = replay(law, size, heads.tobytes() + b"".join(tails))
    for begin in (0, 1000, FEW + 4900):
        part = slice(begin, begin + 100)
        assert replay(law, 100, heads[part].tobytes() + b"".join(tails[part])).tolist() == long[part].tolist()


class Noted(Stream):
    """A stream that notes the long arrays it filled."""

    def __init__(self):
        super().__init__(bytes(32))
        self.filled = []

    def fill(self, target):
        super().fill(target)
        if target.size > FEW:
            self.filled.append(target.copy())


@pytest.mark.parametrize("law", [Geometric("1/3"), Geometric("1e-6"), Geometric("1e-12")], ids=repr)
def test_each_draw_of_a_long_array_belongs_to_its_own_word(law, monkeypatch):
    """Three chunks, the last one shorter, and open words decided after each of them.

    The word h of a draw k says that a uniform number lies between h and h + 1; F(k - 1) and F(k) enclose it,
    for a wide law up to the probability of a block.
    """
    monkeypatch.setattr("dovetail.sampling.sampler._CHUNKS_AT_ONCE", 1)
    sampler, drawn, source = sampler_for(law), np.empty(3 * CHUNK - 1, np.int64), Noted()
    sampler.fill(drawn, source)
    heads = np.concatenate(source.filled if sampler.place_kind is None else source.filled[::2])
    block = 1e-12 if sampler.place_kind is None else 1 / 45
    assert len({words.size for words in source.filled}) == 2
    assert (law.cdf(drawn - 1) < (heads + 1.0) / 65536 + block).all()
    assert (law.cdf(drawn) > heads / 65536 - block).all()


def test_the_values_of_a_narrow_law_take_one_byte_each():
    assert sampler_for(Geometric("1/3")).cells.dtype == np.int8
    assert sampler_for(Geometric("1/8")).cells.dtype == np.int16
