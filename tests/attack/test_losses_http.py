"""Months, allotments and online runs over HTTP: what is sold, and what a row loses by all of it.

The truth behind each answer is kept aside. Between neighbouring tables it must differ by no more than the
budget of a month, an allotment or a run allows, and each rule is broken once to see that this is noticed.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

import dovetail as dv
from dovetail.ledger import DatasetAccount, vintages
from dovetail.online import first_measurement, session_runs, sparse_vector
from dovetail.release import releaser
from dovetail.release.mechanism import ReleasedCells
from dovetail.service.settings import DeclaredDataset, Limits
from online_transcripts import HEARD_ROWS, MEASURED, Heard
from service.conftest import House, open_house

MONTHS = ("jan", "feb")
RATE = Fraction(1, 2)
WHOLE = {"ask": "count"}
COUNT = {"question": WHOLE, "pay": {"noise": dv.Geometric(RATE).to_dict(), "fresh": True}}
MANY = Limits(rate="100000/minute")


@pytest.fixture
def true(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the true counts behind the answers; what is released is always the same."""
    seen: list[int] = []

    def noised(cells: Any, components: Any, noises: Any) -> ReleasedCells:
        seen.append(int(cells[0][0]))
        return ReleasedCells(((7,),))

    monkeypatch.setattr(releaser, "noised", noised)
    return seen


def counted(house: House, who: str, name: str, **more: Any) -> int:
    given = house.people[who].post(f"/v1/datasets/{name}/answers", COUNT | more)
    assert given.status_code in (200, 409), given.text
    assert given.status_code == 200 or given.json()["code"] == "budget-exceeded"
    return int(given.status_code)


# January alone, both, and so on: what each month pays for is gone after two questions.
MIXED = (("jan",), ("jan", "feb"), ("feb",), ("jan", "feb"), ("feb",))


def month_losses(folder: Path, true: list[int]) -> list[Fraction]:
    """Return what a row more of January and one more of February lose in all that an analyst is told."""
    declared = []
    for name, more in (("t0", (0, 0)), ("t1", (1, 0)), ("t2", (0, 1))):
        for label, rows in zip(MONTHS, more, strict=True):
            (folder / f"{name}-{label}.csv").write_text("age\n" + "40\n" * (2 + rows))
        declared.append(DeclaredDataset(name, {"path": str(folder / f"{name}-jan.csv")}, dv.Budget.pure(1)))
    house = open_house(folder, declared=tuple(declared), data_roots={"data": folder}, limits=MANY)
    found, statuses = [], set()
    with house.client:
        for each in declared:
            house.ledger.people.grant("ann", each.name, dv.Budget.pure(1))
            house.ledger.account(each.name).declare_disjoint()
            for label in MONTHS:
                source = {"root": "data", "path": f"{each.name}-{label}.csv"}
                body = {"label": label, "source": source, "complete": True}
                assert house.carl.post(f"/v1/datasets/{each.name}/vintages", body).status_code == 201
            true.clear()
            statuses.add(tuple(counted(house, "ann", each.name, vintages=labels) for labels in MIXED))
            found.append(list(true))
    assert len(statuses) == 1
    first, *others = found
    return [
        sum((RATE * abs(a - b) for a, b in zip(first, other, strict=True)), Fraction(0)) for other in others
    ]


def test_a_row_of_one_month_loses_the_budget_of_its_month(tmp_path: Path, true: list[int]) -> None:
    assert month_losses(tmp_path, true) == [1, 1]


def test_a_service_that_charges_one_month_of_several_is_caught(
    tmp_path: Path, true: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    borne = vintages._bearing
    monkeypatch.setattr(vintages, "_bearing", lambda *given: borne(*given)[:1])
    assert max(month_losses(tmp_path, true)) > 1


ALLOTTED = {"ann": Fraction(1, 2), "bob": Fraction(1)}
CAP = Fraction(1)


def sold_by_rule(sequence: tuple[str, ...]) -> list[int]:
    """Tell which questions of a half each are paid, where everyone has an allotment and all have a cap."""
    spent, found = dict.fromkeys(ALLOTTED, Fraction(0)), []
    for who in sequence:
        paid = spent[who] + RATE <= ALLOTTED[who] and sum(spent.values()) + RATE <= CAP
        spent[who] += RATE if paid else 0
        found.append(200 if paid else 409)
    return found


def differing(folder: Path) -> list[tuple[str, ...]]:
    """Ask every sequence of three questions by two analysts; return those that are not sold by the rule."""
    found = []
    sequences = {f"t{number}": each for number, each in enumerate(product(ALLOTTED, repeat=3))}
    for name in sequences:
        (folder / f"{name}.csv").write_text("age\n40\n40\n")
    declared = [
        DeclaredDataset(name, {"path": str(folder / f"{name}.csv")}, dv.Budget.pure(CAP))
        for name in sequences
    ]
    house = open_house(folder, declared=tuple(declared), limits=MANY)
    with house.client:
        for name, sequence in sequences.items():
            for who, allotment in ALLOTTED.items():
                house.ledger.people.grant(who, name, dv.Budget.pure(allotment))
            if [counted(house, who, name) for who in sequence] != sold_by_rule(sequence):
                found.append(sequence)
    return found


def test_every_sequence_of_two_analysts_is_sold_as_allotments_and_the_budget_allow(tmp_path: Path) -> None:
    assert differing(tmp_path) == []


def test_a_service_that_forgets_allotments_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pay = DatasetAccount._pay

    def forgetful(self: Any, writer: Any, dataset: Any, grant: Any, *more: Any) -> Any:
        return pay(self, writer, dataset, None, *more)

    monkeypatch.setattr(DatasetAccount, "_pay", forgetful)
    assert differing(tmp_path)


SCHEMA = dv.Schema([dv.Column("c", "integer", values=[0, 1])])
TABLES: list[tuple[int, ...]] = [(), (0,), (0, 1)]
SCRIPTS = [(0, 0), (0, 1), (1, 0), (1, -1), (-1, 1)]
WISH = {"columns": ["c"], "queries": 2, "ways": 1, "base": None, "updates": 2, "spend": {"epsilon": "3"}}


class Scripted:
    """Tests that say what a script says and note what they were asked."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.waiting: list[int] = []
        self.errors: list[int] = []
        designed = session_runs.design_online
        kept = lru_cache(lambda shape, given: designed(shape, **dict(given)))
        patch.setattr(
            session_runs,
            "design_online",
            lambda shape, **given: kept(shape, tuple(sorted(given.items(), key=str))),
        )
        patch.setattr(sparse_vector, "verdict", self.verdict)
        patch.setattr(sparse_vector, "measure", lambda guard, truth, source=None: MEASURED)
        patch.setattr(first_measurement, "measure", lambda guard, truth: HEARD_ROWS)

    def verdict(self, guard: Any, thresholds: Any, error: int, source: Any = None) -> int:
        self.errors.append(error)
        return self.waiting.pop(0)


def heard(house: House, name: str, table: tuple[int, ...], script: tuple[int, ...], by: Scripted) -> Heard:
    """Open a run and ask two questions, the second of which depends on the first answer."""
    by.waiting, by.errors = list(script), []
    opened = house.ann.post(f"/v1/datasets/{name}/runs", WISH)
    assert opened.status_code == 201, opened.text
    public = [opened.json()["within"], opened.json()["price"]]
    place, where = f"/v1/runs/{opened.json()['id']}/answers", "c = 0"
    truths = [table.count(0), len(table)]
    for number in range(2):
        told = house.ann.post(place, {"question": {"ask": "count", "where": where} if where else WHOLE})
        assert told.status_code == 200, told.text
        (answer,) = told.json()["answers"]
        (row,) = answer["rows"]
        public.append([row, told.json()["updates_left"]])
        if not number:
            checked = row["origin"] == "checked"
            where, truths[1] = ("c = 1", table.count(1)) if checked else ("", len(table))
    (run,) = house.app.service.served.find(name).runs.values()
    tests = [
        (outcome, truth, truth - error)
        for outcome, truth, error in zip(script, truths, by.errors, strict=True)
    ]
    return Heard(run.plan.guard, len(table), float(run.plan.charge.epsilon), tests, tuple(map(str, public)))


@pytest.mark.slow
def test_no_transcript_of_a_run_over_http_costs_more_than_was_paid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All neighbours, all outcomes; a run that tells what it counted costs more, and is caught."""
    by, declared = Scripted(monkeypatch), {}
    for number, (table, script) in enumerate(product(TABLES, SCRIPTS)):
        place = tmp_path / f"t{number}.parquet"
        parquet.write_table(pyarrow.table({"c": pyarrow.array(table, pyarrow.int64())}), place)
        declared[table, script] = DeclaredDataset(
            f"t{number}", {"path": str(place)}, dv.Budget.pure(3), SCHEMA
        )
    house = open_house(tmp_path, declared=tuple(declared.values()), limits=MANY)
    with house.client:
        found = {}
        for (table, script), each in declared.items():
            house.ledger.people.grant("ann", each.name, dv.Budget.pure(3))
            found[table, script] = heard(house, each.name, table, script, by)
    for script in SCRIPTS:
        told = {(found[table, script].public, found[table, script].guesses) for table in TABLES}
        assert len(told) == 1, "what is told depends on the outcomes alone"
    pairs = [(TABLES[at], TABLES[at + step]) for at, step in ((0, 1), (1, -1), (1, 1), (2, -1))]
    worst = {noisy: most_lost(found, pairs, noisy) for noisy in (True, False)}
    paid = found[(), SCRIPTS[0]].paid
    assert 0.3 * paid < worst[True] <= paid <= 3
    assert worst[False] > paid


def most_lost(found: dict[Any, Heard], pairs: list[Any], noisy: bool) -> float:
    return max(
        found[one, script].log_chance(noisy) - found[other, script].log_chance(noisy)
        for one, other in pairs
        for script in SCRIPTS
        if found[one, script].log_chance(noisy) > -inf
    )
