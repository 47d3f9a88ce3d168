"""Keys that are found out come from rows, whose writers may want to steer a screen or a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

WORDS = [
    "\x1b[31mred\x1b[0m",
    "red",
    "\x9b31mred",
    "a\r\nb",
    "a\nprotects  nobody",
    "\u202egnp",
    "\u2028",
    "=1+1",
    "@x",
    "-2+3",
    "x\r=1+1",
    "x;=1+1",
    "x\t@y",
    "\n=1+1",
    "\N{FULLWIDTH EQUALS SIGN}1+1",
    '"q"',
    "a,b",
    "<script>alert(1)</script>",
    "[bold]x[/bold]",
    "$x_1$",
    "",
    " ",
    "w" * 3_000,
    None,
]


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what asks for the words in one form; the answer is the same each time, as it is kept."""
    from dovetail.cli.app import app

    monkeypatch.chdir(tmp_path)
    pyarrow.parquet.write_table(pyarrow.table({"word": pyarrow.array(WORDS * 60)}), "words.parquet")
    asked = "release words.parquet --by word --discover word --noise geometric:2 --delta 1e-6"
    budget = "--budget epsilon=9,delta=1e-3 --ledger words.ledger"

    def show(*form: str) -> str:
        result = CliRunner().invoke(app, [*asked.split(), *budget.split(), *form], env={"COLUMNS": "100"})
        assert result.exit_code == 0, result.output
        return str(result.stdout_bytes.decode())

    return show


def test_a_key_is_one_line_of_the_screen_and_none_of_it_is_obeyed(shown: Any) -> None:
    text = shown()
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    cells = text.split("\n\n")[0].splitlines()[1:]
    assert len(cells) == len(WORDS)
    assert sum(line.startswith("protects") for line in text.splitlines()) == 1
    assert not any(line.startswith("answer") for line in cells)
    assert any("[bold]x[/bold]" in line for line in cells)


def test_json_and_csv_keep_every_key_apart(shown: Any) -> None:
    keys = [row["keys"]["word"] for row in json.loads(shown("--json"))["rows"]]
    assert sorted(map(str, keys)) == sorted(map(str, WORDS))
    rows = list(csv.reader(io.StringIO(shown("--csv"), newline="")))[1:]
    # A missing value and an empty text look alike in CSV; an apostrophe stands before what a sheet would run.
    written = [row[0].replace("'", "") for row in rows]
    assert sorted(written) == sorted(word or "" for word in WORDS)


def test_no_cell_is_a_formula_wherever_a_spreadsheet_takes_it_to_begin(shown: Any) -> None:
    """Countries differ in what parts cells, and an unquoted carriage return began another row."""
    text = shown("--csv")
    for row in csv.reader(io.StringIO(text, newline="")):
        assert len(row) == len(text.splitlines()[0].split(","))
    cells = [cell.strip('"') for cell in re.split("[,;\t\r\n]", text)]
    signs = "=+@-\N{FULLWIDTH EQUALS SIGN}"
    armed = {cell for cell in cells if len(cell) > 1 and cell[0] in signs}
    assert all(re.fullmatch("-[0-9]+", cell) for cell in armed)
