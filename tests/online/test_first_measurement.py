"""What a run begins with: the true numbers and what was drawn, added."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dovetail.errors import LedgerBusy
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


def test_whoever_opens_a_run_that_another_opens_waits_a_moment_and_is_not_told_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(first_measurement, "_TRIES", 3)
    monkeypatch.setattr(first_measurement, "sleep", waited.append)
    for busy in (0, 2, 3, 4):
        left, waited[:] = [busy], []

        def reserve(_request: Any, left: list[int] = left) -> str:
            left[0] -= 1
            if left[0] >= 0:
                raise LedgerBusy("The request 'opening of run 7' is not answered yet.", kept_at="here")
            return "reserved"

        account: Any = SimpleNamespace(reserve=reserve)
        request: Any = None
        if busy <= 3:
            assert first_measurement._reserved(account, request) == "reserved"
        else:
            with pytest.raises(LedgerBusy, match="Another process is opening this run") as refused:
                first_measurement._reserved(account, request)
            assert "7" not in str(refused.value)
            assert refused.value.kept_at == "here"
        assert len(waited) == min(busy, 3)
