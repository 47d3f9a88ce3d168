"""Which state of a source is there: known from write times and names of files, never from rows."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pyarrow
import pytest

import dovetail as dv
from dovetail.engines import Source
from dovetail.engines.versions import written

SECOND = 10**9


def made(path: Path, at: int, text: str = "x\n1\n") -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(at, at))
    return path


def test_a_file_has_the_time_that_it_was_written(tmp_path: Path) -> None:
    path = made(tmp_path / "a.csv", 1_769_860_800 * SECOND + 7)
    assert written(Source.of(path)) == "written 2026-01-31T12:00:00.000000007Z"
    before = written(Source.of(path))
    # The same rows, or others: only the time counts.
    made(path, 1_769_860_800 * SECOND + 7, "x\n1\n2\n3\n")
    assert written(Source.of(path)) == before
    made(path, 1_769_860_800 * SECOND + 8)
    assert written(Source.of(path)) != before


def test_a_folder_changes_with_any_of_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "months"
    old, new = made(folder / "a.csv", 5 * SECOND), made(folder / "b.csv", 9 * SECOND)
    seen = [written(Source.of(folder))]
    assert str(seen[0]).startswith("2 files, written until 1970-01-01T00:00:09")
    made(old, 6 * SECOND)
    seen.append(written(Source.of(folder)))
    third = made(folder / "c.csv", 7 * SECOND)
    seen.append(written(Source.of(folder)))
    old.unlink()
    seen.append(written(Source.of(folder)))
    third.unlink()
    seen.append(written(Source.of(folder)))
    assert len(set(seen)) == len(seen)
    assert written(Source.of([new], name="months")) == written(Source.of(new))


def test_a_database_file_changes_with_its_log(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits (x INTEGER)")
    os.utime(path, ns=(SECOND, SECOND))
    source = Source.of(path, table="visits")
    before = written(source)
    made(tmp_path / "clinic.duckdb.wal", 2 * SECOND, "")
    assert written(source) != before


def test_frames_and_servers_have_a_label_or_none_and_what_ships_never_changes(tmp_path: Path) -> None:
    assert written(Source.of(pyarrow.table({"x": [1]}), name="t")) is None
    assert written(Source.of("postgresql://db/clinic", table="visits")) is None
    assert written(dv.datasets.adult()) == "as shipped"
    path = made(tmp_path / "a.csv", SECOND)
    source = Source.of(path)
    path.unlink()
    assert written(source) == "missing"


@pytest.mark.parametrize("label", ["", "two\nlines", 7, "x" * 1001])
def test_a_label_is_a_short_printable_text(label: object, home: Path) -> None:
    with pytest.raises(dv.InvalidParameter, match="version"):
        dv.Session(dv.datasets.adult(), version=label)  # type: ignore[arg-type]
