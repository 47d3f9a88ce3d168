"""The months of a dataset from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

MONTH = ("--name", "visits", "--ledger", "visits.ledger", "--noise", "geometric:0.25")


@pytest.fixture
def months(run, tmp_path: Path) -> Path:
    for name in ("jan", "feb"):
        (tmp_path / f"{name}.csv").write_text("ward\na\n")
    run("ledger", "create", "visits.ledger", "--dataset", "visits", "--budget", "epsilon=1")
    return tmp_path


def test_each_complete_month_has_the_whole_budget(run, months: Path) -> None:
    run("ledger", "vintages", "visits.ledger", "--disjoint")
    for label in ("jan", "feb"):
        shown = run("ledger", "vintages", "visits.ledger", "--complete", label).stdout
        assert "each vintage has the whole budget" in shown
        answer = run("release", f"{label}.csv", *MONTH, "--vintage", label).stdout
        assert answer.startswith(f"visits {label}: count")
        assert "remains   epsilon 0.75" in answer
    lines = run("ledger", "vintages", "visits.ledger").stdout.splitlines()
    assert sum("complete" in line and "0.75" in line for line in lines) == 2
    assert "remains  epsilon 0.75 of feb" in run("ledger", "show", "visits.ledger").stdout
    run("ledger", "verify", "visits.ledger")


def test_months_share_the_budget_unless_they_are_disjoint(run, months: Path) -> None:
    run("ledger", "vintages", "visits.ledger", "--add", "jan")
    assert "may still enter" in run("ledger", "vintages", "visits.ledger", "--add", "feb").stdout
    run("release", "jan.csv", *MONTH, "--vintage", "jan")
    assert "remains   epsilon 0.5" in run("release", "feb.csv", *MONTH, "--vintage", "feb").stdout
    assert "share the budget" in run("ledger", "vintages", "visits.ledger", "--complete", "jan").stdout


def test_a_month_that_nobody_declared_or_named_is_refused_with_the_command(run, months: Path) -> None:
    refused = run("release", "jan.csv", *MONTH, "--vintage", "jan", code=2).stderr
    assert "`dovetail ledger vintages LEDGER --complete jan`" in refused
    run("release", "jan.csv", *MONTH)
    asked = run("release", "feb.csv", *MONTH, code=5).stderr
    assert "Are these the same data" in asked
    assert "--same-data" in asked
    assert "remains   epsilon 0.5" in run("release", "feb.csv", *MONTH, "--same-data").stdout
    assert "nothing: given before" in run("release", "feb.csv", *MONTH).stdout


def test_a_month_of_another_name_is_no_second_budget_in_silence(run, months: Path) -> None:
    run("release", "jan.csv", "--within", "9", "--budget", "epsilon=1")
    asked = run("release", "feb.csv", "--within", "9", "--budget", "epsilon=1", code=5).stderr
    assert "jan.csv has the same columns and a budget already" in asked
    assert "--other-data" in asked
    run("release", "feb.csv", "--within", "9", "--budget", "epsilon=1", "--other-data")


def test_a_version_is_said_of_a_month_or_of_all(run, months: Path) -> None:
    run("ledger", "vintages", "visits.ledger", "--complete", "jan")
    assert (
        "corrected"
        in run(*("ledger", "vintages", "visits.ledger", "--of", "jan", "--data-version", "corrected")).stdout
    )
    run("ledger", "vintages", "visits.ledger", "--of", "jan", code=2)
    run("ledger", "vintages", "visits.ledger", "--of", "may", "--data-version", "x", code=2)
