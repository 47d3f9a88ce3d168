"""Persons from the command line: who is protected is said, recorded and never mixed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

PERSONS = ("--unit", "patient", "--max-rows", "4", "--max-cells", "2")
WARDS = ("--by", "ward", "--keys", "ward=surgery,eyes")
PAID = ("--noise", "geometric:2", "--budget", "epsilon=30")


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    """Return ninety patients with five or six visits each."""
    path = tmp_path / "visits.csv"
    rows = [f"p{i % 90},{('surgery', 'eyes')[i % 2]},{i % 9}" for i in range(500)]
    path.write_text("patient,ward,days\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("command", ["release", "price"])
@pytest.mark.parametrize(
    ("neighbours", "said"),
    [
        (
            "add-remove",
            "whether one person (patient) is in the data, with all their rows",
        ),
        ("replace", "what all rows of one person (patient) contain"),
    ],
)
def test_what_is_protected_is_the_person(run, visits: Path, command: str, neighbours: str, said: str) -> None:
    text = run(command, "visits.csv", *WARDS, *PERSONS, *PAID, "--neighbours", neighbours).stdout
    assert f"protects  {said}" in " ".join(text.split(" ")).replace("protects    ", "protects  ")
    assert "one row" not in text


def test_bounded_rows_and_their_sensitivity_are_those_of_the_library(run, visits: Path) -> None:
    import dovetail as dv

    kept = json.loads(run("release", "visits.csv", *WARDS, *PERSONS, *PAID, "--json").stdout)
    assert kept["query"]["persons"] == {"unit": ["patient", "text"], "max_rows": 4, "max_cells": 2}
    total = sum(int(row["value"]) for row in kept["rows"])
    assert abs(total - 4 * 90) < 60
    with dv.Session("visits.csv", unit="patient", max_rows=4, max_cells=2) as session:
        question = dv.Histogram("ward", keys=["surgery", "eyes"])
        assert kept["charge"] == session.quote(question, noise=dv.Geometric(2)).charge.to_dict()


def test_persons_are_counted_once_each(run, visits: Path) -> None:
    shown = run("release", "visits.csv", "--distinct", *PERSONS, *PAID).stdout
    assert shown.startswith("visits: count of persons\n")
    found = json.loads(run("release", "visits.csv", "--distinct", *PERSONS, *PAID, "--json").stdout)
    assert abs(int(found["rows"][0]["value"]) - 90) < 20
    cells = json.loads(run("release", "visits.csv", "--distinct", *WARDS, *PERSONS, *PAID, "--json").stdout)
    assert len(cells["rows"]) == 2
    counted = "SELECT COUNT(DISTINCT patient) FROM data"
    assert "nothing: given before" in run("sql", "visits.csv", counted, *PERSONS, *PAID).stdout


def test_at_most_no_row_is_no_bound(run, visits: Path) -> None:
    asked = ("price", "visits.csv", "--contributions", "--unit", "patient", "--epsilon", "1")
    assert "most-rows=0 must be" in run(*asked, "--most-rows", "0", code=2).stderr


def test_an_interval_is_said_to_be_about_what_is_used(run, visits: Path) -> None:
    assert "holds the true number for the rows used" in run("release", "visits.csv", *PERSONS, *PAID).stdout


def test_rows_are_not_charged_to_a_budget_of_persons(run, visits: Path) -> None:
    run("release", "visits.csv", *PERSONS, *PAID)
    refused = run("release", "visits.csv", *PAID, code=5)
    assert "protects a person ('patient') added or removed, not a row" in refused.stderr


def test_a_ledger_is_created_for_persons(run, visits: Path) -> None:
    run("ledger", "create", "visits.csv", "--unit", "Patient", "--budget", "epsilon=30")
    assert "protects a person ('patient') added or removed" in run("ledger", "show", "visits.csv").stdout
    run("release", "visits.csv", *PERSONS, *PAID)
    run("release", "visits.csv", *PAID, code=5)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--distinct",), "--unit"),
        (("--max-rows", "4"), "--unit"),
        (("--max-cells", "4"), "--unit"),
        (("--unit", "patient"), "--max-rows"),
        (("--unit", "nobody", "--max-rows", "4"), "not a column"),
        (("--unit", "patient", "--max-rows", "0"), "max-rows='0'"),
        (("--unit", "patient", "--max-rows", "nan"), "max-rows='nan'"),
        (("--unit", "patient", "--max-rows", "1e9"), "max-rows='1e9'"),
        (("--unit", "patient", "--max-rows", "4", "--max-cells", "-1"), "max-cells='-1'"),
        (("--distinct", "--sum", "days"), "not both"),
    ],
)
def test_half_of_what_persons_need_is_a_usage_error(
    run, visits: Path, more: tuple[str, ...], said: str
) -> None:
    refused = run("release", "visits.csv", *PAID, *more, code=2)
    assert said in refused.stderr
    assert "unit=" not in refused.stderr


def test_a_planned_accuracy_is_not_promised_for_many_rows_of_one_person(run, visits: Path) -> None:
    asked = ("--within", "20", "--queries", "3", "--budget", "epsilon=3")
    assert (
        "Only counts can be planned" in run("release", "visits.csv", *WARDS, *PERSONS, *asked, code=2).stderr
    )
    shown = run("release", "visits.csv", "--distinct", *WARDS, *PERSONS, *asked).stdout
    assert "± 20" in shown
    assert "1 of the 3 answers of this plan" in shown


def test_whom_the_first_budget_protects_is_asked_and_a_flag_answers(run, tmp_path: Path) -> None:
    Path("stays.csv").write_text("ward,patient_id\na,1\n")
    words = ("release", "stays.csv", "--noise", "geometric:0.2", "--budget", "epsilon=1")
    refused = run(*words, code=2).stderr
    assert "patient_id seems to identify persons" in refused
    assert "--unit patient_id --max-rows 5 protects each person with all their rows" in refused
    assert "--rows protects single rows" in refused
    assert not Path("stays.csv.ledger").exists()
    assert "whether one row is in the data" in run(*words, "--rows").stdout
    run("release", "stays.csv", "--noise", "geometric:0.2", "--where", "ward = 'a'")
    assert (
        "seems to identify persons"
        in run("ledger", "create", "stays.csv", "--dataset", "more", "--budget", "epsilon=1", code=2).stderr
    )
    run(
        "ledger",
        "create",
        "x.ledger",
        "--dataset",
        "y",
        "--budget",
        "epsilon=1",
        "--unit",
        "a",
        "--rows",
        code=2,
    )
    Path("plain.csv").write_text("id,b\n1,2\n")
    noted = run("release", "plain.csv", "--noise", "geometric:0.2", "--budget", "epsilon=1").stderr
    assert "If id identifies persons" in noted
