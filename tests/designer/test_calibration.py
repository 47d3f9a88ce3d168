"""The quick estimate of what a noise leaves of a budget is near to the exact figure, whatever cells move."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dovetail as dv
from dovetail.designer import calibration, composition_floats
from dovetail.designer.goal import read_task
from dovetail.noise import PiecewiseGeometric

UNEQUAL = [(1000, 1), (7, 3), (50, 30, 1)]
UNIT = Fraction(1, 10**6)


def noise_for(shifts: tuple[int, ...], pieces: int) -> PiecewiseGeometric:
    """Return a noise of rates in units, wide beside the largest shift."""
    rates = [UNIT * round((1 + piece) * 80_000 / max(shifts)) for piece in range(pieces)]
    return PiecewiseGeometric(rates, [20 * max(shifts) * (piece + 1) for piece in range(pieces - 1)])


@pytest.mark.parametrize("pieces", [1, 3])
@pytest.mark.parametrize("shifts", UNEQUAL, ids=str)
def test_the_estimate_for_unequal_shifts_is_near_the_exact_margin(
    shifts: tuple[int, ...], pieces: int
) -> None:
    task = read_task(epsilon="0.5", delta="1e-6", queries=10, sensitivity=shifts, pieces=4)
    noise = noise_for(shifts, pieces)
    estimate, exact = calibration._in_budget(task, UNIT)(noise), calibration._exact_margin(noise, task)
    assert estimate == pytest.approx(exact, abs=0.15)
    if shifts[1] > 1:
        # Forgetting what is not the largest shift would be off by more.
        alone = read_task(epsilon="0.5", delta="1e-6", queries=10, sensitivity=shifts[0], pieces=4)
        assert calibration._in_budget(alone, UNIT)(noise) > exact + 0.3


@pytest.mark.parametrize("shifts", [(50, 20, 1), (10**6, 1)], ids=str)
def test_unequal_shifts_are_estimated_on_grids_of_a_moderate_size(
    shifts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest shift has the finest grid that is needed: its multiples of 1 would take minutes."""
    sizes: list[int] = []
    made = composition_floats.log_delta_alone

    def noted(values, chances, uses, epsilon, grid):  # type: ignore[no-untyped-def]
        sizes.append(int(values.max() / grid))
        return made(values, chances, uses, epsilon, grid)

    monkeypatch.setattr(composition_floats, "log_delta_alone", noted)
    chosen = dv.design(epsilon=1, delta="1e-7", queries=3, sensitivity=shifts)
    assert chosen.total.delta(1) <= 1e-7
    assert max(sizes) <= 10_000
