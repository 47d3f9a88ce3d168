"""Small runs, exactly: every transcript of every neighbouring table against what the run is charged."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from hashlib import sha256
from itertools import product
from math import inf

import pytest

from dovetail.noise import DiscreteGaussian, Geometric, GeometricMixture
from dovetail.online import Guard, ResponseCurve
from online_transcripts import (
    Bare,
    Fresh,
    Noiseless,
    Redrawn,
    Revealing,
    Shared,
    Sound,
    divergences,
    enumerate_run,
    path_loss,
    tables,
)

ROUNDING = 1e-10
CELLS = 3
ORDERS = (2, 8)

PURE = Guard(Geometric("0.3"), ResponseCurve.pure("0.3"), None, 2, distance=1)
DESIGNED = Guard(Geometric("0.4"), ResponseCurve.renyi("0.1", 4), None, 2, distance=1)
MIXED = Guard(GeometricMixture("0.2", 1, 2), ResponseCurve.pure("0.5"), Geometric("0.5"), 1, distance=2)
GAUSSIAN = Guard(DiscreteGaussian(2), ResponseCurve.renyi("0.2", 3), DiscreteGaussian(2), 1, distance=1)
TEXTBOOK = Guard(Geometric("0.3"), ResponseCurve.of(Geometric("0.4")), None, 2, distance=2)


@cache
def strategy(seed: int):
    """An adversary that chooses cells and guesses by the whole transcript, arbitrarily but repeatably."""

    @cache
    def choose(transcript):
        digest = sha256(repr((seed, transcript)).encode()).digest()
        cells = tuple(cell for cell in range(CELLS) if digest[0] >> cell & 1) or (0,)
        return cells, digest[1] % 7 - 2

    return choose


def neighbours(rows: int, most: int):
    """Pairs of tables of which the second has 1 to `rows` rows more."""
    for table in tables(CELLS, most - 1):
        for more in tables(CELLS, min(rows, most - sum(table))):
            if sum(more):
                yield table, tuple(a + b for a, b in zip(table, more, strict=True))


def replaced(most: int):
    for table, other in product(tables(CELLS, most), repeat=2):
        if sum(table) == sum(other) and sum(abs(a - b) for a, b in zip(table, other, strict=True)) == 2:
            yield table, other


def check_run(guard: Guard, pairs, length: int, seeds: int) -> None:
    loss = replace(guard, counts_rows=False).loss()
    epsilons = [loss.renyi(2) * share for share in (0, 0.3, 0.7, 1, 1.5)]
    deltas = [loss.delta(epsilon) for epsilon in epsilons]
    most, bounds, average = loss.epsilon, [loss.renyi(order) for order in ORDERS], loss.zeta
    for seed in range(seeds):
        run = cache(lambda data, seed=seed: enumerate_run(Sound(guard), data, strategy(seed), length))
        for pair in pairs:
            p, q = (run(data) for data in pair)
            assert sum(p.values()) == pytest.approx(1, abs=1e-12)
            for one, other in ((p, q), (q, p)):
                worst, renyi, seen, zeta = divergences(one, other, ORDERS, epsilons)
                assert worst <= most + ROUNDING
                assert all(r <= bound + ROUNDING for r, bound in zip(renyi, bounds, strict=True))
                assert all(d <= bound + ROUNDING for d, bound in zip(seen, deltas, strict=True))
                assert zeta <= average + ROUNDING


@pytest.mark.parametrize(
    ("guard", "length"),
    [(PURE, 6), (DESIGNED, 6), (TEXTBOOK, 5), (MIXED, 4), (GAUSSIAN, 4)],
    ids=["pure", "designed", "textbook", "mixture", "gaussian"],
)
def test_no_transcript_of_a_small_run_costs_more_than_is_charged(guard: Guard, length: int) -> None:
    check_run(guard, list(neighbours(1, 3)), length, seeds=2)


def test_a_replaced_row_costs_no_more_than_is_charged() -> None:
    guard = Guard(Geometric("0.3"), ResponseCurve.pure("0.3"), Geometric(1), 1, 1, "replace")
    check_run(guard, list(replaced(2)), length=4, seeds=2)


@pytest.mark.parametrize("kind", ["add-remove", "replace"])
def test_a_person_of_two_rows_costs_no_more_than_is_charged(kind: str) -> None:
    guard = Guard(GeometricMixture("0.2", 1, 2), ResponseCurve.pure("0.4"), Geometric(1), 1, 1, kind, rows=2)
    pairs = list(neighbours(2, 3))
    if kind == "replace":
        pairs += [((2, 0, 0), (0, 2, 0)), ((2, 1, 0), (0, 1, 2)), ((1, 1, 0), (0, 0, 2))]
    check_run(guard, pairs, length=3, seeds=2)


def attack(updates: int, *, nones: int, low: int = 150) -> list[tuple[int, int, int, object]]:
    """Force the upper threshold up by questions that the row moves, then fire on ones that it does not."""
    return [(0, 1, -low, "none")] * nones + [(0, 0, -low, "+")] * updates


def upper(updates: int, rate: str = "0.1", threshold: str = "0.1") -> Guard:
    return Guard(Geometric(threshold), ResponseCurve.pure(rate), None, updates, distance=10)


@pytest.mark.parametrize(("updates", "nones"), [(1, 60), (2, 60), (2, 200)])
def test_long_paths_approach_the_charge_and_never_pass_it(updates: int, nones: int) -> None:
    guard = upper(updates)
    reached = path_loss(Sound(guard), attack(updates, nones=nones))
    assert 0.98 * guard.loss().epsilon < reached <= guard.loss().epsilon + ROUNDING


def mirrored(path):
    """The same attack on the lower threshold, in the other direction."""
    turn = {"+": "-", "none": "none"}
    return [(-a, -b, -guess, turn[outcome]) for a, b, guess, outcome in path]


def test_the_lower_threshold_is_paid_by_the_other_direction() -> None:
    guard = upper(2)
    reached = path_loss(Sound(guard), mirrored(attack(2, nones=100)))
    assert 0.98 * guard.loss().epsilon < reached <= guard.loss().epsilon + ROUNDING


BROKEN = Guard(Geometric("0.3"), ResponseCurve.pure("0.6"), None, 1, distance=3)
MANY = Guard(Geometric("0.5"), ResponseCurve.pure("0.4"), None, 8, distance=3)


def both_sides(updates: int, nones: int = 60) -> list[tuple[int, int, int, object]]:
    """One row moves every question: those that pass press on the upper side, those that fire are below."""
    return [(0, 1, 0, "none")] * nones + [(0, 1, 0, "-")] * updates


@pytest.mark.parametrize(
    ("broken", "charged", "path"),
    [
        (Fresh(BROKEN), BROKEN, attack(1, nones=200, low=5)),
        (Bare(BROKEN), BROKEN, attack(1, nones=200, low=0)),
        (Noiseless(BROKEN), BROKEN, [(0, 1, -3, "none"), (0, 0, -4, "+")]),
        (Shared(MANY), MANY, both_sides(8)),
        (Redrawn(MANY), MANY, attack(1, nones=60, low=40) * 8),
        (Sound(BROKEN, updates=8), BROKEN, attack(8, nones=60, low=40)),
        (Sound(MANY, updates=9), MANY, attack(9, nones=60, low=40)),
        (Sound(BROKEN), BROKEN, [(0, 2, -40, "none")] * 60 + [(0, 0, -40, "+")]),
        (Sound(BROKEN), BROKEN, [(0, 1, -40, "none")] * 60 + [(1, 0, -40, "+")]),
    ],
    ids=[
        "fresh",
        "no-threshold",
        "no-noise",
        "shared",
        "redrawn",
        "not-scaled",
        "not-counted",
        "person",
        "replacement",
    ],
)
def test_a_broken_run_costs_more_than_is_charged(broken: Sound, charged: Guard, path) -> None:
    assert path_loss(broken, path) > 1.05 * charged.loss().epsilon
    if type(broken) is not Sound:
        assert path_loss(Sound(charged), path) <= charged.loss().epsilon + ROUNDING


def test_showing_the_number_that_was_tested_costs_more_than_is_charged() -> None:
    guard = Guard(
        Geometric("0.3"), ResponseCurve.pure("0.3"), Geometric("0.3"), 1, distance=3, counts_rows=False
    )
    path = [(0, 1, 0, "none")] * 200 + [(0, 0, 0, ("+", 3))]
    reached = path_loss(Revealing(guard), path)
    assert reached > 2 * guard.loss().epsilon
    assert reached < inf
