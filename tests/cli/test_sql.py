"""SQL from the command line: the same payment, ledger and forms as every other question."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(age) FROM data GROUP BY sex ORDER BY n DESC"
ASKED = ("sql", "adult", BY_SEX, "--epsilon", "1")


def test_a_select_is_a_table_with_its_price(run) -> None:
    text = run(*ASKED, "--budget", "epsilon=3").stdout
    lines = [line.split() for line in text.splitlines()]
    assert ["sex", "n", "avg_age"] in lines
    assert [line[0] for line in lines if line[:1] in (["Male"], ["Female"])] == ["Male", "Female"]
    assert "cost      epsilon 1 in the worst case" in text
    assert "remains   epsilon 2" in text
    assert "protects  whether one row is in the data" in text


def test_json_and_csv_hold_the_same_noisy_table(run) -> None:
    rows = json.loads(run(*ASKED, "--budget", "epsilon=3", "--json").stdout)["rows"]
    table = list(csv.DictReader(io.StringIO(run(*ASKED, "--csv").stdout)))
    assert [row["sex"] for row in rows] == [row["sex"] for row in table]
    for kept, printed in zip(rows, table, strict=True):
        for end, title in (("value", "n"), ("low", "n_low"), ("high", "n_high")):
            assert kept["n"][end] == printed[title]


def test_the_same_question_in_sql_and_in_options_is_paid_once(run) -> None:
    run("release", "adult", "--by", "sex", "--within", "20", "--budget", "epsilon=1")
    again = "SELECT COUNT(*), sex FROM data GROUP BY 2"
    assert "nothing: given before, on" in run("sql", "adult", again, "--within", "20").stdout


def test_a_refusal_names_the_part_and_its_place_and_spends_nothing(run, tmp_path: Path) -> None:
    for text, place, said in (
        ("SELECT COUNT(*) FROM data JOIN x", "Line 1, column 27", "Join the tables beforehand"),
        ("SELECT sex, COUNT(*) FROM data", "Line 1, column 8", "Add it to GROUP BY"),
        ("SELECT COUNT(*) FROM data; DROP TABLE data", "Line 1, column 26", "one question at a time"),
    ):
        refused = run("sql", "adult", text, "--within", "20", "--budget", "epsilon=1", code=2)
        assert place in refused.stderr
        assert said in refused.stderr
        assert refused.stdout == ""
    assert not list(tmp_path.rglob("*.ledger"))


def test_planned_answers_pay_for_a_select_too(run) -> None:
    asked = ("--within", "20", "--queries", "2", "--budget", "epsilon=1")
    text = run("sql", "adult", "SELECT COUNT(*) FROM data", *asked).stdout
    assert "± 20" in text
    assert "1 of the 2 answers of this plan" in text
    refused = run("sql", "adult", "SELECT SUM(age) FROM data", *asked, code=2)
    assert "Only counts can be planned with an accuracy" in refused.stderr


def test_a_picture_of_a_select_is_written(run, tmp_path: Path) -> None:
    run(*ASKED, "--budget", "epsilon=3", "--plot", "out.svg")
    assert "<svg" in (tmp_path / "out.svg").read_text()


def test_groups_chosen_by_noisy_values_are_said_to_be(run) -> None:
    text = "SELECT education, COUNT(*) AS n FROM data GROUP BY education ORDER BY n DESC LIMIT 3"
    shown = run("sql", "adult", text, "--within", "20", "--budget", "epsilon=1").stdout
    assert "these hold for all groups at once" in shown
    assert "± 20" not in shown


def test_the_price_of_a_select_names_the_error_of_each_aggregate(run) -> None:
    said = run("price", "adult", "--sql", BY_SEX, "--epsilon", "1").stdout
    assert "rows ±6 in each cell; mean of age depends on the rows, which are private" in said
    assert (
        "not both" in run("price", "adult", "--sql", BY_SEX, "--by", "sex", "--epsilon", "1", code=2).stderr
    )


@pytest.mark.parametrize(
    "text", ["", ";", "SELECT", "hello", "SELECT 1", "SELECT '" + "x" * 30_000, "\x00", "é" * 90]
)
def test_whatever_is_no_question_is_a_usage_error(run, text: str) -> None:
    refused = run("sql", "adult", text, "--within", "20", "--budget", "epsilon=1", code=2)
    assert "should not have happened" not in refused.stderr
