"""One person, several cells: which split of the contribution is the worst."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, PiecewiseGeometric
from dovetail.privacy import privacy_loss, split_charge
from dovetail.privacy.contribution import partitions, split_losses

FALLING = PiecewiseGeometric(("2.444", "0.103"), (2,))


def test_with_falling_rates_one_cell_does_not_dominate():
    one, two = (privacy_loss(FALLING, sensitivity=split) for split in [(4,), (2, 2)])
    assert one.epsilon == pytest.approx(5.10, abs=0.01)
    assert two.epsilon == pytest.approx(9.78, abs=0.01)
    worst = split_charge(FALLING, cells=2, per_cell=4, total=4)
    assert worst.epsilon == two.charge().epsilon


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=3), st.integers(1, 4), st.integers(1, 4))
def test_with_growing_rates_one_cell_dominates_every_split(numbers, left, right):
    rates = sorted(set(numbers))
    noise = PiecewiseGeometric([f"{n}/20" for n in rates], tuple(2 * i + 1 for i in range(len(rates) - 1)))
    whole = privacy_loss(noise, sensitivity=left + right)
    split = privacy_loss(noise, sensitivity=(left, right))
    assert split.worst <= whole.worst
    assert split.zeta <= whole.zeta + 1e-9
    for epsilon in ("0.1", "0.5", 1, 2):
        assert split.delta(epsilon) <= whole.delta(epsilon) + 1e-9
    assert split.renyi(2) <= whole.renyi(2) + 1e-9


def test_without_a_total_every_cell_moves_to_its_cap():
    (loss,) = split_losses(Geometric(1), cells=3, per_cell=2)
    assert loss.worst == 6
    assert split_losses(Geometric(1), cells=3, per_cell=2, total=9)[0].worst == 6


@pytest.mark.parametrize("total", [1, 7, 8, 11, 12, 13])
def test_all_cells_together_move_by_no_more_than_the_total(total: int) -> None:
    """Three cells of up to four: with geometric noise of rate 1, the worst case is how far they move."""
    losses = split_losses(Geometric(1), cells=3, per_cell=4, total=total)
    assert max(loss.worst for loss in losses) == min(total, 12)


def test_splits_are_all_partitions():
    assert sorted(partitions(5, 3, 3)) == [(2, 2, 1), (3, 1, 1), (3, 2)]
    assert list(partitions(4, 1, 3)) == []


def test_many_splits_are_merged_where_that_is_sound_and_refused_where_not():
    (merged,) = split_losses(PiecewiseGeometric((1, 2), (3,)), cells=20, per_cell=39, total=40)
    assert merged.worst == privacy_loss(PiecewiseGeometric((1, 2), (3,)), sensitivity=40).worst
    with pytest.raises(InvalidParameter, match="fall outward"):
        split_losses(FALLING, cells=20, per_cell=39, total=40)


@pytest.mark.parametrize("bad", [0, -1, 1.5, "x"])
def test_impossible_bounds_are_refused(bad):
    with pytest.raises(InvalidParameter):
        split_losses(Geometric(1), cells=bad, per_cell=1)
    with pytest.raises(InvalidParameter):
        split_losses(Geometric(1), cells=1, per_cell=bad)
    with pytest.raises(InvalidParameter):
        split_losses(Geometric(1), cells=2, per_cell=1, total=bad)


@pytest.mark.parametrize("name", ["cells", "per_cell", "total"])
@pytest.mark.parametrize("wrong", [0, -1, True, 1.5, None])
def test_bounds_of_a_person_are_whole_numbers_from_1(name: str, wrong: Any) -> None:
    if (name, wrong) != ("total", None):
        with pytest.raises(InvalidParameter, match=name):
            split_losses(Geometric(1), **({"cells": 2, "per_cell": 2, "total": 3} | {name: wrong}))
