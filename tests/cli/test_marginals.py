"""`dovetail marginals`: tables, prices, files, pictures and synthetic rows from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

Run = Any
SCHEMA = """schema = "dovetail.schema/1"
[columns.region]
type = "text"
values = ["north", "south", "west"]
[columns.age]
type = "integer"
low = 0
high = 120
"""


@pytest.fixture
def command(people: Path) -> list[str]:
    people.with_suffix(".toml").write_text(SCHEMA)
    asked = ("--columns", "region,age", "--bins", "age=0,40,60,120")
    return ["marginals", str(people), *asked, "--budget", "epsilon=8,delta=1e-6"]


def test_tables_are_shown_written_and_drawn(run: Run, command: list[str], tmp_path: Path) -> None:
    files = (
        "--csv-folder",
        "tables",
        "--plot",
        "map.svg",
        "--synthetic",
        "rows.parquet",
        "--synthetic-rows",
        "100",
    )
    shown = run(*command, "--way", "1", "--epsilon", "1", *files)
    assert "2 tables of region, age" in shown.output
    assert "100 synthetic rows" in shown.output
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == ["01-region.csv", "02-age.csv"]
    assert (tmp_path / "tables/01-region.csv").read_text().startswith("region,value,low,high")
    assert pyarrow.parquet.read_table(tmp_path / "rows.parquet").column_names == ["region", "age"]
    assert (tmp_path / "rows.toml").exists()
    again = run(*command, "--way", "1", "--epsilon", "1")
    assert "nothing: given before" in again.output


def test_a_single_table_is_shown_with_its_cells(run: Run, command: list[str]) -> None:
    shown = run(*command, "--epsilon", "2", "--plot", "map.svg")
    assert "north, [0, 40)" in shown.output
    told = json.loads(run(*command, "--epsilon", "2", "--json").output)
    assert len(told["rows"]) == 9
    assert run(*command, "--epsilon", "2", "--csv").output.startswith("table,region,age,value,low,high")


def test_the_price_and_the_error_of_each_table_are_told_before(run: Run, command: list[str]) -> None:
    price = run(*command, "--way", "1", "--epsilon", "1", "--delta", "1e-7", "--price").output
    assert "region ±" in price
    assert "residuals, designed" in price
    told = json.loads(run(*command, "--way", "1", "--epsilon", "1", "--price", "--json").output)
    assert set(told["errors_by_table"][0]) == {"region", "age"}
    assert "nothing" not in run(*command, "--way", "1", "--epsilon", "1").output


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--way", "3"], "way=3"),
        (["--way", "two"], "way"),
        (["--way", "1", "--tables", "region"], "Keep one"),
        (["--strategy", "best"], "strategy"),
        (["--synthetic-rows", "5"], "--synthetic"),
        (["--synthetic", "rows.csv"], "parquet"),
        (["--synthetic", "rows.parquet", "--synthetic-rows", "0"], "synthetic-rows='0'"),
        (["--csv-folder", "no/such"], "folder"),
        (["--plot", "map.doc"], "plot"),
        (["--tables", "region,nobody"], "nobody"),
    ],
)
def test_what_cannot_be_done_is_refused_and_spends_nothing(
    run: Run, command: list[str], tmp_path: Path, words: list[str], problem: str
) -> None:
    assert problem in run(*command, "--epsilon", "1", *words, code=2).output
    assert not list(tmp_path.rglob("*.ledger"))


def test_columns_must_be_named(run: Run, people: Path) -> None:
    people.with_suffix(".toml").write_text(SCHEMA)
    refused = run("marginals", str(people), "--epsilon", "1", "--budget", "epsilon=1", code=2)
    assert "The columns to count are missing" in refused.output
