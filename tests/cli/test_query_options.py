"""From options to a question: cells, bounds, weights and keys that are found out."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from pyarrow import csv, parquet

AGES = 'schema = "dovetail.schema/1"\n[columns.age]\ntype = "integer"\nlow = 0\nhigh = 99\n'


def test_a_table_without_a_schema_leads_to_one(run, people: Path) -> None:
    refused = run("release", "people.csv", "--by", "region", "--within", "5", "--budget", "epsilon=1", code=2)
    assert len(refused.stderr.splitlines()) <= 24
    commands = [line.strip() for line in refused.stderr.splitlines() if line.startswith("  dovetail ")]
    for command in commands[:3]:
        run(*command.split()[1:])
    # Without a schema, the values of a CSV file are texts.
    assert "--bins" not in refused.stderr
    parquet.write_table(csv.read_csv(people), people.with_suffix(".parquet"))
    people.with_suffix(".toml").unlink()
    refused = run(
        "release", "people.parquet", "--by", "age", "--within", "5", "--budget", "epsilon=1", code=2
    )
    assert "--bins age=0,18,65,120" in refused.stderr


def test_keys_can_be_named_in_the_question(run, people: Path) -> None:
    asked = ("release", "people.csv", "--by", "region", "--epsilon", "1", "--budget", "epsilon=9", "--json")
    rows = json.loads(run(*asked, "--keys", "region=north,south,nowhere").stdout)["rows"]
    assert [row["keys"]["region"] for row in rows] == ["north", "south", "nowhere"]
    assert abs(int(rows[2]["value"])) < 40
    assert "written COLUMN=VALUE" in run(*asked, "--keys", "north,south", code=2).stderr


def test_a_key_with_a_comma_stands_in_quotes(run, tmp_path: Path) -> None:
    (tmp_path / "towns.csv").write_text('town\nBern\n"Chur, GR"\n' * 100)
    asked = ("release", "towns.csv", "--by", "town", "--noise", "geometric:1", "--budget", "epsilon=9")
    rows = json.loads(run(*asked, "--keys", 'town=Bern, "Chur, GR"', "--json").stdout)["rows"]
    assert [row["keys"]["town"] for row in rows] == ["Bern", "Chur, GR"]
    assert all(abs(int(row["value"]) - 100) < 30 for row in rows)
    assert "double quotes are closed" in run(*asked, "--keys", 'town=Bern,"Chur, GR', code=2).stderr
    weighted = ("release", "towns.csv", "--weights", 'town="Chur, GR:1",Bern:0.5', "--step", "0.5")
    found = json.loads(run(*weighted, "--noise", "geometric:1", "--json").stdout)["rows"]
    assert abs(Fraction(found[0]["value"]) - 150) < 30


def test_cells_of_a_column_that_is_not_asked_for_are_pointed_out(run, people: Path) -> None:
    asked = ("release", "people.csv", "--by", "region", "--epsilon", "1", "--budget", "epsilon=9")
    refused = run(*asked, "--keys", "age=3,4", code=2).stderr
    assert "age is not one of them (region)" in " ".join(refused.split())


def test_bounds_come_from_the_schema_and_whole_numbers_need_no_step(run, people: Path) -> None:
    people.with_suffix(".toml").write_text(AGES)
    asked = ("release", str(people), "--epsilon", "1", "--budget", "epsilon=9")
    assert "mean of age" in run(*asked, "--mean", "age").stdout
    refused = run(*asked, "--sum", "region", code=2).stderr
    assert "--low 0 --high 100 --step 1" in refused
    assert "None" not in refused


def test_of_bounds_that_are_missing_only_those_are_asked_for(run, people: Path) -> None:
    columns = '[columns.region]\ntype = "text"\n[columns.height]\ntype = "number"\nlow = 0\nhigh = 2\n'
    columns += '[columns.joined]\ntype = "date"\n[columns.paid]\ntype = "number"\nreviewed = false\n'
    people.with_suffix(".toml").write_text('schema = "dovetail.schema/1"\n' + columns)
    people.write_text("region,height,joined,paid\nnorth,1.7,2024-02-29,5\n")
    asked = ("release", str(people), "--epsilon", "1", "--budget", "epsilon=9")
    told = [
        ("--mean", "height", "The step of height is not public.", "add --step 1, or declare it"),
        ("--median", "joined", "The bounds of joined are not public.", "add --low 2024-01-01"),
        ("--mean", "region", "The type of region is text", "Name another column."),
        ("--mean", "paid", "not yet reviewed", "schema confirm"),
    ]
    for option, column, problem, hint in told:
        refused = " ".join(run(*asked, option, column, code=2).stderr.split())
        assert problem in refused
        assert hint in refused


def test_spreads_are_asked_like_means(run, people: Path) -> None:
    people.with_suffix(".toml").write_text(AGES)
    asked = ("release", "people.csv", "--epsilon", "1")
    paid = ("--budget", "epsilon=9")
    assert "variance of age" in run(*asked, "--variance", "age", *paid).stdout
    assert "sample standard deviation of age" in run(*asked, "--std", "age", "--sample", *paid).stdout
    assert "--variance or --std" in run(*asked, "--mean", "age", "--sample", *paid, code=2).stderr
    assert "not both" in run(*asked, "--mean", "age", "--std", "age", *paid, code=2).stderr


def test_quantiles_and_ranges_are_asked_like_means(run, people: Path) -> None:
    people.with_suffix(".toml").write_text(AGES)
    asked = ("release", "people.csv", "--epsilon", "1", "--budget", "epsilon=9")
    assert "median of age" in run(*asked, "--median", "age").stdout
    rows = json.loads(run(*asked, "--quantiles", "age=0.25,0.75", "--json").stdout)["rows"]
    assert [row["keys"]["q"] for row in rows] == ["0.25", "0.75"]
    assert len(json.loads(run(*asked, "--ranges", "age", "--json").stdout)["rows"]) == 100
    assert "COLUMN=Q" in run(*asked, "--quantiles", "age", code=2).stderr
    assert "from 0 to 1" in run(*asked, "--quantiles", "age=2", code=2).stderr
    assert "quantiles='age=\"2'" in run(*asked, "--quantiles", 'age="2', code=2).stderr


def test_names_of_columns_may_follow_a_space_or_hold_a_comma(run, tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text('a, b,"c, d"\n1,2,3\n')
    cells = ("--keys", "a=1", "--keys", "b=2", "--keys", "c, d=3")
    asked = ("release", "odd.csv", "--by", 'a, b, "c, d"', *cells, "--epsilon", "1", "--budget", "epsilon=9")
    assert "count by a,  b, c, d" in run(*asked).stdout


def test_keys_without_the_columns_they_belong_to_are_refused(run) -> None:
    refused = run("release", "adult", "--keys", "sex=Male", "--epsilon", "1", "--budget", "epsilon=1", code=2)
    assert "Add --by" in refused.stderr


def test_unknown_keys_are_found_where_a_delta_pays(run) -> None:
    asked = ("release", "adult", "--by", "education", "--discover", "education")
    text = run(*asked, "--epsilon", "1", "--delta", "1e-8", "--budget", "epsilon=4,delta=1e-6").stdout
    assert "Bachelors" in text
    assert "rarer ones are left out by design" in " ".join(text.split())
    assert "epsilon 1 at delta" in text
    priced = run("price", *asked[1:], "--within", "5", "--delta", "1e-8").stdout
    assert "noisy count of at least 35" in priced
    told = json.loads(run(*asked, "--within", "5", "--delta", "1e-8", "--json").stdout)
    assert told["threshold"]["least"] == 35
    refused = run(*asked, "--epsilon", "1", code=2).stderr
    assert "Add --delta 1e-8 or --epsilon 0.5 --delta 1e-8" in " ".join(refused.split())
    run(*asked, "--delta", "1e-8", "--queries", "3", code=2)
    run("release", "adult", "--discover", "education", "--epsilon", "1", "--delta", "1e-8", code=2)


def test_unknown_keys_are_refused_without_a_delta_in_the_budget(run) -> None:
    asked = ("release", "adult", "--by", "education", "--discover", "education", "--within", "5")
    refused = run(*asked, "--delta", "1e-8", "--budget", "epsilon=1", code=2).stderr
    assert "asked under an (epsilon, delta) budget" in " ".join(refused.split())


DISCOVER = ("--by", "native_country", "--discover", "native_country", "--delta", "1e-8")
APPROXIMATE = ("--budget", "epsilon=3,delta=1e-6")


def test_where_no_key_reaches_the_threshold_the_answer_is_empty_and_stands(run, people: Path) -> None:
    asked = (
        "people.csv",
        "--by",
        "age",
        "--discover",
        "age",
        "--noise",
        "geometric:0.01",
        "--delta",
        "1e-12",
    )
    shown = run("release", *asked, *APPROXIMATE).stdout
    assert "(no cell)" in shown
    assert json.loads(run("release", *asked, "--json").stdout)["rows"] == []
    assert run("release", *asked, "--csv").stdout == "age,value,low,high,stored,answered_at\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*DISCOVER[:4], "--within", "20", *APPROXIMATE), "Finding keys in the rows costs a delta"),
        ((*DISCOVER, "--within", "20", "--budget", "epsilon=3"), "asked under an (epsilon, delta) budget"),
        ((*DISCOVER, "--within", "20", "--queries", "3", *APPROXIMATE), "left out with --queries"),
        (("--by", "sex", "--within", "20", "--delta", "1e-8", *APPROXIMATE), "delta=1e-08 must be left out"),
        (("--discover", "sex", "--within", "20", "--delta", "1e-8", *APPROXIMATE), "Add --by"),
        (("--by", "sex", "--discover", "age", "--within", "20", "--delta", "1e-8", *APPROXIMATE), "age"),
    ],
)
def test_what_cannot_be_found_out_is_a_usage_error_in_the_words_of_the_command_line(
    run, words: tuple[str, ...], said: str
) -> None:
    refused = run("release", "adult", *words, code=2).stderr
    assert said in refused
    assert "keys=" not in refused.replace("keys=['age']", "")


def test_weights_are_added_up_by_value(run) -> None:
    asked = (
        "release",
        "adult",
        "--weights",
        "sex=Female:1,Male:-0.5",
        "--step",
        "0.5",
        "--noise",
        "geometric:2",
    )
    assert "adult: weighted sum over sex" in run(*asked, "--budget", "epsilon=9").stdout
    found = json.loads(run(*asked, "--json").stdout)
    assert abs(Fraction(found["rows"][0]["value"]) - (10771 - Fraction(21790, 2))) < 20
    assert found["charge"]["epsilon"] == "2"
    assert "±1.5, with probability" in run("price", *asked[1:]).stdout


@pytest.mark.parametrize(
    "words",
    [
        ("--weights", "sex=Female:1,Male:-0.5"),
        ("--weights", "sex=Female:1", "--step", "1", "--by", "race"),
        ("--weights", "sex=Female", "--step", "1"),
        ("--weights", "sex=Female:2", "--step", "1"),
        ("--weights", "sex=Female:nan", "--step", "1"),
        ("--weights", "=Female:1", "--step", "1"),
        ("--weights", "sex=Female:1", "--step", "0"),
        ("--weights", "sex=Female:1", "--step", "1", "--sum", "age"),
    ],
)
def test_wrong_weights_are_usage_errors(run, words: tuple[str, ...]) -> None:
    refused = run("release", "adult", *words, "--noise", "geometric:1", "--budget", "epsilon=9", code=2)
    assert "should not have happened" not in refused.stderr
