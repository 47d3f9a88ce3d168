"""What a person reads at the command line about data that share rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from dovetail.cli.app import app

PRICE = ("--noise", "geometric:0.1")


@pytest.fixture
def months(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("months").mkdir()
    for name in ("jan", "feb"):
        Path("months", f"{name}.csv").write_text("x\n1\n")
    return Path("months")


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.stderr + result.stdout


def test_what_cannot_be_known_is_said_once_when_a_budget_begins(months: Path) -> None:
    code, said = run("release", "months", *PRICE, "--budget", "epsilon=1")
    assert (code, "copies and hard links" in said) == (0, True)
    code, said = run("release", "months", *PRICE)
    assert (code, "copies and hard links" in said) == (0, False)
    code, said = run("ledger", "create", "months/../other.csv", "--budget", "epsilon=1")
    assert code != 0
    assert "Copies" not in said


def test_a_file_of_a_folder_is_charged_to_the_folder(months: Path) -> None:
    run("release", "months", *PRICE, "--budget", "epsilon=1")
    code, said = run("release", "months/jan.csv", *PRICE)
    assert code == 0
    assert "epsilon 0.8" in said
    assert "second name for the source of 'months'" in said
    assert "months: epsilon at most 1" in run("ledger", "show", "months")[1]


def test_a_folder_around_a_file_with_a_budget_is_refused_and_an_explicit_ledger_is_a_choice(
    months: Path,
) -> None:
    run("release", "months/jan.csv", *PRICE, "--budget", "epsilon=1")
    code, said = run("release", "months", *PRICE, "--budget", "epsilon=1")
    assert code != 0
    assert "Move that ledger" in said
    code, said = run("release", "months", *PRICE, "--budget", "epsilon=1", "--ledger", "mine.ledger")
    assert code == 0
    assert "two budgets would add up" in said
