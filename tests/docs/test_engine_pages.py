"""The code of the pages that need a server or Java runs as printed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from document_blocks import ROOT, blocks, run

GUIDES = ROOT / "docs" / "how-to"
VISITS = [("surgery", 40), ("children", 7), ("eyes", 71), ("surgery", None)]


def test_the_page_on_postgresql_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres_url: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLINIC_DATABASE", filled(postgres_url))
    assert run(GUIDES / "postgresql.md", tmp_path) > 1


@pytest.mark.spark
@pytest.mark.parametrize("page", ["spark.md", "billion-rows.md"])
def test_a_page_on_spark_runs(page: str, tmp_path: Path) -> None:
    """Java keeps the folder that it was started in, so each page has a process of its own."""
    write_visits(tmp_path / "visits.parquet")
    code = "\n".join(block.text for block in blocks(GUIDES / page) if block.language == "python")
    done = subprocess.run(
        [sys.executable, "-c", code + "\nsession.close()"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def filled(address: str) -> str:
    """Make the clinic's table and return its address."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE visits (ward TEXT, age INTEGER)")
        connection.cursor().executemany("INSERT INTO visits VALUES (%s, %s)", VISITS)
    return address


def write_visits(path: Path) -> None:
    import pyarrow.parquet

    wards, ages = zip(*VISITS, strict=True)
    pyarrow.parquet.write_table(pyarrow.table({"ward": wards, "age": ages}), path)
