"""The example scripts run as printed and leave what they promise."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _run(name: str, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_has_a_test() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    for script in (ROOT / "examples").glob("*.py"):
        assert f'"{script.name}"' in here, script.name


def test_a_curator_gets_tables_and_a_record(tmp_path: Path) -> None:
    shown = _run("curator_release.py", tmp_path, "published")
    folder = tmp_path / "published"
    record = json.loads((folder / "record.json").read_text(encoding="utf-8"))
    for name, answer in record["tables"].items():
        lines = (folder / f"{name}.csv").read_text(encoding="utf-8").splitlines()
        assert len(lines) == len(answer["rows"]) + 1
    assert "cost epsilon 0.438015" in shown


def test_a_researcher_sees_an_own_mechanism_beside_others(tmp_path: Path) -> None:
    lines = _run("own_mechanism.py", tmp_path).splitlines()
    worst = {line[:22].strip(): float(line[22:34]) for line in lines[1:]}
    assert worst == {"randomised response": 1.0, "geometric": 1.0, "mixture 0.2, 1, 5": 1.0}


@pytest.mark.slow
def test_a_pipeline_writes_its_noisy_table_back(tmp_path: Path, postgres_url: str) -> None:
    import psycopg

    _run("postgres_pipeline.py", tmp_path, postgres_url)
    with psycopg.connect(postgres_url) as connection:
        rows = connection.execute(
            "SELECT ward, low <= value AND value <= high FROM patients_by_ward"
        ).fetchall()
    assert rows == [("east", True), ("north", True), ("south", True), ("west", True)]


@pytest.mark.slow
def test_without_an_address_the_pipeline_starts_a_server_of_its_own(tmp_path: Path) -> None:
    assert "4 rows" in _run("postgres_pipeline.py", tmp_path)
