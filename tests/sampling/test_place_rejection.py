"""Uniform places with checks: every one is decided like the definition, on every branch."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from dovetail.exact.balls import ball, precision
from dovetail.noise import Geometric, GeometricMixture
from dovetail.sampling import replay
from dovetail.sampling.bits import Recording
from dovetail.sampling.draws import sampler_for
from dovetail.sampling.place_rejection import checks_of
from dovetail.sampling.undecided_draws import ONE_BY_ONE, decide

RATE = Fraction(1, 10**6)
BITS = 14
LAST = (1 << BITS) - 1
CHECKS = checks_of(((RATE, BITS), (Fraction(1, 97), 1), (Fraction(1, 10**17), 50), (Fraction(1, 10**22), 67)))
SHARE = int(CHECKS.shares[1])


def rejection(j):
    """Return floor(2^64·(1 - exp(-rate·j))/c), where c = SHARE·2^-32."""
    with precision(256):
        return int(((1 - (-arb(j) / 10**6).exp()) * 2**96 / SHARE).floor().unique_fmpz())


def decided(j, word, more=b"", row=1):
    """Say whether j stays when its number begins with these 64 bits; both ways must agree."""
    places, rows, words = np.array([j], np.int64), np.array([row]), np.array([word], np.uint64)
    kept = bool(CHECKS.keep(places, rows, words, Recording(more))[0])
    assert CHECKS.keep_one(j, row, word, Recording(more)) == kept
    return kept


@pytest.mark.parametrize("j", [1, 2, 17, 500, 8191, 8192, LAST])
def test_a_check_is_decided_by_the_exact_chance(j):
    floor = rejection(j)
    # So near to the chance the whole numbers leave it open, and rigorous arithmetic decides.
    assert decided(j, floor + 1)
    assert not decided(j, floor - 1)
    assert decided(j, floor, b"\xff" * 8)
    assert not decided(j, floor, bytes(8))


@pytest.mark.parametrize("row", [1, 2, 3, 4])
def test_whole_numbers_decide_checks_as_rigorous_arithmetic_does(row):
    rng = np.random.default_rng(row)
    rate, bits = CHECKS.rows[row]
    share = int(CHECKS.shares[row])
    places = rng.integers(0, 1 << min(bits, 50), 500).tolist()
    for j, word in zip(places, rng.integers(0, 2**63, 500).tolist(), strict=True):
        word = 2 * word + 1
        with precision(256):
            exact = bool(word >= (1 - (-ball(rate * j)).exp()) * 2**96 / share)
        assert decided(j, word, row=row) == exact


def test_place_0_always_stays():
    assert decided(0, 0)
    assert decided(0, 2**64 - 1)


def test_a_number_of_c_or_more_would_keep_every_place():
    """So those places that are not checked need none."""
    for row in (1, 2, 3, 4):
        rate, bits = CHECKS.rows[row]
        share = Fraction(int(CHECKS.shares[row]), 1 << 32)
        with precision(256):
            assert 1 - (-ball(rate * ((1 << bits) - 1))).exp() <= ball(share)
        assert share < rate * (1 << bits) + Fraction(1, 1 << 32)


def test_places_have_the_weights_of_the_law():
    """A place stays with probability 1 - c·rejection = exp(-rate·j); c is the chance of a check."""
    with precision(200):
        share = arb(SHARE) / (1 << 32)
        for j in (0, 1, 100, 5000, LAST):
            stays = 1 - share * CHECKS.rejection(j, 1)(160)
            assert stays.overlaps((-arb(j) / 10**6).exp())
            assert stays.rad() < 1e-40


@pytest.mark.parametrize("noise", [Geometric("1e-6"), GeometricMixture("1e-5", "5e-5", 100_003)], ids=repr)
@pytest.mark.parametrize("side", [0, 1])
def test_what_is_refused_is_drawn_anew_until_it_stays(noise, side):
    """A word inside a checked span leads to its block, whatever becomes of the place."""
    tables = sampler_for(noise)
    steps, spans = tables.steps, tables.spans
    checked = np.flatnonzero(spans.rows)
    step = int(checked[2 * len(checked) // 5 if side == 0 else 3 * len(checked) // 5])
    mask, lowest = int(spans.masks[step]), int(spans.lowest[step])
    assert (lowest > 0) == bool(side)
    word = (int(steps.high[step - 1]) + int(steps.low[step])) // 2
    head = (word >> 48).to_bytes(2, "little") + _place(tables, mask if side else 0)
    more = ((word & (1 << 48) - 1) << 16).to_bytes(8, "little")
    keep, refuse = b"\xff" * 8, bytes(8)
    again, enough = bytes(4), b"\xff" * 4
    # The farthest place is kept by the largest number, and is refused by 0.
    farthest = lowest + (mask if side else 0)
    assert _both(noise, head, more, keep) == farthest
    second = _place(tables, 5)
    assert _both(noise, head, more, refuse, second, enough) == lowest + 5
    # The second place is checked too, and refused; the third is checked and kept.
    third = _place(tables, 7)
    assert _both(noise, head, more, refuse, second, again, refuse, third, again, keep) == lowest + 7


def _place(tables, place):
    return place.to_bytes(tables.draw_bytes - 2, "little")


def _both(noise, head, *later):
    """Return the draw of a recording, alone and as one of few or many that arrays settle together."""
    tables = sampler_for(noise)
    value = replay(noise, None, head + b"".join(later))
    for count in (1, 2, ONE_BY_ONE + 1):
        heads = np.frombuffer(head[:2] * count, "<u2")
        tails = np.frombuffer(head[2:] * count, tables.place_kind.newbyteorder("<"))
        # Arrays read a word of each, then the next of each; few that are checked twice go one by one then.
        together = later if count > ONE_BY_ONE else later[:4]
        bits = b"".join(word * count for word in together) + b"".join(later[len(together) :]) * count
        drawn, apart = decide(tables, heads, tails, Recording(bits))
        assert drawn.tolist() == [value] * count
        assert not apart
    return value
