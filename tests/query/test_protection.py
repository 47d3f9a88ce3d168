"""Whom a budget protects is a decision where the data seem to have persons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.errors import BudgetMismatch, InvalidParameter, UndecidedUnit
from dovetail.ledger import Ledger
from dovetail.query.protection import named_for_persons

ONE = dv.Budget.pure(1)
COST = dv.Geometric("0.25")


def opened(folder: Path, *columns: str, **options: Any) -> dv.Session:
    table = pyarrow.table({name: ["a", "b"] for name in columns})
    settings: dict[str, Any] = {"name": "visits", "budget": ONE, "ledger": folder / "a.ledger"}
    return dv.Session(table, **(settings | options))


PERSONS = (
    "patient_id",
    "PatientID",
    "customer_no",
    "customer number",
    "userid",
    "person",
    "Student-Nr",
    "SSN",
)
OTHERS = ("patient_age", "id", "uuid", "age", "users", "membership", "customer_since", "code", "number", "")


@pytest.mark.parametrize("name", PERSONS)
def test_a_name_for_persons_is_known(name: str) -> None:
    assert named_for_persons(name)


@pytest.mark.parametrize("name", OTHERS)
def test_other_names_are_not_taken_for_persons(name: str) -> None:
    assert not named_for_persons(name)


def test_the_first_charge_must_say_whom_it_protects(tmp_path: Path) -> None:
    with opened(tmp_path, "ward", "patient_id") as session:
        # A quote begins nothing.
        assert session.price(dv.Count(), noise=COST).epsilon
        for ask in (lambda: session.count(noise=COST), lambda: session.plan(COST, queries=2)):
            with pytest.raises(InvalidParameter) as caught:
                ask()
            said = str(caught.value)
            assert "patient_id seems to identify persons" in said
            assert "unit='patient_id' with max_rows=5 protects each person with all their rows" in said
            assert 'protects="rows" protects single rows' in said
    with pytest.raises(InvalidParameter, match="seems to identify persons"):
        opened(tmp_path, "patient_id", queries=3)
    assert not (tmp_path / "a.ledger").exists()


@pytest.mark.parametrize("options", [{"protects": "rows"}, {"unit": "patient_id", "max_rows": 2}])
def test_either_is_enough_and_it_is_asked_once(tmp_path: Path, options: dict[str, Any]) -> None:
    with opened(tmp_path, "ward", "patient_id", **options) as session:
        session.count(noise=COST)
    if "unit" not in options:
        with opened(tmp_path, "ward", "patient_id") as session:
            assert session.count(noise=COST).stored


def test_a_declared_id_counts_and_a_list_of_values_is_none(tmp_path: Path) -> None:
    declared = dv.Schema([dv.Column("ward", "text", kind="id")])
    with (
        opened(tmp_path, "ward", schema=declared) as session,
        pytest.raises(InvalidParameter, match="ward seems"),
    ):
        session.count(noise=COST)
    listed = dv.Schema([dv.Column("member", "text", values=["yes", "no"])])
    with opened(tmp_path, "member", schema=listed) as session:
        session.count(noise=COST)


def test_a_bare_id_is_a_note(tmp_path: Path) -> None:
    with (
        opened(tmp_path, "id", "ward") as session,
        pytest.warns(UndecidedUnit, match="If id identifies persons"),
    ):
        session.count(noise=COST)
    with opened(tmp_path, "id", "ward") as session:
        session.count(where="ward = 'a'", noise=COST)


@pytest.mark.parametrize("wrong", ["persons", "row", 1])
def test_rows_is_all_that_can_be_said_without_a_unit(tmp_path: Path, wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match="protects"):
        opened(tmp_path, "ward", protects=wrong)
    with pytest.raises(InvalidParameter, match="left out beside a unit"):
        opened(tmp_path, "ward", protects="rows", unit="ward", max_rows=1)


def test_whom_it_protects_is_free_to_change_until_the_first_charge(tmp_path: Path) -> None:
    place = tmp_path / "a.ledger"
    with Ledger.create(place) as ledger:
        ledger.account("visits", budget=ONE, protects="a row added or removed")
    rows = opened(tmp_path, "ward", "patient_id", protects="rows")
    with opened(tmp_path, "ward", "patient_id", unit="patient_id", max_rows=2) as persons:
        # Who still has rows in mind cannot charge a budget that protects persons now.
        with pytest.raises(BudgetMismatch, match=r"protects a person \('patient_id'\)"):
            rows.count(noise=COST)
        with pytest.raises(BudgetMismatch, match="protects a person"):
            rows.plan(COST, queries=2)
        persons.count(noise=COST)
    rows.close()
    with pytest.raises(BudgetMismatch, match=r"The first charge fixed it.*under another name"):
        opened(tmp_path, "ward", "patient_id", protects="rows")
    with Ledger.open(place) as ledger:
        ledger.verify()


def test_a_vintage_that_is_disjoint_keeps_rows(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "a.ledger") as ledger:
        account = ledger.account("visits", budget=ONE, protects="a row added or removed")
        account.declare_disjoint()
    with pytest.raises(BudgetMismatch):
        opened(tmp_path, "ward", "patient_id", unit="patient_id", max_rows=2)


def test_a_draft_proposes_ids_without_their_values(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("patient_id,ward\n17,a\n18,b\n")
    drafted = dv.Schema.draft(path)
    found = drafted.get("patient_id")
    assert found is not None
    assert (found.kind, found.low, found.high, found.values) == ("id", None, None, None)
    drafted.write(tmp_path / "visits.toml")
    text = (tmp_path / "visits.toml").read_text()
    assert 'kind = "id"' in text
    assert "17" not in text
    assert dv.Schema.read(tmp_path / "visits.toml").get("patient_id") == found
    with pytest.raises(InvalidParameter, match="kind"):
        dv.Column("x", "text", kind="person")
    with pytest.raises(InvalidParameter, match="left out for a date column"):
        dv.Column("x", "date", kind="id")
