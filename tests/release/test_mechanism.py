"""What is let out of the cells that rows are in."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from dovetail.answers.threshold import Threshold
from dovetail.noise import Geometric
from dovetail.pricing.partition_selection import threshold_for
from dovetail.privacy import Charge
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import MOST_CELLS, Field
from dovetail.query.measures import COUNTED, Component, Rows
from dovetail.query.partitions import Discovered
from dovetail.release import mechanism
from dovetail.release.mechanism import ReleasedCells, discovered, noised, read_released, write_released


@pytest.mark.parametrize("kind", [tuple, np.array])
def test_every_integer_of_a_cell_gets_a_noise_of_its_own_from_its_component(kind: Any) -> None:
    """The narrow noise is 0 but for a chance of 1e-25; two of the wide ones agree with one of 1e-13."""
    true = [kind(cell) for cell in ((1, 2, 3, 4), (5, 6, 7, 8), (9, 10, 11, 12))]
    components = [
        Component("level", COUNTED, 1),
        Component("level", COUNTED, 2),
        Component("sum", COUNTED, 1),
    ]
    narrow, wide = Geometric(60), Geometric("1e-15")
    cells = noised(true, components, [narrow, wide, narrow]).cells
    assert [(cell[0], cell[3]) for cell in cells] == [(1, 4), (5, 8), (9, 12)]
    assert (
        len(
            {
                value - was
                for cell, old in zip(cells, true, strict=True)
                for value, was in zip(cell, old, strict=True)
            }
        )
        == 7
    )


def test_arrays_of_counts_beyond_64_bits_are_added_in_python() -> None:
    top = 2**63 - 2
    components = [Component("level", COUNTED, 3)]
    for _ in range(20):
        (cell,) = noised([np.array([top, 5, 0])], components, [Geometric("0.01")]).cells
        assert abs(cell[0] - top) < 10**5
        assert all(type(value) is int for value in cell)


@pytest.mark.parametrize("drawn", [(2**63 - 1, 0), (0, 2**63 - 1), (2**62, -(2**62)), (-(2**63), 7)])
@pytest.mark.parametrize("true", [(2**62 - 1, 3), (2**62, 3), (-(2**63), -(2**62))])
def test_arrays_near_64_bits_are_added_in_python(
    drawn: tuple[int, int], true: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism, "sample", lambda noise, shape: np.array(drawn, np.int64).reshape(shape))
    (cell,) = noised([np.array(true)], [Component("level", COUNTED, 2)], [Geometric(1)]).cells
    assert cell == tuple(a + b for a, b in zip(true, drawn, strict=True))


@pytest.mark.parametrize("kind", [tuple, np.array])
def test_what_was_drawn_is_added(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(1, 100))

    def drawn(_noise: Any, shape: Any) -> Any:
        size = int(np.prod(shape))
        return np.array([next(numbers) for _ in range(size)]).reshape(shape)

    monkeypatch.setattr(mechanism, "sample", drawn)
    components = [Component("level", COUNTED, 2), Component("sum", COUNTED, 1)]
    cells = noised([kind((100, 200, 300)), kind((400, 500, 600))], components, [Geometric(1)] * 2).cells
    assert cells == ((101, 202, 305), (403, 504, 606))


def itself(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return row[:-1]


def test_a_key_of_one_row_shows_as_often_as_delta_says() -> None:
    """False alarm 1e-9; a threshold that is one too low is rejected."""
    noise, runs = Geometric("0.7"), 200_000
    found = threshold_for(CheckedQuery(Rows(), (Discovered(Field("word", "text")),)), noise, 10**16)
    held = [[(number, 1) for number in range(runs)]]
    seen = len(discovered(held, itself, noise, found).cells)
    lower = len(discovered(held, itself, noise, Threshold(found.least - 1, found.units)).cells)
    assert seen < MOST_CELLS
    assert binomtest(seen, runs, float(found.delta)).pvalue > 1e-9
    assert binomtest(lower, runs, float(found.delta)).pvalue < 1e-9


def test_too_many_keys_are_cut_by_their_noisy_counts_alone() -> None:
    noise = Geometric(20)
    held = [[(number, 100 + number) for number in range(MOST_CELLS + 500)]]
    released = discovered(held, itself, noise, Threshold(50, 1))
    assert len(released.cells) == MOST_CELLS
    assert released.found is not None
    assert min(cell[0] for cell in released.found) > 400  # type: ignore[type-var]
    assert list(released.found) == sorted(released.found)


def test_found_keys_are_read_back_as_they_were_the_missing_one_too() -> None:
    question = CheckedQuery(Rows(), (Discovered(Field("word", "text")), Discovered(Field("n", "integer"))))
    released = ReleasedCells(((5,), (7,), (9,)), (("a", 1), ("b", None), (None, None)))
    stored = write_released([released], Charge.approximate(1))
    assert read_released(stored, [question]) == [released]
    # Also beside a question that lists its cells.
    plain, both = CheckedQuery(Rows(), ()), [ReleasedCells(((8,),)), released]
    assert read_released(write_released(both, Charge.approximate(1)), [plain, question]) == both
    assert "found" not in json.loads(write_released(both[:1], Charge.approximate(1)))
