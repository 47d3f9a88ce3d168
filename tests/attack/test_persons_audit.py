"""Measure what whole answers lose where persons are protected, and where keys are found out.

As in `test_privacy_audit.py`, two tables differ in many places that do not meet, and each place is one run on
one pair of neighbours. What is proven (false alarms together 1e-9 a test) must stay below what is charged and
come near to it; and it must pass it for releases that are broken on purpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from sqlglot import parse_one

import dovetail as dv
from audit_runs import InMemory, least_delta, least_epsilon
from dovetail.answers.threshold import Threshold
from dovetail.engines import aggregation
from dovetail.pricing import composition, partition_selection, quote, stretching
from dovetail.query.measures import Shift
from dovetail.release import mechanism, releaser

RUNS = 6_000
# The simplest noise is the one that such an audit sees best: half of all answers have its whole loss.
NOISE = dv.Geometric(1)
BUDGET = dv.Budget.approximate(10**6, "0.5")
THREE = {"unit": "who", "max_rows": 3, "max_cells": 3}
Rows = list[tuple[str, int]]
Broken = Callable[[pytest.MonkeyPatch], None]


def session_on(rows: Rows, place: Path, **options: Any) -> dv.Session:
    """Open a session on rows of a person and a cell."""
    who, cells = zip(*rows, strict=True)
    table = pyarrow.table({"who": pyarrow.array(who), "cell": pyarrow.array(cells, pyarrow.int64())})
    made = dv.Session(table, name="runs", budget=BUDGET, ledger=place, **options)
    made._releaser = replace(made._releaser, account=InMemory(BUDGET))
    return made


# Persons: what a person adds is bounded by their own rows, and noise pays for the bound.

WITHOUT = [(f"a{run}", run) for run in range(RUNS)]
MANY_ROWS = [(f"b{run}", run) for run in range(RUNS) for _ in range(10)]
IN_BOTH = [(f"a{run}.{n}", 2 * run + side) for run in range(RUNS // 2) for n in range(4) for side in (0, 1)]
IN_ONE = [(f"b{run}", 2 * run) for run in range(RUNS // 2)]


def counted(rows: Rows, folder: Path, times: int, query: Any, **bounds: Any) -> tuple[np.ndarray, float]:
    """Return the noisy counts of cells, one run after another, and the charged epsilon."""
    with session_on(rows, folder / f"{len(rows)}.ledger", unit="who", **bounds) as session:
        answers = [session.batch([query], noise=NOISE, fresh=True)[0] for _ in range(times)]
    return np.array([each.value for each in answers]).ravel(), (answers[0].charge.epsilon_units or 0) / 1e9


def of_rows(folder: Path, times: int) -> tuple[float, float]:
    """One more person has ten rows in a cell, of which three are used."""
    asked = dv.Histogram("cell", keys=range(RUNS))
    given = {"max_rows": 3, "max_cells": 1}
    one, charged = counted(WITHOUT, folder, times, asked, **given)
    other, _ = counted(WITHOUT + MANY_ROWS, folder, times, asked, **given)
    return least_epsilon(one, other), charged


def of_choices(folder: Path, times: int) -> tuple[float, float]:
    """Four persons could be counted in either of two cells; one more has a row in the first."""
    asked = dv.Histogram("cell", keys=range(RUNS))
    one, charged = counted(IN_BOTH, folder, times, asked, max_rows=1)
    other, _ = counted(IN_BOTH + IN_ONE, folder, times, asked, max_rows=1)
    return least_epsilon(one[::2], other[::2]), charged


def of_persons(folder: Path, times: int) -> tuple[float, float]:
    """One more person is in two cells, ten times in each; what is looked at is the lesser of both."""
    asked = dv.CountDistinct("cell", keys=range(RUNS))
    two = [(f"b{run}", 2 * run + side) for run in range(RUNS // 2) for side in (0, 1)] * 10
    given = {"max_rows": 1, "max_cells": 2}
    one, charged = counted(WITHOUT, folder, times, asked, **given)
    other, _ = counted(WITHOUT + two, folder, times, asked, **given)
    return least_epsilon(np.minimum(one[::2], one[1::2]), np.minimum(other[::2], other[1::2])), charged


@pytest.mark.parametrize(
    ("proven", "cost", "enough"), [(of_rows, 1, 0.55), (of_choices, 1, 0.2), (of_persons, 2, 1.05)]
)
def test_a_person_loses_what_is_charged_and_no_more(
    proven: Callable[..., tuple[float, float]], cost: float, enough: float, tmp_path: Path
) -> None:
    bound, charged = proven(tmp_path, 1)
    assert charged == pytest.approx(cost)
    assert enough < bound <= charged


def as_if_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three rows are used, noise and price are those of one."""
    monkeypatch.setattr(stretching, "units", lambda _: (1,))
    monkeypatch.setattr(composition, "moves", lambda *_: ((Shift(0, 1),),))


def as_if_one_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person in two cells is charged as if in one."""
    monkeypatch.setattr(composition, "moves", lambda *_: ((Shift(0, 1),),))


def unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of a person are used."""
    monkeypatch.setattr(
        aggregation, "bounded_statement", lambda engine, asked, _: aggregation.statement(engine, asked)
    )


def by_what_others_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """A person's row in the cell where most rows are is kept: it depends on the rows of others."""
    kept = """
        SELECT cell, COUNT(*) FROM (
            SELECT cell, ROW_NUMBER() OVER (PARTITION BY who ORDER BY n DESC, cell DESC) AS place
            FROM (SELECT who, cell, COUNT(*) OVER (PARTITION BY cell) AS n FROM data)
        ) WHERE place <= 1 GROUP BY cell"""
    monkeypatch.setattr(aggregation, "bounded_statement", lambda *_: parse_one(kept, dialect="duckdb"))


@pytest.mark.parametrize(
    ("broken", "proven"),
    [
        (as_if_one_row, of_rows),
        (as_if_one_cell, of_persons),
        (unbounded, of_rows),
        (by_what_others_do, of_choices),
    ],
)
def test_the_audit_catches_what_uses_or_charges_persons_wrongly(
    broken: Broken,
    proven: Callable[..., tuple[float, float]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken(monkeypatch)
    bound, charged = proven(tmp_path, 1)
    assert bound > charged


# Keys: what nobody else has shows with probability delta at most, and what others have loses epsilon at most.

OFTEN = [("a", -1)] * 50
HIDDEN = -1000


def found(rows: Rows, folder: Path, cells: int, times: int, distinct: bool, options: Any) -> tuple[Any, Any]:
    """Return what each of so many cells showed, HIDDEN for nothing, and the first answer."""
    asked = (dv.CountDistinct if distinct else dv.Histogram)("cell", keys="discover")
    with session_on(rows, folder / f"{len(rows)}.ledger", **options) as session:
        answers = [session.batch([asked], noise=NOISE, delta="0.02", fresh=True)[0] for _ in range(times)]
    shown = np.full((times, cells), HIDDEN)
    for number, each in enumerate(answers):
        for (cell,), value in zip(each.keys, each.value, strict=True):
            if cell >= 0:
                shown[number, cell] = value
    return shown, answers[0]


def alone(
    folder: Path, times: int, each: int = 1, cells: int = 1, distinct: bool = False, **options: Any
) -> tuple[float, float]:
    """Return the delta that is proven and charged: somebody has `each` rows in so many cells of their own."""
    rows = [(f"b{run}", run * cells + cell) for run in range(RUNS // cells) for cell in range(cells)] * each
    # Runs without anybody are quick, and many of them keep what is proven close to the truth.
    one, first = found(OFTEN, folder, RUNS, 8 * times, distinct, options)
    other, _ = found(OFTEN + rows, folder, RUNS, times, distinct, options)
    one, other = (x[:, : RUNS // cells * cells].reshape(-1, cells).max(axis=1) for x in (one, other))
    epsilon = first.charge.epsilon_units / 1e9
    assert first.charge.delta_units > 0
    return least_delta(one, other, epsilon), first.charge.delta_units / 1e18


def in_company(folder: Path, times: int) -> tuple[float, float]:
    """Return the delta that is proven and charged: one more row where others are, as many as just show."""
    least = threshold(folder)
    rows = [(f"a{n}", run) for run in range(RUNS) for n in range(least - 1)]
    one, first = found(rows, folder, RUNS, times, False, {})
    other, _ = found(rows + WITHOUT, folder, RUNS, times, False, {})
    return least_delta(
        one.ravel(), other.ravel(), first.charge.epsilon_units / 1e9
    ), first.charge.delta_units / 1e18


def threshold(folder: Path) -> int:
    answer = found(OFTEN, folder, 1, 1, False, {})[1]
    return int(answer.threshold.least)


ALONE: dict[str, dict[str, Any]] = {
    "one row": {},
    "three rows in a cell": {"each": 3, **THREE},
    "ten rows in a cell": {"each": 10, **THREE},
    "three cells": {"cells": 3, **THREE},
    "three cells of persons": {"cells": 3, "each": 2, "distinct": True, **THREE, "max_rows": 1},
}


@pytest.mark.parametrize("case", ALONE)
def test_keys_of_one_alone_show_as_rarely_as_charged(case: str, tmp_path: Path) -> None:
    bound, charged = alone(tmp_path, 10, **ALONE[case])
    assert charged / 5 < bound <= charged


def test_keys_of_many_lose_epsilon_at_most(tmp_path: Path) -> None:
    bound, charged = in_company(tmp_path, 2)
    assert bound <= charged


def one_too_low(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold is one below what its delta needs."""

    def lower(*given: Any) -> Threshold:
        honest = partition_selection.threshold_for(*given)
        return Threshold(honest.least - 1, honest.units)

    monkeypatch.setattr(quote, "threshold_for", lower)


def none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the rows hold is shown."""
    monkeypatch.setattr(quote, "threshold_for", lambda *_: Threshold(-(10**9), 10**16))


def as_for_one_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold forgets that a person may have three rows."""
    monkeypatch.setattr(partition_selection, "_worst_ways", lambda _: ((1, 0),))


def as_for_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threshold forgets that a person may have cells of their own in three places."""
    monkeypatch.setattr(partition_selection, "_worst_ways", lambda _: ((3, 0),))


def by_true_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The true count, not the noisy one, decides what is shown."""
    honest = mechanism.discovered

    def decided(held: Any, read: Any, noise: Any, least: Threshold) -> Any:
        rows = [[row for row in batch if int(row[-1]) >= least.least] for batch in held]
        return honest(rows, read, noise, replace(least, least=-(10**9)))

    monkeypatch.setattr(releaser, "discovered", decided)


@pytest.mark.parametrize(
    ("broken", "proven"),
    [
        (one_too_low, lambda folder: alone(folder, 4)),
        (none, lambda folder: alone(folder, 1)),
        (as_for_one_row, lambda folder: alone(folder, 4, each=3, **THREE)),
        (as_for_one_place, lambda folder: alone(folder, 25, cells=3, **THREE)),
        (by_true_counts, lambda folder: in_company(folder, 1)),
    ],
)
def test_the_audit_catches_keys_that_were_not_paid_for(
    broken: Broken, proven: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(monkeypatch)
    bound, charged = proven(tmp_path)
    assert bound > charged


def test_keys_do_not_share_their_noise_and_the_audit_would_see_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = 2000
    rows = [(f"a{n}", cell) for cell in range(cells) for n in range(40)]
    more = [("b", cell) for cell in range(0, cells, 2)]

    def differences(extra: Rows) -> tuple[np.ndarray, float]:
        shown, answer = found(rows + extra, tmp_path, cells, 1, False, {})
        assert (shown != HIDDEN).all()
        return (shown[:, ::2] - shown[:, 1::2]).ravel(), answer.charge.epsilon_units / 1e9

    (one, charged), (other, _) = differences([]), differences(more)
    assert least_epsilon(one, other) <= charged
    honest = mechanism.draws
    monkeypatch.setattr(mechanism, "draws", lambda noise, cells: honest(noise, 1) * cells)
    (one, _), (other, _) = differences([]), differences(more)
    assert least_epsilon(one, other) > charged
