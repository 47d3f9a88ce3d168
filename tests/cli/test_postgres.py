"""Tables of a PostgreSQL server from the command line: every command takes them, no password is shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

SECRET = "hush-hush-4711"
WARDS = ("--by", "ward", "--keys", "ward=surgery,eyes")
PAID = ("--noise", "geometric:2", "--budget", "epsilon=30")
ROWS = (*PAID, "--rows")


@pytest.fixture
def clinic(postgres_url: str, tmp_path: Path) -> str:
    """Return the address of a clinic's database, with a password in both places that can hold one."""
    import psycopg

    rows = [(f"p{i % 90}", ("surgery", "eyes")[i % 2], i % 9) for i in range(500)]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (patient TEXT, ward TEXT, days INTEGER)")
        connection.cursor().executemany("INSERT INTO visits VALUES (%s, %s, %s)", rows)
    parts = urlsplit(postgres_url)
    place = parts.netloc.rpartition("@")[2]
    query = f"{parts.query}&password={SECRET}"
    return urlunsplit((parts.scheme, f"postgres:{SECRET}@{place}", parts.path, query, ""))


@pytest.fixture
def quiet(run: Any, tmp_path: Path) -> Any:
    """Return the runner, with a look through everything that it prints and leaves behind."""

    def command(*words: str, code: int = 0) -> Any:
        result = run(*words, code=code)
        assert SECRET not in result.output
        for file in tmp_path.rglob("*"):
            assert SECRET not in file.name
            assert not file.is_file() or SECRET.encode() not in file.read_bytes()
        return result

    return command


def test_every_command_takes_a_table_of_a_server(quiet, clinic: str) -> None:
    data = (clinic, "--table", "visits")
    price = json.loads(quiet("price", *data, *WARDS, *PAID, "--json").stdout)
    kept = json.loads(quiet("release", *data, *WARDS, *ROWS, "--json").stdout)
    assert price["charge"] == kept["charge"]
    assert [abs(int(row["value"]) - 250) < 20 for row in kept["rows"]] == [True, True]
    quiet("schema", "draft", *data, "--out", "visits.toml")
    quiet("schema", "confirm", "visits.toml", "ward", "days", "patient")
    assert (
        "Every column is reviewed"
        in quiet("schema", "check", "visits.toml", "--data", clinic, "--table", "visits").stdout
    )
    text = "SELECT ward, SUM(days) AS days FROM data GROUP BY ward"
    shown = quiet("sql", clinic, text, "--table", "visits", "--schema", "visits.toml", *PAID).stdout
    assert "surgery" in shown
    for command in ("show", "verify"):
        assert clinic not in quiet("ledger", command, *data).stdout
    quiet("ledger", "export", *data, "--json")
    quiet("ledger", "raise", *data, "--budget", "epsilon=40")


def test_persons_are_protected_on_a_server_too(quiet, clinic: str) -> None:
    persons = ("--unit", "patient", "--max-rows", "4", "--max-cells", "2")
    quiet("ledger", "create", clinic, "--table", "visits", "--unit", "patient", "--budget", "epsilon=30")
    shown = quiet("release", clinic, "--table", "visits", "--distinct", *persons, *PAID).stdout
    assert "whether one person (patient)" in shown
    quiet("release", clinic, "--table", "visits", *PAID, code=5)


def test_a_draft_of_a_server_s_table_lies_in_this_folder_and_the_hints_can_be_typed(
    quiet, clinic: str, tmp_path: Path
) -> None:
    refused = quiet("release", clinic, "--table", "visits", "--by", "ward", *ROWS, code=2).stderr
    commands = [line.strip() for line in refused.splitlines() if line.startswith("  dovetail ")]
    for command in commands[:3]:
        assert "postgres@" in command or "confirm" in command
        done = subprocess.run(["bash", "-c", f"printf '%s\\n' {command}"], capture_output=True, text=True)
        words = done.stdout.splitlines()[1:]
        # Whom the budget protects is asked, because the table has patients.
        quiet(*words, *(["--rows"] if words[0] == "release" else []))
    assert [file.suffix for file in tmp_path.glob("*.toml")] == [".toml"]


@pytest.mark.parametrize(
    ("address", "more", "code", "said"),
    [
        ("{clinic}", (), 2, "--table must be the name of a table there"),
        ("{clinic}", ("--table", "nothing"), 4, "no table"),
        ("{clinic}", ("--table", "a.b.c"), 2, "a table, or a schema and a table"),
        (f"postgresql://ann:{SECRET}@localhost:1/clinic", ("--table", "visits"), 4, "cannot be read"),
        (
            f"postgresql://ann:{SECRET}@[::1/clinic",
            ("--table", "visits"),
            2,
            "postgresql://USER@HOST/DATABASE",
        ),
        (
            f"postgresql://ann:{SECRET}@host:x/clinic",
            ("--table", "visits"),
            2,
            "postgresql://USER@HOST/DATABASE",
        ),
        (f"mysql://ann:{SECRET}@host/clinic", ("--table", "visits"), 4, "mysql:// addresses cannot be read"),
        (f"postgresql:/ann:{SECRET}@host/clinic", (), 4, "There is no file"),
    ],
)
def test_a_wrong_address_is_one_line_without_its_password(
    quiet, clinic: str, address: str, more: tuple[str, ...], code: int, said: str
) -> None:
    for command in ("release", "price"):
        refused = quiet(command, address.format(clinic=clinic), *more, *WARDS, *PAID, code=code)
        assert said in refused.stderr
    for command in (("schema", "draft"), ("ledger", "create")):
        budget = ("--budget", "epsilon=1", "--unit", "patient") if command[0] == "ledger" else ()
        if more:
            quiet(*command, address.format(clinic=clinic), *more, *budget, code=code)


def test_a_ledger_on_a_server_shows_no_password_either(quiet, clinic: str) -> None:
    asked = ("release", "adult", "--noise", "geometric:1", "--budget", "epsilon=3", "--ledger", clinic)
    assert "postgresql" in quiet(*asked).stdout
    quiet("ledger", "show", clinic)
    wrong = f"postgresql://ann:{SECRET}@localhost:1/none"
    quiet("ledger", "show", wrong, code=5)
    quiet("release", "adult", "--noise", "geometric:1", "--ledger", wrong, code=5)
    quiet("ledger", "show", f"postgresql://ann:{SECRET}@[::1/none", code=2)


def test_without_the_driver_the_line_that_installs_it_is_shown(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from dovetail.cli import main\n"
        f"sys.argv = ['dovetail', 'release', 'postgresql://ann:{SECRET}@db/clinic', '--table', 'visits', "
        "'--noise', 'geometric:1', '--budget', 'epsilon=1', '--ledger', 'a.ledger']\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (4, "")
    assert "pip install 'dovetail-dp[postgres]'" in done.stderr
    assert SECRET not in done.stderr
    assert not list(tmp_path.iterdir())
