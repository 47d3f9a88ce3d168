"""Schemas and ledgers from the command line."""

from __future__ import annotations

import json
from pathlib import Path


def test_a_schema_is_drafted_reviewed_and_checked(run, people: Path, tmp_path: Path) -> None:
    drafted = run("schema", "draft", "people.csv").stdout
    assert "private until you" in drafted
    assert "reviewed = false" in (tmp_path / "people.toml").read_text()
    asked = ("release", "people.csv", "--by", "region", "--epsilon", "1", "--budget", "epsilon=9")
    assert "dovetail schema confirm" in run(*asked, code=2).stderr
    assert "2 of 2 columns" in run("schema", "check", "people.toml", "--data", "people.csv").stdout
    run("schema", "confirm", "people.toml", "region", "age")
    assert "Every column is reviewed" in run("schema", "check", "people.toml").stdout
    run(*asked)


def test_a_schema_is_never_overwritten_unasked(run, people: Path, tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text("mine")
    assert "--force" in run("schema", "draft", "people.csv", code=2).stderr
    assert (tmp_path / "people.toml").read_text() == "mine"
    run("schema", "draft", "people.csv", "--force")


def test_a_wrong_schema_is_named(run, people: Path, tmp_path: Path) -> None:
    run("schema", "check", "none.toml", code=4)
    (tmp_path / "bad.toml").write_text("not = toml = at all")
    run("schema", "check", "bad.toml", code=2)
    (tmp_path / "other.toml").write_text('schema = "dovetail.schema/1"\n[columns.town]\ntype = "text"\n')
    run("schema", "check", "other.toml", "--data", "people.csv", code=2)
    run("schema", "confirm", "other.toml", "region", code=2)


def test_all_that_is_declared_is_listed(run, tmp_path: Path) -> None:
    columns = {
        "age": ("integer", "low = 0", "from 0"),
        "rent": ("number", "high = 0.5", "to 0.5"),
        "pay": ("number", 'decimal = ","\nmissing_words = ["NA", "-"]', "decimal commas"),
        "who": ("text", 'kind = "id"', "identifies persons"),
        "city": ("text", 'values = ["Bern"]\nother = "elsewhere"', "1 value: Bern, others are 'elsewhere'"),
    }
    listed = [f'[columns.{name}]\ntype = "{kind}"\n{said}\n' for name, (kind, said, _) in columns.items()]
    (tmp_path / "all.toml").write_text(
        'schema = "dovetail.schema/1"\nzone = "Europe/Zurich"\n' + "".join(listed)
    )
    lines = run("schema", "check", "all.toml").stdout.splitlines()
    for name, (_, _, shown) in columns.items():
        assert shown in next(line for line in lines if line.split()[:1] == [name])
    assert "None" not in "".join(lines)
    assert any("Europe/Zurich" in line for line in lines)


def test_a_ledger_is_created_shown_verified_and_exported(run, people: Path) -> None:
    assert "epsilon at most 1" in run("ledger", "create", "people.csv", "--budget", "epsilon=1").stdout
    run("release", "people.csv", "--where", "age > '40'", "--within", "10")
    shown = run("ledger", "show", "people.csv").stdout
    assert "remains" in shown
    assert "count where age" in shown
    assert "The ledger is intact" in run("ledger", "verify", "people.csv.ledger").stdout
    record = json.loads(run("ledger", "export", "people.csv", "--json").stdout)
    assert record["schema"].startswith("dovetail.ledger/")
    assert run("ledger", "export", "people.csv", "--csv").stdout.startswith("sequence,at,kind")
    run("ledger", "export", "people.csv", code=2)


def test_a_ledger_of_its_own_needs_the_name_of_the_data(run) -> None:
    assert "--dataset" in run("ledger", "create", "a.ledger", "--budget", "epsilon=1", code=2).stderr
    run("ledger", "create", "a.ledger", "--dataset", "visits", "--budget", "epsilon=1,delta=1e-6")
    assert "at delta 1e-6" in run("ledger", "show", "a.ledger").stdout


def test_a_second_budget_is_refused(run) -> None:
    run("ledger", "create", "adult", "--budget", "epsilon=1")
    said = run("ledger", "create", "adult", "--budget", "epsilon=2", code=5).stderr
    assert "dovetail ledger raise" in said


def test_raising_after_an_answer_says_ex_post(run) -> None:
    run("release", "adult", "--epsilon", "0.5", "--budget", "epsilon=1")
    assert "ex post" in run("ledger", "raise", "adult", "--budget", "epsilon=2").stderr
    assert "ex post" in run("ledger", "show", "adult").stdout
    run("ledger", "raise", "adult", "--budget", "epsilon=0.1", code=2)


def test_an_edited_ledger_is_found_out(run, tmp_path: Path) -> None:
    import sqlite3

    run("ledger", "create", "a.ledger", "--dataset", "visits", "--budget", "epsilon=1")
    with sqlite3.connect(tmp_path / "a.ledger") as database:
        database.execute("UPDATE dovetail_events SET content = replace(content, '\"1\"', '\"9\"')")
    database.close()
    run("ledger", "verify", "a.ledger", code=5)


def test_a_ledger_that_is_not_there_is_exit_code_5(run) -> None:
    assert "dovetail ledger create" in run("ledger", "show", "none.ledger", code=5).stderr


def test_a_draft_shows_encoding_and_decimal_commas_and_is_checked_with_them(run, tmp_path: Path) -> None:
    file = tmp_path / "stays.csv"
    file.write_bytes("entr\u00e9e;weight\nGen\u00e8ve;70,5\nBern;81,2\n".encode("windows-1252"))
    drafted = run("schema", "draft", str(file)).stdout
    assert "with decimal commas" in drafted
    assert "cp1252" in drafted
    assert "entr\u00e9e" in run("schema", "check", str(file.with_suffix(".toml")), "--data", str(file)).stdout
