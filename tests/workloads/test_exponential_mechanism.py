"""The exponential mechanism: privacy by enumeration of neighbours, draws by replayed bits."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from dovetail.errors import InvalidParameter
from dovetail.sampling import Recording
from dovetail.workloads.exponential_mechanism import QuantileChoice, _below

QS = ["1/2", "1/4", "9/10", "1/3"]


def chances(choice: QuantileChoice, cells: list[int]) -> list[float]:
    """The law of the drawn cell, straight from its definition."""
    n, q = sum(cells), choice.q
    weights = []
    for t in range(len(cells)):
        upto, before = sum(cells[: t + 1]), sum(cells[:t])
        off = max(Fraction(0), before - q * n if t else -q * n, q * n - upto)
        exponent = choice.epsilon * off * q.denominator / (2 * choice.sensitivity)
        weights.append(mpmath.exp(-mpmath.mpf(exponent.numerator) / exponent.denominator))
    total = sum(weights)
    return [float(weight / total) for weight in weights]


def neighbours(cells: list[int], replaced: bool) -> list[list[int]]:
    less = [[c - (i == j) for j, c in enumerate(cells)] for i in range(len(cells)) if cells[i]]
    more = [[c + (i == j) for j, c in enumerate(cells)] for i in range(len(cells))]
    if not replaced:
        return less + more
    return less + [[c + (i == j) for j, c in enumerate(each)] for each in less for i in range(len(cells))]


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize("replaced", [False, True])
def test_no_neighbour_changes_a_chance_by_more_than_epsilon(q: str, replaced: bool) -> None:
    choice, worst = QuantileChoice(q, "0.7", replaced=replaced), 0.0
    for cells in product(range(3), repeat=3):
        here = chances(choice, list(cells))
        for other in neighbours(list(cells), replaced):
            there = chances(choice, other)
            worst = max(worst, *(abs(np.log(a / b)) for a, b in zip(here, there, strict=True)))
    assert worst <= 0.7 + 1e-9
    # With half of the sensitivity it would be more than epsilon, for a median of these tables.
    assert worst > 0.35 or q != "1/2"


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.sampled_from(QS), st.integers(0, 2**64 - 1))
@settings(max_examples=150, deadline=None)
def test_a_draw_inverts_the_law_of_scores(cells: list[int], q: str, word: int) -> None:
    choice = QuantileChoice(q, "0.7")
    scores, law = choice.scores(np.array(cells)), chances(choice, cells)
    drawn = choice.draw(np.array(cells), Recording(word.to_bytes(8, "little") + bytes(64)))
    # The first cell of the first score whose cumulated chance exceeds the drawn number.
    total, wanted = 0.0, word / 2**64
    for score in sorted(set(scores.tolist())):
        places = np.flatnonzero(scores == score)
        before, total = total, total + sum(law[place] for place in places)
        if min(abs(wanted - before), abs(wanted - total)) < 1e-12:
            return
        if wanted < total:
            break
    assert drawn == places[0]


def test_the_least_and_the_largest_number_draw_the_nearest_and_the_furthest_cell() -> None:
    choice, cells = QuantileChoice("1/2", "0.1"), np.array([1, 4, 9, 2, 1])
    scores = choice.scores(cells)
    for word, score in ((0, scores.min()), (2**64 - 1, scores.max())):
        drawn = choice.draw(cells, Recording(word.to_bytes(8, "little") + bytes(64)))
        assert scores[drawn] == score


def test_cells_of_one_score_are_drawn_alike() -> None:
    choice, empty = QuantileChoice("1/2", 1), np.zeros(4, int)
    for place in range(4):
        assert choice.draw(empty, Recording(bytes(8) + place.to_bytes(8, "little"))) == place


def test_the_quantile_has_score_0_and_scores_grow_away_from_it() -> None:
    cells = np.array([3, 0, 4, 1, 0, 2])
    for q, place in (("1/2", 2), ("1/4", 0), ("9/10", 5)):
        scores = QuantileChoice(q, 1).scores(cells)
        assert scores[place] == 0
        assert np.all(np.diff(scores[: place + 1]) <= 0)
        assert np.all(np.diff(scores[place:]) >= 0)


def test_ranks_stay_within_their_bound() -> None:
    cells, choice, runs, chance = np.full(101, 10), QuantileChoice("1/2", "0.5"), 300, 0.2
    bound, upto = choice.rank_bound(101, chance), np.cumsum(cells)
    missed = 0
    for _ in range(runs):
        t = choice.draw(cells)
        off = max(0.0, upto[t - 1] - 505 if t else -505, 505 - upto[t])
        missed += off > bound
    assert missed <= binom.isf(1e-9, runs, chance)
    assert bound < 50
    assert bound < choice.rank_bound(101, "1e-400") < 150 * bound


@pytest.mark.parametrize(("q", "epsilon"), [("1/2", "0.5"), ("1/2", 3), ("1/4", 1), ("9/10", "0.2")])
@pytest.mark.parametrize("replaced", [False, True])
def test_a_rank_bound_is_missed_as_often_as_it_says_where_all_other_cells_are_just_beyond_it(
    q: str, epsilon: str, replaced: bool
) -> None:
    """All rows in the first of 500 cells, so many that the others are beyond the bound, by the exact law."""
    choice, chance, cells = QuantileChoice(q, epsilon, replaced=replaced), 1e-6, 500
    bound, away = choice.rank_bound(cells, chance), 1 - choice.q
    rows = next(n for n in range(1, 10**6) if n * away > bound)
    missed = sum(chances(choice, [rows, *[0] * (cells - 1)])[1:])
    # The last row may have been more than enough.
    too_far = choice.epsilon * choice.q.denominator / (2 * choice.sensitivity) * away
    assert chance * 0.99 * np.exp(-float(too_far)) <= missed <= chance


@pytest.mark.parametrize("q", [0, 1, "1.5"])
def test_q_lies_strictly_between_0_and_1(q: object) -> None:
    with pytest.raises(InvalidParameter, match="q="):
        QuantileChoice(q, 1)  # type: ignore[arg-type]


def test_scores_of_many_rows_and_a_long_q_do_not_wrap_around() -> None:
    choice = QuantileChoice(Fraction(10**15 - 1, 10**15), 1)
    cells = [10**6, 3 * 10**6]
    above, below = choice.q.numerator, choice.q.denominator
    assert choice.scores(np.array(cells)).tolist() == [above * 4 * 10**6 - below * 10**6, 0]
    assert choice.draw(np.array(cells), Recording(bytes(64))) == 1


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 10**6, 2**63 + 1])
def test_words_beyond_the_last_multiple_are_drawn_again_and_no_others(count: int) -> None:
    """So each number below `count` comes from as many words as every other."""
    whole = 2**64 - 2**64 % count
    for word, drawn in ((0, 0), (whole - 1, count - 1), (whole // 2, whole // 2 % count)):
        assert _below(count, Recording(word.to_bytes(8, "little") + bytes(8))) == drawn
    if whole < 2**64:
        for word in (whole, 2**64 - 1):
            assert _below(count, Recording(word.to_bytes(8, "little") + (1).to_bytes(8, "little"))) == 1
