"""What a run begins with: the true numbers and what was drawn, added."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovetail.noise import Geometric
from dovetail.online import Guard, ResponseCurve, first_measurement
from dovetail.online.base_tables import base_strategy
from dovetail.online.occupied_cells import OccupiedCells

PLACES = (np.array([0, 1, 1]), np.array([2, 0, 2]))
TRUTH = OccupiedCells((2, 3), PLACES, np.array([5, 7, 11]))


def test_each_cell_of_each_table_gets_what_was_drawn_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = iter(range(100, 200))

    def sample(_noise: Any, shape: tuple[int, ...]) -> Any:
        return np.array([next(drawn) for _ in range(int(np.prod(shape)))]).reshape(shape)

    monkeypatch.setattr(first_measurement, "sample", sample)
    plan: Any = SimpleNamespace(strategy=base_strategy((2, 3), 1, Geometric(1)))
    assert first_measurement._measured(plan, TRUTH) == {"tables": [[105, 119], [109, 103, 120]]}


def test_without_a_base_the_number_of_rows_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = Guard(Geometric(1), ResponseCurve.pure(1), Geometric(1), 3)
    monkeypatch.setattr(first_measurement, "measure", lambda given, truth: (given is guard, truth))
    plan: Any = SimpleNamespace(strategy=None, guard=guard)
    assert first_measurement._measured(plan, TRUTH) == {"rows": (True, 23)}
