"""Releasing and pricing from the command line."""

from __future__ import annotations

import csv
import io
import json
from fractions import Fraction
from pathlib import Path

import pytest

import dovetail as dv

EDUCATION = ("release", "adult", "--by", "education", "--within", "5")


def test_one_command_gives_a_first_histogram(run) -> None:
    text = run(*EDUCATION, "--budget", "epsilon=1").stdout
    assert "Bachelors" in text
    assert "± 5" in text
    assert "remains   epsilon 0.46182" in text


def test_a_pipe_gets_no_colours_and_no_line_beyond_80(run) -> None:
    text = run(*EDUCATION, "--budget", "epsilon=1").stdout
    assert "\x1b" not in text
    chart = text.split("\n\n")[0].splitlines()
    assert max(map(len, chart)) <= 80
    assert len(chart) == 17


def test_the_same_question_again_is_free_and_the_same(run) -> None:
    first = run(*EDUCATION, "--budget", "epsilon=1", "--json").stdout
    again = run(*EDUCATION, "--json").stdout
    assert json.loads(first)["rows"] == json.loads(again)["rows"]
    assert json.loads(again)["stored"]
    assert "nothing: given before, on" in run(*EDUCATION).stdout


def test_a_question_beyond_the_budget_is_exit_code_3(run) -> None:
    run(*EDUCATION, "--budget", "epsilon=1")
    refused = run("release", "adult", "--by", "sex", "--within", "5", code=3)
    assert refused.stdout == ""
    assert "only epsilon 0.46182 remains" in refused.stderr
    assert "Nothing was spent" in refused.stderr


def test_json_and_csv_hold_the_same_rows(run) -> None:
    rows = json.loads(run(*EDUCATION, "--budget", "epsilon=1", "--json").stdout)["rows"]
    table = list(csv.DictReader(io.StringIO(run(*EDUCATION, "--csv").stdout)))
    assert [int(row["value"]) for row in table] == [int(row["value"]) for row in rows]
    assert [row["education"] for row in table] == [row["keys"]["education"] for row in rows]


def test_the_interval_is_the_one_that_was_asked_for(run) -> None:
    asked = (*EDUCATION, "--probability", "0.999", "--budget", "epsilon=3", "--csv")
    for row in csv.DictReader(io.StringIO(run(*asked).stdout)):
        assert int(row["high"]) - int(row["low"]) == 10


def test_a_picture_is_written(run, tmp_path: Path) -> None:
    run(*EDUCATION, "--budget", "epsilon=1", "--plot", "out.png")
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["out.txt", "missing/out.png"])
def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_spent(
    run, tmp_path: Path, name: str
) -> None:
    run(*EDUCATION, "--budget", "epsilon=1", "--plot", name, code=2)
    assert not list(tmp_path.rglob("*.ledger"))


def test_sums_means_bins_and_where_work(run) -> None:
    asked = (
        "release",
        "adult",
        "--ledger",
        "a.ledger",
        "--budget",
        "epsilon=100",
        "--json",
        "--epsilon",
        "5",
    )
    ages = json.loads(run(*asked, "--by", "age", "--bins", "age=0,30,60,120").stdout)["rows"]
    assert [row["keys"]["age"] for row in ages] == ["[0, 30)", "[30, 60)", "[60, 120)"]
    mean = json.loads(run(*asked, "--mean", "age", "--low", "0", "--high", "100").stdout)["rows"][0]
    assert 38 < float(mean["value"]) < 39
    total = json.loads(run(*asked, "--sum", "age", "--by", "sex").stdout)["rows"]
    assert len(total) == 2
    count = json.loads(run(*asked, "--where", "age >= 40 AND sex = 'Female'").stdout)["rows"][0]
    assert abs(int(count["value"]) - 4209) < 50


def test_every_output_shows_the_probability_that_was_asked_for(run) -> None:
    asked = ("release", "adult", "--by", "sex", "--within", "5", "--probability", "0.8")
    shown = run(*asked, "--budget", "epsilon=1").stdout
    assert "± 5 " in shown
    assert "probability 80 % or more" in shown
    kept = json.loads(run(*asked, "--json").stdout)
    assert kept["level"] == "0.8"
    assert all(int(row["high"]) - int(row["value"]) == 5 for row in kept["rows"])
    planned = (*asked, "--queries", "2", "--budget", "epsilon=9", "--name", "planned", "--ledger", "p.ledger")
    assert json.loads(run(*planned, "--json").stdout)["level"] == "0.8"


def test_a_planned_budget_is_shared_among_its_answers(run) -> None:
    asked = ("release", "adult", "--queries", "2", "--where")
    first = run(*asked, "age > 40", "--budget", "epsilon=1").stdout
    assert "one of 2 answers paid for in advance (epsilon 1 in the worst case, zeta 0.647458" in first
    assert "remains   1 of the 2 answers of this plan; outside it epsilon 0" in first
    assert "remains   0 of the 2 answers" in run(*asked, "age > 50").stdout
    assert "2 answers" in run(*asked, "age > 60", code=3).stderr


def test_an_accuracy_for_many_answers_is_designed_and_paid_together(run) -> None:
    asked = (
        "release",
        "adult",
        "--within",
        "20",
        "--queries",
        "10",
        "--json",
        "--budget",
        "epsilon=3,delta=1e-6",
    )
    first = json.loads(run(*asked, "--by", "sex").stdout)
    second = json.loads(run(*asked, "--by", "race").stdout)
    assert first["plan"] == second["plan"]
    assert len(first["noise"]["rates"]) > 1
    noise = dv.noise.from_dict(first["noise"])
    assert noise.within(20) >= 0.95
    assert first["remaining"] == second["remaining"]
    assert (
        3 - float(Fraction(first["remaining"]["epsilon"]))
        < dv.privacy_loss(dv.Geometric("0.14")).compose(10).epsilon
    )


def test_a_noise_for_many_answers_is_one_plan(run) -> None:
    asked = (
        "release",
        "adult",
        "--noise",
        "mixture:0.2,1,5",
        "--queries",
        "2",
        "--budget",
        "epsilon=9",
        "--where",
    )
    run(*asked, "age > 40")
    run(*asked, "age > 50")
    run(*asked, "age > 60", code=3)
    events = json.loads(run("ledger", "export", "adult", "--json").stdout)["events"]
    assert [event["kind"] for event in events].count("plan") == 1


def test_a_question_that_cannot_be_asked_opens_no_plan(run, tmp_path: Path) -> None:
    asked = (
        "release",
        "adult",
        "--noise",
        "geometric:0.1",
        "--queries",
        "2",
        "--budget",
        "epsilon=9",
        "--where",
    )
    run(*asked, "salary > 4", code=2)
    assert not list(tmp_path.rglob("*.ledger"))
    run(*asked, "age > 4")
    run(*asked, "salary > 4", code=2)
    events = json.loads(run("ledger", "export", "adult", "--json").stdout)["events"]
    assert [event["kind"] for event in events].count("plan") == 1


def test_data_without_a_budget_name_the_option_and_leave_no_ledger(run, tmp_path: Path) -> None:
    assert "--budget epsilon=1" in run(*EDUCATION, code=2).stderr
    assert not list(tmp_path.rglob("*.ledger"))


def test_a_question_without_a_price_lists_the_ways_to_pay(run) -> None:
    said = run("release", "adult", "--by", "education", "--budget", "epsilon=1", code=2).stderr
    for way in ("--within", "--epsilon", "--noise", "--queries"):
        assert way in said


@pytest.mark.parametrize(
    "more",
    [
        ("--within", "nan"),
        ("--within", "-1"),
        ("--within", "5", "--probability", "2"),
        ("--within", "5", "--epsilon", "1"),
        ("--probability", "0.9", "--epsilon", "1"),
        ("--epsilon", "0"),
        ("--epsilon", "1e400000000"),
        ("--epsilon", "1", "--zeta", "1"),
        ("--zeta", "0.5"),
        ("--delta", "1e-6"),
        ("--noise", "laplace:1"),
        ("--queries", "0"),
        ("--queries", "5", "--epsilon", "1"),
        ("--queries", "5", "--within", "5", "--mean", "age"),
        ("--queries", "1.5"),
        ("--epsilon", "1", "--json", "--csv"),
        ("--epsilon", "1", "--neighbours", "none"),
        ("--epsilon", "1", "--sum", "age", "--mean", "age"),
        ("--epsilon", "1", "--low", "0"),
        ("--epsilon", "1", "--by", "salary"),
        ("--epsilon", "1", "--by", "age", "--bins", "age=5,4"),
        ("--epsilon", "1", "--by", "age", "--bins", "age"),
        ("--epsilon", "1", "--where", "1/(age-5) > 0"),
        ("--epsilon", "1", "--where", "age > 1; DROP TABLE data"),
        ("--epsilon", "1", "--where", "age > (SELECT 1)"),
        ("--epsilon", "1", "--budget", "epsilon=0"),
        ("--epsilon", "1", "--budget", "zeta=1"),
        ("--epsilon", "1", "--budget", "epsilon=1,epsilon=2"),
        ("--epsilon", "1", "--name", "a/b"),
    ],
)
def test_hostile_arguments_are_usage_errors(run, more: tuple[str, ...]) -> None:
    default = () if "--budget" in more else ("--budget", "epsilon=9")
    result = run("release", "adult", *default, *more, code=2)
    assert result.stdout == ""
    assert "should not have happened" not in result.stderr


def test_data_that_cannot_be_read_are_exit_code_4(run, tmp_path: Path) -> None:
    run("release", "nothing.csv", "--epsilon", "1", "--budget", "epsilon=9", code=4)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 this is not one")
    run("release", "broken.parquet", "--epsilon", "1", "--budget", "epsilon=9", code=4)


def test_a_broken_ledger_is_exit_code_5(run, tmp_path: Path) -> None:
    (tmp_path / "bad.ledger").write_text("this is no ledger")
    asked = ("release", "adult", "--epsilon", "1", "--budget", "epsilon=9")
    run(*asked, "--ledger", "bad.ledger", code=5)
    run(*asked, "--ledger", "nowhere/a.ledger", code=5)


def test_a_price_is_what_the_release_then_costs(run, tmp_path: Path) -> None:
    asked = ("adult", "--by", "sex", "--within", "7", "--json")
    price = json.loads(run("price", *asked).stdout)
    assert not list(tmp_path.rglob("*.ledger"))
    assert (price["remaining"], price["affordable"]) == (None, None)
    assert price["charge"] == json.loads(run("release", *asked, "--budget", "epsilon=0.6").stdout)["charge"]
    second = run("price", "adult", "--by", "race", "--within", "7").stdout
    assert "affordable  no" in second


def test_zeta_never_stands_without_the_worst_case(run) -> None:
    text = run("price", "adult", "--noise", "mixture:0.2,1,5").stdout
    assert "epsilon 1 in the worst case, zeta 0.328" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--within", "five"),
            "within='five' must be a finite number of at most 400 digits.",
        ),
        (("--within", "5", "--probability", "95"), "95 % is written 0.95."),
        (("--within", "5", "--epsilon", "1"), "--within and --epsilon or --zeta are different ways to pay."),
        (("--where", "region = north", "--within", "5"), "in single quotes"),
        (("--by", "Age", "--bins", "age=month", "--within", "5"), "--bins age=0,18,65,120"),
        (
            ("--where", "region = 'north", "--within", "5"),
            'Error: The condition "region = \'north" cannot be read',
        ),
        (
            ("--max-rows", "4", "--within", "5"),
            "max-rows='4' must be given together with a unit. Hint: Add --unit",
        ),
        (("--zeta", "0.1"), "Error: --zeta 0.1 is not a price: a price is --epsilon, --epsilon with --delta"),
        (
            ("--quantiles", "age=0.5,1.5", "--low", "0", "--high", "99", "--step", "1", "--epsilon", "1"),
            "quantiles=('0.5', '1.5') must be",
        ),
    ],
)
def test_what_a_newcomer_types_wrong_is_answered_in_the_words_of_the_command_line(
    run, people: Path, words: tuple[str, ...], said: str
) -> None:
    refused = run("release", str(people), *words, "--budget", "epsilon=9", code=2).stderr
    assert said in " ".join(refused.split())
    assert "Fraction" not in refused


def test_the_folder_that_one_is_in_has_the_name_of_its_path(run, people: Path, tmp_path: Path) -> None:
    said = run("release", ".", "--epsilon", "1", "--budget", "epsilon=1").stdout
    assert said.startswith(f"{tmp_path.stem}: count")
    assert "Add --name people." in run("release", "/", "--epsilon", "1", code=2).stderr


def test_a_second_ledger_for_the_same_data_is_pointed_out(run) -> None:
    asked = ("release", "adult", "--epsilon", "0.1", "--budget", "epsilon=1")
    assert run(*asked).stderr == ""
    assert "the two budgets add up" in run(*asked, "--ledger", "second.ledger").stderr


def test_a_ledger_beside_several_others_is_pointed_out_in_its_own_words(run, people: Path) -> None:
    other = people.with_name("others.csv")
    other.write_text(people.read_text())
    for file in (people, other):
        run("ledger", "create", file.name, "--budget", "epsilon=1")
    said = run("price", ".", "--ledger", "second.ledger", "--epsilon", "0.1", "--budget", "epsilon=1").stderr
    assert "If these data have a budget there too, the budgets add up." in said
    assert "ledger=" not in said


def test_an_empty_ledger_nearby_is_refused_with_something_that_helps(run, people: Path) -> None:
    """The hint was to create a ledger there, which the same hint refused."""
    empty = people.with_name("cut.ledger")
    empty.touch()
    asked = ("release", people.name, "--epsilon", "1", "--budget", "epsilon=1")
    for refused in (asked, ("ledger", "create", empty.name, "--dataset", "x", "--budget", "epsilon=1")):
        assert "if there never was one, remove the file" in run(*refused, code=5).stderr
    empty.unlink()
    run(*asked)


def test_a_price_says_how_exact_the_answer_would_be(run) -> None:
    assert "error     ±30, with probability 95 %" in run("price", "adult", "--epsilon", "0.1").stdout
    assert "error     ±5 in each cell" in run("price", "adult", "--by", "sex", "--within", "5").stdout
    found = json.loads(run("price", "adult", "--epsilon", "0.1", "--json").stdout)
    assert (found["errors"], found["level"], found["plan"]) == (["30"], "0.95", None)
    assert found["charge"]["epsilon"] == "0.1"


def test_the_price_of_a_plan_is_told_and_nothing_is_opened(run, tmp_path: Path) -> None:
    asked = ("price", "adult", "--by", "sex", "--queries", "4", "--budget", "epsilon=1")
    said = run(*asked).stdout
    assert "all 4 answers together: epsilon 1 in the worst case" in said
    assert "±12 in each cell" in said
    assert not list(tmp_path.rglob("*.ledger"))
    run("release", *asked[1:])
    again = run(*asked).stdout
    assert "nothing more: 1 of the 3 answers left in a plan that is paid for" in again
    assert "affordable  yes" in again


def test_a_column_not_yet_reviewed_names_the_command_that_confirms_it(run, tmp_path: Path) -> None:
    (tmp_path / "my people.csv").write_text("a region,age\nnorth,4\n")
    run("schema", "draft", "my people.csv")
    asked = ("release", "my people.csv", "--by", "a region", "--epsilon", "1", "--budget", "epsilon=1")
    refused = run(*asked, code=2).stderr
    assert "`dovetail schema confirm 'my people.toml' 'a region'`." in refused
    assert "schema.confirm" not in refused


@pytest.mark.parametrize(
    "words",
    [("--by", "salary"), ("--where", "sex = 'F'"), ("--mean", "age"), ("--by", "sex", "--unit", "nobody")],
)
def test_a_first_question_that_cannot_be_answered_fixes_no_budget(
    run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    run("release", "adult", *words, "--within", "5", "--budget", "epsilon=1", code=2)
    run("sql", "adult", "SELECT COUNT(*) FROM x", "--within", "5", "--budget", "epsilon=1", code=2)
    assert not list(tmp_path.rglob("*.ledger"))


PRICEY = (("--noise", "geometric:2", "--queries", "10"), ("--epsilon", "2"))


@pytest.mark.parametrize(
    "words",
    [
        ("--within", "1e20"),
        ("--noise", "geometric:1e-19", "--queries", "10"),
        ("--noise", "geometric:2", "--queries", "10"),
        ("--epsilon", "2"),
        ("--epsilon", "0.1", "--request", "\x01"),
        ("--epsilon", "0.1", "--analyst", "\x01"),
        ("--queries", "5", "--analyst", "\x01"),
        ("--epsilon", "0.1", "--where", "agee > 3"),
        ("--epsilon", "0.1", "--by", "region"),
        ("--sum", "age", "--low", "-5", "--high", "9", "--step", "1", "--clamp", "--epsilon", "0.1"),
    ],
)
def test_a_refused_question_fixes_no_budget(run, people: Path, words: tuple[str, ...]) -> None:
    for ask in (("release", str(people), *words), ("sql", str(people), "SELECT COUNT(*) FROM data", *words)):
        if ask[0] == "release" or not {"--where", "--by", "--sum"} & set(words):
            result = run(*ask, "--budget", "epsilon=1", code=3 if words in PRICEY else 2)
            assert "Error:" in result.output
            assert not list(people.parent.rglob("*ledger*"))


@pytest.mark.parametrize("probability", ["1e-18", "1e-300", "1e-400"])
def test_a_tiny_probability_is_priced_or_refused(run, people: Path, probability: str) -> None:
    run("release", str(people), "--within", "5", "--probability", probability, "--budget", "epsilon=1")
