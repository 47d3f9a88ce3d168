"""Stored answers, and prices that nobody typed, from the command line."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest


@pytest.mark.parametrize("asked", [("release", "--by", "region", "--keys", "region=north,south"), ("sql",)])
def test_a_stored_answer_about_other_rows_stops_until_it_is_said_which(run, people: Path, asked) -> None:
    command, *rest = asked
    rest = rest or ["SELECT COUNT(*) FROM data"]
    words = (command, "people.csv", *rest, "--within", "5")
    run(*words, "--budget", "epsilon=2")
    os.utime(people, ns=(1, 1))
    refused = run(*words, code=2)
    assert refused.stdout == ""
    assert "the data have changed since" in refused.stderr
    assert "--fresh pays for a new one, --stored shows this one" in refused.stderr
    shown = run(*words, "--stored")
    assert re.match(r"stored \d+ \w+ \d{4}; the data have changed since\n", shown.stdout)
    assert shown.stderr == ""
    assert "stale" in run(*words, "--stored", "--csv").stdout.split("\n")[0]
    assert "changed since" in run("price", "people.csv", *_priced(command, rest), "--within", "5").stdout
    assert "changed since" not in run(*words, "--fresh").stdout
    assert "nothing: given before" in run(*words).stdout
    run(*words, "--fresh", "--stored", code=2)


def _priced(command: str, rest: list[str]) -> list[str]:
    return ["--sql", *rest] if command == "sql" else rest


def test_a_label_says_which_state_of_the_data_is_there(run, people: Path) -> None:
    words = ("release", "people.csv", "--within", "5")
    run(*words, "--budget", "epsilon=1", "--data-version", "May")
    os.utime(people, ns=(1, 1))
    assert "nothing: given before" in run(*words, "--data-version", "May").stdout
    run(*words, "--data-version", "June", code=2)


def test_an_answer_that_is_exact_enough_is_free(run, people: Path) -> None:
    run("release", "people.csv", "--within", "5", "--budget", "epsilon=1")
    assert "cost      nothing: given before" in run("release", "people.csv", "--within", "8").stdout
    assert "cost        nothing: answered on" in run("price", "people.csv", "--within", "8").stdout


def test_a_price_that_nobody_typed_needs_a_yes(run) -> None:
    words = ("adult", "--within", "1", "--probability", "0.99999", "--budget", "epsilon=20")
    refused = run("release", *words, code=2).stderr
    assert "Confirm a price this high" in refused
    assert re.search(r"add --yes, or --epsilon \d+\.\d+ instead of --within\. Epsilon 1 would buy ±", refused)
    run("sql", "adult", "SELECT COUNT(*) FROM data", *words[1:], code=2)
    run("release", *words, "--yes")
    assert "± 1" in run("sql", "adult", "SELECT COUNT(*) FROM data", *words[1:], "--yes").stdout
