"""Transcripts of runs through a session, over all tiny tables: no neighbour loses more than was paid.

What a test would say is scripted, and what it was asked is written down. The chances of its outcomes are read
out of the real tests by replayed bits; thresholds are summed out, each side on its own.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.online import Guard, first_measurement, session_runs, sparse_vector
from online_transcripts import HEARD_ROWS, MEASURED, Heard

pytestmark = pytest.mark.slow
SCHEMA = dv.Schema([dv.Column("c", "integer", values=[0, 1])])
TABLES = [(), (0,), (1,), (0, 1), (1, 1)]
SCRIPTS = list(product((0, 1, -1), repeat=2))


def heard(folder: Path, table: tuple[int, ...], script: tuple[int, ...], rule: Any) -> Heard:
    """Ask two questions, the second of which depends on the first answer."""
    told: list[tuple[int, int, int]] = []
    waiting = list(script)
    asked: list[int] = []

    def verdict(guard: Guard, thresholds: Any, error: int, source: Any = None) -> int:
        asked.append(error)
        return waiting.pop(0)

    def measure(guard: Guard, truth: int, source: Any = None) -> int:
        return MEASURED

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_vector, "verdict", verdict)
        patch.setattr(sparse_vector, "measure", measure)
        patch.setattr(first_measurement, "measure", lambda guard, truth: HEARD_ROWS)
        data = pyarrow.table({"c": pyarrow.array(table, pyarrow.int64())})
        place = folder / f"{len(list(folder.iterdir()))}.ledger"
        with dv.Session(
            data,
            name="rows",
            schema=SCHEMA,
            budget=dv.Budget.pure(3),
            ledger=place,
            neighbours=rule,
            protects="rows",
        ) as session:
            run = session.online("c", queries=2, ways=1, base=None, updates=2)
            answers = [run.count("c = 0")]
            answers.append(run.count("c = 1" if answers[0].origin == "checked" else None))
            assert run.plan.guard is not None
            truths = [table.count(0), table.count(1) if answers[0].origin == "checked" else len(table)]
            for outcome, truth, error in zip(script, truths, asked, strict=True):
                told.append((outcome, truth, truth - error))
            public = tuple((answer.value, answer.origin) for answer in answers)
            hypothesis = run._run.learner.hypothesis.cells.tobytes()
            paid = float(run.plan.charge.epsilon)
            return Heard(run.plan.guard, len(table), paid, told, (*public, hypothesis))


def neighbours(rule: str) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return all pairs of tables that differ by a row added, or by a row replaced (or one that is empty)."""
    found = []
    for one, other in product(TABLES, TABLES):
        apart = abs(one.count(0) - other.count(0)) + abs(one.count(1) - other.count(1))
        if apart == 1 and rule == "add-remove":
            found.append((one, other))
        if apart == 2 and len(one) == len(other) and rule == "replace":
            found.append((one, other))
    return found


@pytest.fixture(scope="module", params=["add-remove", "replace"])
def transcripts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Hear every script on every table."""
    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        # The design is the same each time: it knows nothing of the rows.
        designed = session_runs.design_online
        kept = lru_cache(lambda shape, given: designed(shape, **dict(given)))
        patch.setattr(
            session_runs,
            "design_online",
            lambda shape, **given: kept(shape, tuple(sorted(given.items(), key=str))),
        )
        return request.param, {
            (table, script): heard(folder, table, script, request.param)
            for table in TABLES
            for script in SCRIPTS
        }


def test_what_is_told_depends_on_outcomes_alone(transcripts: Any) -> None:
    """Guesses, answers and the hypothesis are the same on all tables where the tests say the same."""
    _, found = transcripts
    for script in SCRIPTS:
        seen = {(found[table, script].public, found[table, script].guesses) for table in TABLES}
        assert len(seen) == 1


def test_no_neighbour_loses_more_than_was_paid(transcripts: Any) -> None:
    rule, found = transcripts
    worst = 0.0
    for one, other in neighbours(rule):
        for script in SCRIPTS:
            mine, yours = found[one, script], found[other, script]
            worst = max(worst, mine.log_chance() - yours.log_chance())
            assert worst <= mine.paid <= 3
    # These few tables come near the price of rows added; what replaced ones pay is for longer runs, too.
    assert worst > (0.3 if rule == "add-remove" else 0.1) * found[(), SCRIPTS[0]].paid


def test_a_run_that_tells_what_it_counted_is_caught(transcripts: Any) -> None:
    rule, found = transcripts
    lost = [
        found[one, script].log_chance(noisy=False) - found[other, script].log_chance(noisy=False)
        for one, other in neighbours(rule)
        for script in SCRIPTS
        if found[one, script].log_chance(noisy=False) > -inf
    ]
    assert max(lost) > found[(), SCRIPTS[0]].paid
