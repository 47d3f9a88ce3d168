"""Measure what a run begins with, once: its base, or the number of rows. Only what is stored is used.

The run is paid for before the data are read. Whoever finds it paid but not measured, because a process died,
measures; of all attempts at most one is stored, and nothing that was not stored is ever used or shown.
"""

from __future__ import annotations

import json
from time import sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.errors import LedgerBusy, LedgerError
from dovetail.errors.remedies import Give
from dovetail.privacy import Charge
from dovetail.release.account import Request, Reservation, StoredAnswer
from dovetail.sampling import sample

from .base_tables import Base
from .occupied_cells import OccupiedCells
from .run import Run
from .sparse_vector import SparseVector, Thresholds, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from dovetail.noise import IntegerNoise

    from .region import Region
    from .run_plan import RunAccount, RunPlan

# How long to wait for another process that measures, in all five seconds.
_TRIES, _PAUSE = 50, 0.1


def first_measurement(
    account: RunAccount, plan: RunPlan, analyst: str, truth: OccupiedCells, state: str | None = None
) -> str:
    """Return what the run measured when it was opened, as it is stored; measure it if nobody has.

    With it stands the `state` of the data at that time. Data that were written again since are refused: the
    run would still be private, but what it has told and promised is about other rows.
    """
    body = json.dumps({"run": plan.id, "opening": True})
    request = Request(body, Charge.zero(), analyst, key=f"opening of run {plan.id}", plan=plan.id)
    given = _reserved(account, request)
    if isinstance(given, StoredAnswer):
        _check_state(json.loads(given.answer).get("state"), state)
        return given.answer
    known = {} if state is None else {"state": state}
    answer = json.dumps(_measured(plan, truth) | known, separators=(",", ":"))
    account.settle(given, answer)
    return answer


def _check_state(opened: str | None, now: str | None) -> None:
    if None not in (opened, now) and opened != now:
        # Not when: whoever may only ask would learn to the moment when a row came.
        raise LedgerError(
            "The data were written again after this run was opened, or its version is another one.",
            "Nothing was spent. The answers of the run stay in the record. For the present rows, open "
            "another run and name their version; it is paid for separately.",
            Give("version"),
        )


def _reserved(account: RunAccount, request: Request) -> Reservation | StoredAnswer:
    """Reserve the measurement, or wait a moment for whoever is at it; a dead one's is taken over later."""
    for _ in range(_TRIES):
        try:
            return account.reserve(request)
        except LedgerBusy:
            sleep(_PAUSE)
    try:
        return account.reserve(request)
    except LedgerBusy as error:
        # Which number the run has in the record would show what others do.
        raise LedgerBusy(
            "Another process is opening this run, or was interrupted when it did.",
            "Nothing was spent. Try again a little later.",
            kept_at=error.kept_at,
        ) from None


def _measured(plan: RunPlan, truth: OccupiedCells) -> dict[str, Any]:
    strategy = plan.strategy
    if strategy is None:
        assert plan.guard is not None
        return {"rows": measure(plan.guard, int(truth.counts.sum()))}
    tables = {columns: truth.table(columns) for columns in strategy.wanted.tables}
    numbers = strategy.numbers(tables)
    noises = zip(strategy.measured, strategy.noises, strict=True)
    return {"tables": [_noised(noise, numbers[columns]).tolist() for columns, noise in noises]}


def _noised(noise: IntegerNoise, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return numbers + sample(noise, numbers.shape)


def begun_run(
    plan: RunPlan,
    measurement: str,
    truth: OccupiedCells,
    thresholds: tuple[int, int] | None,
    record: Callable[[Region, int], None],
) -> Run:
    """Return the run as it stood after its opening, from what was stored."""
    told = json.loads(measurement)
    tests = None
    if plan.guard is not None:
        assert thresholds is not None
        tests = SparseVector(plan.guard, Thresholds(*thresholds))
    strategy = plan.strategy
    if strategy is None:
        assert tests is not None
        return Run.empty(plan.shape, told["rows"], truth.count, tests, record)
    tables = zip(strategy.measured, told["tables"], strict=True)
    base = Base(strategy, {columns: np.array(table, np.int64) for columns, table in tables})
    return Run.from_base(base, truth.count, tests, record)
