"""Hostile words for every option of every command: a documented exit code, nothing spent or obeyed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

import dovetail
from dovetail.cli.app import app

WORDS = {
    "nan": "nan",
    "infinite": "inf",
    "negative": "-1",
    "huge": "1e999",
    "5000 digits": "9" * 5000,
    "ratio to 0": "1/0",
    "empty": "",
    "space": " ",
    "escape sequence": "\x1b[31mred\x1b[0m\x07",
    "one letter of control": "\x9b31m",
    "turned round": "\u202egnp.exe",
    "half a letter": "\udcff",
    "signs": "=,;@:'\"`$(true)|&",
    "device": "/dev/zero",
    "folder": "folder",
    "very long": "x" * 70_000,
}
SAFE = (
    ("release", "people.csv", "--where", "age > 40", "--budget", "epsilon=5"),
    ("price", "people.csv", "--where", "age > 40"),
    ("sql", "people.csv", "SELECT COUNT(*) FROM data", "--budget", "epsilon=5"),
    ("design", "--within", "5", "--pieces", "1"),
    ("compare", "geometric:1", "geometric:0.5"),
    ("noise", "geometric:1"),
    ("schema", "draft", "people.csv", "--out", "new.toml"),
    ("schema", "check", "schema.toml"),
    ("ledger", "create", "b.ledger", "--dataset", "people", "--budget", "epsilon=5"),
    ("ledger", "show", "a.ledger"),
    ("ledger", "verify", "a.ledger"),
    ("ledger", "export", "a.ledger", "--json"),
    ("ledger", "raise", "a.ledger", "--budget", "epsilon=6"),
    ("paper", "--only", "nothing"),
)
# They say how to pay, so that a noise of our own would only be in their way.
PAYING = {"within", "probability", "epsilon", "delta", "zeta", "max_epsilon", "noise", "queries"}
ARGUMENTS = (
    ("release", "{}", "--noise", "geometric:1", "--budget", "epsilon=5"),
    ("price", "{}", "--noise", "geometric:1"),
    ("sql", "people.csv", "{}", "--noise", "geometric:1", "--budget", "epsilon=5"),
    ("noise", "{}"),
    ("audit", "{}"),
    ("compare", "{}", "geometric:1"),
    ("schema", "draft", "{}"),
    ("schema", "check", "{}"),
    ("schema", "confirm", "schema.toml", "{}"),
    ("ledger", "show", "{}"),
    ("ledger", "create", "{}", "--budget", "epsilon=1"),
    ("{}",),
)


def _options() -> Iterator[Any]:
    top: Any = get_command(app)
    for words in SAFE:
        command = top.commands[words[0]]
        command = command.commands[words[1]] if hasattr(command, "commands") else command
        for option in command.params:
            # price and sql take their options from the same groups as release.
            if words[0] in ("price", "sql") and option.name != "sql":
                continue
            if option.opts[0].startswith("--") and not option.is_flag and option.name != "help":
                yield pytest.param(
                    words, option.name, option.opts[0], id=f"{' '.join(words[:2])} {option.opts[0]}"
                )


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[str]], int]:
    """Return a function that runs a command in a folder with data, and looks at all that it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "people.csv").write_text("region,age\nnorth,40\nsouth,50\n")
    (tmp_path / "schema.toml").write_text('schema = "dovetail.schema/1"\n[columns.age]\ntype = "integer"\n')
    (tmp_path / WORDS["folder"]).mkdir()
    runner = CliRunner()
    made = runner.invoke(
        app, ["ledger", "create", "a.ledger", "--dataset", "people", "--budget", "epsilon=5"]
    )
    assert made.exit_code == 0

    def asked(words: list[str]) -> int:
        before = _spent(tmp_path)
        result = runner.invoke(app, words)
        said = result.output
        assert result.exit_code in (0, 2, 3, 4, 5), (words, said, result.exception)
        assert "should not have happened" not in said
        assert len(result.stderr) < 3000
        unwanted = [letter for letter in said if not letter.isprintable() and letter != "\n"]
        assert not unwanted, (words, unwanted)
        if result.exit_code:
            assert _spent(tmp_path) == before
            assert result.stdout == ""
        elif "--json" in words:
            json.loads(result.stdout)
        return int(result.exit_code)

    return asked


def _spent(folder: Path) -> int:
    """Return how often the ledgers of a folder, and of its user, were charged."""
    charged = 0
    for file in folder.rglob("*.ledger"):
        with closing(sqlite3.connect(file)) as ledger:
            rows = ledger.execute("SELECT kind FROM dovetail_events").fetchall()
        charged += sum(kind in ("reservation", "plan", "budget") for (kind,) in rows)
    return charged


@pytest.mark.slow
@pytest.mark.parametrize(("words", "name", "option"), list(_options()))
def test_no_option_takes_a_hostile_word_for_more_than_it_is(
    ask: Callable[[list[str]], int], words: tuple[str, ...], name: str, option: str
) -> None:
    asks = words[0] in ("release", "price", "sql")
    pay = () if name in PAYING or not asks else ("--noise", "geometric:1")
    for word in WORDS.values():
        ask([*words, *pay, f"{option}={word}"])


@pytest.mark.parametrize("words", ARGUMENTS, ids=lambda words: " ".join(words[:3]))
def test_no_argument_takes_a_hostile_word_for_more_than_it_is(
    ask: Callable[[list[str]], int], words: tuple[str, ...]
) -> None:
    for word in WORDS.values():
        ask([word if each == "{}" else each for each in words])


EVIL = "\x1b]0;owned\x07\x9b2J\u202e"


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a table whose column, values and schema are full of what a terminal would obey."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    (tmp_path / "people.csv").write_text(f"{EVIL}town,age\n{EVIL}Bern,40\nBasel,50\n", encoding="utf-8")
    return tmp_path


def test_what_rows_and_headers_hold_never_speaks_to_the_terminal(evil: Path) -> None:
    column = f"{EVIL}town"
    paid = ("--noise", "geometric:1", "--budget", "epsilon=50")
    commands = [
        ("release", "people.csv", "--by", column, *paid),
        ("schema", "draft", "people.csv"),
        ("schema", "check", "people.toml", "--data", "people.csv"),
        ("release", "people.csv", "--by", column, *paid),
        ("schema", "confirm", "people.toml", column, "age"),
        ("release", "people.csv", "--by", column, *paid),
        ("release", "people.csv", "--by", column, *paid, "--json"),
        ("release", "people.csv", "--where", f"\"{column}\" = '{EVIL}Bern'", *paid),
        ("release", "people.csv", "--where", f"\"{column}\" = '{EVIL}'", *paid),
        ("release", "people.csv", "--where", f"{column} = 1", *paid),
        ("release", "people.csv", "--sum", column, *paid),
        ("sql", "people.csv", f'SELECT "{column}", COUNT(*) AS "{EVIL}" FROM data GROUP BY 1', *paid),
        (
            "sql",
            "people.csv",
            f'SELECT "{column}", COUNT(*) AS "{EVIL}" FROM data GROUP BY 1',
            *paid,
            "--json",
        ),
        ("sql", "people.csv", f"SELECT {EVIL} FROM data", *paid),
        ("price", "people.csv", "--by", column, *paid),
        ("ledger", "show", "people.csv"),
        ("ledger", "export", "people.csv", "--json"),
    ]
    codes = []
    for words in commands:
        result = CliRunner().invoke(app, list(words))
        codes.append(result.exit_code)
        unwanted = [letter for letter in result.output if not letter.isprintable() and letter != "\n"]
        assert not unwanted, (words, unwanted)
        if "--json" in words:
            json.loads(result.stdout)
    assert codes == [2, 0, 0, 2, 0, 0, 0, 0, 2, 2, 2, 0, 0, 2, 0, 0, 0]


def test_csv_is_exact_in_a_pipe_and_harmless_on_a_terminal(evil: Path) -> None:
    keys = (f"--keys={EVIL}town={EVIL}Bern,=cmd(),-",)
    words = ["release", "people.csv", "--by", f"{EVIL}town", *keys, "--noise", "geometric:1", "--csv"]
    piped = CliRunner().invoke(app, [*words, "--budget", "epsilon=5"])
    assert EVIL in piped.stdout
    assert "'=cmd()," in piped.stdout
    assert "\n-," in piped.stdout
    shown = _on_a_terminal(words, evil)
    assert "Bern" in shown
    assert not [letter for letter in shown if not letter.isprintable() and letter not in "\r\n"]


def _on_a_terminal(words: list[str], folder: Path) -> str:
    """Return what a command prints where its output is a terminal."""
    inner, outer = os.openpty()
    command = [sys.executable, "-m", "dovetail", *words]
    environment = os.environ | {"PYTHONPATH": str(Path(dovetail.__file__).parents[1])}
    subprocess.run(command, stdout=outer, stderr=subprocess.PIPE, cwd=folder, env=environment, check=True)
    os.close(outer)
    with os.fdopen(inner, "rb") as terminal:
        return os.read(terminal.fileno(), 65536).decode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("missing.csv", "There is no file missing.csv"),
        ("empty", "holds no CSV, Parquet or Arrow file"),
        ("mixed", "cannot be read as a table"),
        ("notes.txt", "cannot be read as a table"),
        ("/dev/null", "is neither a file nor a folder"),
        ("pipe.csv", "is neither a file nor a folder"),
        ("loop.csv", "There is no file"),
        ("nothing.csv", "is empty"),
        ("broken.duckdb", "cannot be read"),
    ],
)
def test_data_that_are_none_are_one_short_line_and_exit_code_4(evil: Path, data: str, said: str) -> None:
    for folder in ("empty", "mixed"):
        (evil / folder).mkdir()
    for name in ("mixed/a.csv", "mixed/b.parquet", "notes.txt", "nothing.csv", "broken.duckdb"):
        (evil / name).touch()
    (evil / "broken.duckdb").write_bytes(b"not a database" * 1000)
    os.mkfifo(evil / "pipe.csv")
    (evil / "loop.csv").symlink_to(evil / "loop.csv")
    for command in ("release", "price"):
        table = ("--table", "visits") if data.endswith("duckdb") else ()
        paid = ("--noise", "geometric:1", "--budget", "epsilon=1")
        refused = CliRunner().invoke(app, [command, data, *table, *paid])
        assert refused.exit_code == 4, refused.output
        assert said in refused.stderr
        assert len(refused.stderr) < 400
    assert not list(evil.rglob("*.ledger"))


@pytest.mark.parametrize("name", ["folder.png", "no/where.png", "out.exe"])
def test_a_picture_that_cannot_be_drawn_is_refused_before_the_charge(evil: Path, name: str) -> None:
    (evil / "folder.png").mkdir()
    paid = ("--noise", "geometric:1", "--budget", "epsilon=1")
    refused = CliRunner().invoke(app, ["release", "people.csv", *paid, "--plot", name])
    assert refused.exit_code == 2
    assert not list(evil.rglob("*.ledger"))
