"""`dovetail online`: one condition a line, one line of JSON for each answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dovetail.cli.app import app
from dovetail.ledger import Ledger
from dovetail.ledger.entry_words import body_in_words

Run = Any
SCHEMA = """schema = "dovetail.schema/1"
[columns.region]
type = "text"
values = ["north", "south", "west"]
[columns.age]
type = "integer"
low = 0
high = 120
"""


@pytest.fixture
def command(people: Path) -> list[str]:
    people.with_suffix(".toml").write_text(SCHEMA)
    return [
        *("online", str(people), "--columns", "region,age", "--bins", "age=0,40,120"),
        *("--queries", "50", "--budget", "epsilon=8"),
    ]


def told(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


@pytest.mark.parametrize("more", [[], ["--base", "none", "--updates", "9"]])
def test_lines_of_a_file_are_answered(run: Run, command: list[str], tmp_path: Path, more: list[str]) -> None:
    asked = tmp_path / "asked.txt"
    asked.write_text("*\nregion = 'north'\n\nage >= 40 AND region = 'south'\n")
    found = told(run(*command, *more, "--questions", str(asked)).stdout)
    assert [each["where"] for each in found] == ["*", "region = 'north'", "age >= 40 AND region = 'south'"]
    assert abs(float(found[0]["value"]) - 300) < 60
    assert all(float(each["low"]) <= float(each["value"]) <= float(each["high"]) for each in found)
    again = told(run(*command, *more, "--questions", str(asked)).stdout)
    assert [each["value"] for each in again] == [each["value"] for each in found]


def test_a_line_that_cannot_be_answered_says_why(run: Run, command: list[str]) -> None:
    lines = "region = 'north'\nage > 50\nregion ==\n*\n"
    result = CliRunner().invoke(app, command, input=lines)
    found = told(result.stdout)
    assert ["error" in each for each in found] == [False, True, True, False]
    assert "splits a cell" in found[1]["error"]
    assert result.exit_code == 2


@pytest.mark.parametrize(
    "wrong",
    [
        ["--queries", "none"],
        ["--base", "tree"],
        ["--updates", "few"],
        ["--questions", "nowhere.txt"],
        ["--bins", "age"],
    ],
)
def test_wrong_words_spend_nothing(run: Run, command: list[str], people: Path, wrong: list[str]) -> None:
    run(*command, *wrong, code=2)
    assert not list(people.parent.rglob("*.ledger"))


def test_the_ledger_shows_the_run(run: Run, command: list[str], people: Path) -> None:
    CliRunner().invoke(app, command, input="*\n")
    (place,) = people.parent.rglob("*.ledger")
    Ledger.open(place).verify()
    run("ledger", "show", str(people))
    account = Ledger.open(place).account("people")
    (state,) = account.plans()
    assert body_in_words(state.body) == "online run over region, age"
    (first,) = account.told(state.id)
    assert body_in_words(first.body) == f"opening measurement of online run {state.id}"


def test_questions_that_are_no_text_are_refused_before_anything_is_spent(
    run: Run, command: list[str], tmp_path: Path
) -> None:
    (tmp_path / "asked.txt").write_bytes(b"region = 'n\xf6rd'\n")
    assert "UTF-8" in run(*command, "--questions", "asked.txt", code=2).stderr
    assert not list(tmp_path.glob("*.ledger"))


def test_a_typed_line_that_is_no_text_is_refused(run: Run, command: list[str]) -> None:
    result = CliRunner().invoke(app, command, input=b"*\nregion = 'n\xf6rd'\n")
    assert result.exit_code == 2
    assert "UTF-8" in result.stderr
