"""Runs through a session: paid once, stored before shown, the same after a restart and among processes."""

from __future__ import annotations

import inspect
import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet as parquet
import pytest

import dovetail as dv
from dovetail.errors import (
    BudgetExceeded,
    DovetailError,
    InvalidParameter,
    InvalidQuery,
    LedgerError,
    UpdatesExhausted,
)
from dovetail.ledger import DatasetAccount, Ledger
from dovetail.online import Learner, Measurement, Region, Run, first_measurement, sparse_vector
from dovetail.online.durable_run import Online
from dovetail.online.occupied_cells import OccupiedCells

SCHEMA = dv.Schema(
    [
        dv.Column("sex", "text", values=["f", "m"]),
        dv.Column("level", "integer", values=[1, 2, 3]),
        dv.Column("who", "integer"),
    ]
)
COUNTS = {("f", 1): 400, ("f", 2): 30, ("f", 3): 5, ("m", 1): 20, ("m", 2): 300, ("m", 3): 10}
ROWS = [cell for cell, number in COUNTS.items() for _ in range(number)]
TABLE = pyarrow.table(
    {
        "sex": [sex for sex, _ in ROWS],
        "level": [level for _, level in ROWS],
        "who": [i // 3 for i in range(len(ROWS))],
    }
)
GUARDED: dict[str, Any] = {"queries": 20, "base": None, "updates": 8, "ways": 2}
BASED: dict[str, Any] = {"queries": 20, "base": "histogram", "updates": 0, "ways": 2}
BOTH: dict[str, Any] = {"queries": 20, "base": 1, "updates": 3, "ways": 2}


@pytest.fixture
def place(tmp_path: Path) -> str:
    return str(tmp_path / "people.ledger")


def opened(place: str, table: Any = TABLE, epsilon: int = 6, **rest: Any) -> dv.Session:
    budget = dv.Budget.pure(epsilon)
    return dv.Session(table, name="people", schema=SCHEMA, budget=budget, ledger=place, **rest)


@pytest.fixture
def session(place: str) -> Iterator[dv.Session]:
    with opened(place) as made:
        yield made


@pytest.mark.parametrize("kind", [GUARDED, BASED, BOTH])
def test_a_run_is_paid_once_and_answers_near_the_truth(
    session: dv.Session, place: str, kind: dict[str, Any]
) -> None:
    quote = session.quote_online("sex", "level", **kind)
    assert not Path(place).exists()
    guarded = kind is not BASED
    assert guarded == all(part is not None for part in (quote.threshold, quote.curve, quote.answers))
    run = session.online("sex", "level", **kind)
    assert run.plan.charge == quote.charge
    spent = session.remaining
    answers = [run.count(), run.count("sex = 'f'"), run.histogram("level", where="sex = 'm'")]
    assert session.remaining == spent
    truth = [[765], [435], [20, 300, 10]]
    for answer, true in zip(answers, truth, strict=True):
        for part, number in zip(answer.parts, true, strict=True):
            low, high = part.interval("0.999999")
            assert low <= number <= high
    assert answers[0].origin in ("base", "checked", "measured")
    assert len(answers[2].origin) == 3
    assert answers[2].table.column_names == ["level", "value", "low", "high"]
    Ledger.open(place).verify()


@pytest.mark.parametrize("kind", [GUARDED, BASED, BOTH])
def test_opened_again_it_is_the_same_run_with_the_same_answers(place: str, kind: dict[str, Any]) -> None:
    with opened(place) as first:
        run = first.online("sex", "level", **kind)
        told = [run.count(where).value for where in ("sex = 'f'", "level = 1", "level = 2 OR sex = 'f'")]
        left, cells = run.updates_left, run._run.learner.hypothesis.cells.copy()
        learnt = len(run._run.learner.latest)
        remaining = first.remaining
    with opened(place) as second:
        again = second.online("sex", "level", **kind)
        assert again.plan.id == run.plan.id
        assert second.remaining == remaining
        assert again.updates_left == left
        assert np.allclose(again._run.learner.hypothesis.cells, cells)
        assert len(again._run.learner.latest) == learnt
        answers = again.batch(map(dv.Count, ("sex = 'f'", "level = 1", "level = 2 OR sex = 'f'")))
        assert [answer.value for answer in answers] == told
        assert again.updates_left == left
        if kind is not BASED:
            assert all(answer.stored for answer in answers)


def test_updates_end_and_unchecked_answers_go_on(session: dv.Session) -> None:
    run = session.online("sex", "level", **GUARDED | {"updates": 1})
    queries = [dv.Count(f"sex = '{sex}' AND level = {level}") for sex, level in COUNTS]
    with pytest.raises(UpdatesExhausted) as raised:
        run.batch(queries)
    assert raised.value.updates == 1
    assert run.updates_left == 0
    told = [answer for answer in run.batch(queries, unchecked=True) if answer.origin != "unchecked"]
    assert [answer.origin for answer in told].count("measured") == 1
    assert all(answer.stored for answer in told)
    guess = run.count("sex = 'm' AND level = 3", unchecked=True)
    assert guess.origin == "unchecked"
    assert json.loads(guess.to_json())["rows"][0]["low"] is None
    assert "unchecked" in str(guess)
    with pytest.raises(InvalidQuery, match="not checked"):
        guess.interval()
    with pytest.raises(InvalidQuery, match="not shown as a table"):
        run.sql("SELECT sex, level, COUNT(*) FROM data GROUP BY sex, level", unchecked=True)


def test_sql_and_synthetic_rows(session: dv.Session) -> None:
    run = session.online("sex", "level", **BASED)
    table = run.sql("SELECT level, COUNT(*) AS n FROM data WHERE sex = 'f' GROUP BY level ORDER BY n DESC")
    assert table.table.column("level").to_pylist() == [1, 2, 3]
    assert abs(run.synthetic().num_rows - 765) < 30
    assert run.synthetic(10).column_names == ["sex", "level"]


def test_a_closed_run_refuses_and_may_be_closed_again(session: dv.Session) -> None:
    with session.online("sex", "level", **BASED) as run:
        run.close()
        for ask in (run.count, run.synthetic):
            with pytest.raises(InvalidQuery, match="closed"):
                ask()


@pytest.mark.parametrize(
    "wrong",
    [
        {"queries": 0},
        {"queries": "many"},
        {"ways": 0},
        {"base": "tree"},
        {"base": 7},
        {"updates": -1},
        {"updates": 0, "base": None},
        {"spend": 1},
        {"spend": dv.Budget.approximate(1, "1e-6")},
        {"spend": dv.Budget.pure(99)},
        {"promise": 2},
        {"most_cells": 5},
        {"bins": {"level": [1]}},
    ],
)
def test_bad_input_is_refused_and_nothing_is_spent(
    session: dv.Session, place: str, wrong: dict[str, Any]
) -> None:
    with pytest.raises(DovetailError):
        session.online("sex", "level", **BOTH | wrong)
    with pytest.raises(DovetailError):
        session.online(**BOTH)
    assert not Path(place).exists()


def test_a_bad_question_in_a_batch_spends_nothing(session: dv.Session) -> None:
    run = session.online("sex", "level", **GUARDED)
    events = Ledger.open(session.ledger_place).head
    for queries in ([dv.Count(), dv.Count("who = 1")], [dv.Count("level >")], [dv.Mean("level")]):
        with pytest.raises(DovetailError):
            run.batch(queries)
    assert Ledger.open(session.ledger_place).head == events


def test_a_second_run_of_the_whole_budget_is_refused(session: dv.Session) -> None:
    session.online("sex", "level", **BASED)
    with pytest.raises(BudgetExceeded):
        session.online("sex", **BASED | {"ways": 1})


def test_a_run_ends_with_the_version_of_the_data(session: dv.Session) -> None:
    run = session.online("sex", "level", **GUARDED | {"spend": dv.Budget.pure(2)})
    value = run.count("sex = 'f'").value
    Ledger.open(session.ledger_place).account("people").set_version("second")
    assert run.count("sex = 'f'").value == value
    with pytest.raises(LedgerError, match="version"):
        run.count("sex = 'm'")
    other = session.online("sex", "level", **GUARDED | {"spend": dv.Budget.pure(2)})
    assert other.plan.id != run.plan.id


def test_files_written_again_end_the_run_and_a_label_begins_another(tmp_path: Path) -> None:
    data, place = tmp_path / "people.parquet", tmp_path / "p.ledger"
    parquet.write_table(TABLE, data)

    def asked(**options: Any) -> tuple[int, float]:
        with dv.Session(data, schema=SCHEMA, budget=dv.Budget.pure(4), ledger=place, **options) as session:
            run = session.online("sex", "level", **GUARDED | {"spend": dv.Budget.pure(2)})
            # What is open goes on: its true counts are those of the rows that were read.
            os.utime(data, ns=(time.time_ns(), time.time_ns()))
            return run.plan.id, run.count("sex = 'f'").value

    first = asked()
    with pytest.raises(LedgerError, match="written again after this run was opened"):
        asked()
    with dv.Session(data, schema=SCHEMA, ledger=place) as session:
        assert 2 <= session.remaining.epsilon < 2.01
    labelled = asked(version="second")
    assert labelled[0] != first[0]
    assert asked(version="second") == labelled
    with dv.Session(data, schema=SCHEMA, ledger=place) as session:
        assert session.remaining.epsilon < 0.02


def test_lost_thresholds_end_the_run(session: dv.Session) -> None:
    run = session.online("sex", "level", **GUARDED)
    with Ledger.open(session.ledger_place)._store._own().writer.begin() as connection:
        connection.exec_driver_sql("DELETE FROM dovetail_runs")
    with pytest.raises(LedgerError, match="the run is over"):
        Online(session._account.begun, run.plan, run._domain, run._asker, run._run.truth.__self__)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_persons_are_used_up_to_their_bound(place: str, neighbours: Any) -> None:
    protects = {"unit": "who", "max_rows": 2, "neighbours": neighbours}
    with opened(place, epsilon=60, **protects) as session:
        run = session.online("sex", "level", **GUARDED)
        assert (run.plan.guard.rows, run.plan.guard.neighbours) == (2, neighbours)
        # 255 persons of three rows each, of which two count.
        assert int(run._run.truth.__self__.counts.sum()) == 510
        low, high = run.count().interval("0.999999")
        assert low <= 510 <= high


@pytest.mark.parametrize("protects", [{"unit": "who", "max_rows": 2}, {"protects": "rows"}])
def test_which_rows_of_a_person_count_is_decided_by_a_secret_of_the_ledger(
    place: str, protects: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever knew which rows count could add others that do not."""
    given, read = list[bytes](), OccupiedCells.read
    monkeypatch.setattr(OccupiedCells, "read", lambda *asked: given.append(asked[-1]) or read(*asked))
    with opened(place, **protects) as session:
        session.online("sex", "level", **GUARDED)
        secret = session._account.begun.secret
    assert given == [secret if "unit" in protects else b""]
    assert len(secret) == 32


def test_a_firing_is_stored_before_it_is_learnt_or_shown(
    session: dv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = session.online("sex", "level", **GUARDED)
    before = run._run.learner.hypothesis.cells.copy()

    def broken(self: DatasetAccount, *_: object) -> bool:
        raise LedgerError("The disk is full.")

    monkeypatch.setattr(DatasetAccount, "fire", broken)
    with pytest.raises(LedgerError, match="full"):
        run.count("sex = 'f' AND level = 1")
    assert np.array_equal(run._run.learner.hypothesis.cells, before)
    # Nobody can know what was seen: the hold stays used.
    assert run.updates_left == 7


def test_an_answer_is_stored_before_it_is_shown(session: dv.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    run = session.online("sex", "level", **GUARDED)

    def broken(self: DatasetAccount, *_: object) -> None:
        raise LedgerError("The disk is full.")

    with monkeypatch.context() as patched:
        patched.setattr(DatasetAccount, "settle", broken)
        with pytest.raises(LedgerError, match="full"):
            run.count("sex = 'f'")
    assert run.count("sex = 'f'").stored is False


def neighbouring() -> Iterator[Any]:
    for gone in (0, 434, 764):
        kept = [i for i in range(len(ROWS)) if i != gone]
        yield TABLE.take(kept)
    yield pyarrow.concat_tables([TABLE, TABLE.slice(0, 1)])


def public_parts(folder: Path) -> set[tuple[Any, ...]]:
    """Return what is public of a run on neighbouring tables, with all noise at 0 and one measured value."""
    seen = set()
    for number, table in enumerate([TABLE, *neighbouring()]):
        with opened(str(folder / f"{number}.ledger"), table) as session:
            run = session.online("sex", "level", **GUARDED)
            account = session._account.begun
            assert account is not None
            body = account.plan_state(run.plan.id).body
            first = run.count("sex = 'f' AND level = 1")
            told = tuple(told.answer for told in account.told(run.plan.id))
            seen.add((body, first.origin, told, run._run.learner.hypothesis.cells.tobytes()))
    return seen


def without_noise(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sparse_vector, "draw", lambda noise, source: 0)
    patch.setattr(sparse_vector, "measure", lambda guard, truth, source=None: 777)
    patch.setattr(first_measurement, "measure", lambda guard, truth: 777)


def test_everything_public_is_the_same_for_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T, N, h and all that is stored come from public facts and measured numbers alone."""
    without_noise(monkeypatch)
    assert len(public_parts(tmp_path)) == 1


@pytest.mark.parametrize("broken", ["number of rows", "first hypothesis", "what is learnt"])
def test_a_run_that_takes_something_from_the_data_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    without_noise(monkeypatch)
    if broken == "number of rows":
        monkeypatch.setattr(first_measurement, "measure", lambda guard, truth: truth)
    elif broken == "first hypothesis":
        true = Run.empty

        def learnt(shape: Any, rows: int, truth: Any, *rest: Any) -> Run:
            return true(shape, truth(Region.of(shape)), truth, *rest)

        monkeypatch.setattr(first_measurement.Run, "empty", learnt)
    else:
        measured = Learner.learn

        def taken(self: Learner, found: Measurement) -> None:
            (row,) = inspect.stack()[1:2]
            truth = row.frame.f_locals["self"].truth(found.region)
            measured(self, replace(found, value=truth))

        monkeypatch.setattr(Learner, "learn", taken)
    assert len(public_parts(tmp_path)) > 1


def test_inputs_of_the_wrong_kind_are_refused(session: dv.Session) -> None:
    run = session.online("sex", "level", **BASED)
    with pytest.raises(InvalidQuery):
        run.count(unchecked=1)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        session.online("sex", "level", **BASED | {"spend": "all"})
