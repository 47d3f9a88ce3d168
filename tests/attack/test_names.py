"""A name opens exactly what it names: no pattern, no address, no variable, no other file or table."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.engines import Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.errors import DataError, DovetailError
from dovetail.query import Count, Schema


def rows_in(source: Source) -> int:
    engine = connect(source)
    try:
        return int(true_cells(engine, Count().checked(Schema().table(engine.columns())))[0][0])
    finally:
        engine.close()


def write_csv(path: Path, rows: int) -> None:
    path.write_text("x\n" + "1\n" * rows)


def write_parquet(path: Path, rows: int) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"x": pyarrow.array([1] * rows, pyarrow.int64())}), path)


def write_arrow(path: Path, rows: int) -> None:
    pyarrow.feather.write_feather(pyarrow.table({"x": pyarrow.array([1] * rows, pyarrow.int64())}), path)


def write_duckdb(path: Path, rows: int) -> None:
    # DuckDB itself would open another file for some of the names.
    plain = path.parent.parent / "plain.db"
    with duckdb.connect(str(plain)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT 1 AS x FROM range({rows})")
    plain.rename(path)


Writer = Callable[[Path, int], None]
KINDS = [
    (".csv", write_csv, None),
    (".tsv", write_csv, None),
    (".parquet", write_parquet, None),
    (".arrow", write_arrow, None),
    (".feather", write_arrow, None),
    (".duckdb", write_duckdb, "t"),
]
BAITED = ["[s]alaries", "*", "?alaries", "s*", "sal[a-z]ries", "[!x]alaries", "{salaries,x}", "salarie[s]"]
ODD = [
    "back\\slash",
    "a\\*b",
    "line\nbreak",
    "-rf",
    "~",
    "$HOME",
    "%41",
    "a,b",
    "a b",
    "'q'",
    '"q"',
    "]",
    "é",
]


@pytest.mark.parametrize(("suffix", "write", "table"), KINDS, ids=[kind[0] for kind in KINDS])
def test_a_file_name_is_no_pattern(tmp_path: Path, suffix: str, write: Writer, table: str | None) -> None:
    write(tmp_path / f"salaries{suffix}", 7)
    for name in BAITED + ODD:
        path = tmp_path / f"{name}{suffix}"
        write(path, 2)
        assert rows_in(Source.of(path, name="bait", table=table)) == 2, name
        path.unlink()
    assert rows_in(Source.of(tmp_path / f"salaries{suffix}", table=table)) == 7


@pytest.mark.parametrize(("suffix", "write", "table"), KINDS, ids=[kind[0] for kind in KINDS])
@pytest.mark.parametrize("folder", ["dir[12]", "**", "d?r1", "back\\slash[1]"])
def test_a_folder_s_name_is_no_pattern(
    tmp_path: Path, suffix: str, write: Writer, table: str | None, folder: str
) -> None:
    for name, rows in (("dir1", 7), ("dir2", 5), (folder, 2)):
        (tmp_path / name).mkdir()
        write(tmp_path / name / f"x{suffix}", rows)
    assert rows_in(Source.of(tmp_path / folder / f"x{suffix}", name="bait", table=table)) == 2
    if table is None:
        assert rows_in(Source.of(tmp_path / folder, name="bait")) == 2


def test_the_folder_for_links_may_have_an_odd_name_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "[t]emp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "[t]emp"))
    write_csv(tmp_path / "[s]alaries.csv", 2)
    with pytest.raises(DataError, match=r"temporary folder .*TMPDIR"):
        rows_in(Source.of(tmp_path / "[s]alaries.csv"))


def test_nothing_is_left_behind_for_an_odd_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))
    write_csv(tmp_path / "[s]alaries.csv", 2)
    assert rows_in(Source.of(tmp_path / "[s]alaries.csv")) == 2
    assert not list((tmp_path / "temp").iterdir())
    (tmp_path / "[s]alaries.csv").write_text("")
    with pytest.raises(DataError):
        rows_in(Source.of(tmp_path / "[s]alaries.csv"))
    assert not list((tmp_path / "temp").iterdir())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text("ab*?[]!-^{}\\,~$% =\n", min_size=1, max_size=6), min_size=2, max_size=4, unique=True)
)
def test_any_names_are_read_one_by_one_and_together(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    for number, name in enumerate(names):
        write_csv(folder / f"{name}.csv", 10**number)
    for number, name in enumerate(names):
        assert rows_in(Source.of(folder / f"{name}.csv", name="one")) == 10**number
    assert rows_in(Source.of(folder, name="all")) == sum(10**number for number in range(len(names)))


@pytest.mark.parametrize(
    "name", ["http:/x/a.csv", "s3:/x/a.csv", "~/a.csv", "$HOME/a.csv", "sqlite:a.csv", "md:a.csv", "-a.csv"]
)
def test_a_relative_path_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    write_csv(tmp_path / "home" / "a.csv", 7)
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    write_csv(Path(name), 2)
    assert rows_in(Source.of(name, name="here")) == 2


def test_a_folder_called_key_value_adds_no_column(tmp_path: Path) -> None:
    for suffix, write in ((".csv", write_csv), (".parquet", write_parquet)):
        folder = tmp_path / f"age=40{suffix}"
        folder.mkdir()
        write(folder / f"a{suffix}", 2)
        for place in (folder, folder / f"a{suffix}"):
            engine = connect(Source.of(place, name="one"))
            assert list(engine.columns()) == ["x"]
            engine.close()


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "input.csv").symlink_to("/dev/stdin")
    (tmp_path / "gone.csv").symlink_to(tmp_path / "nowhere")
    for name in ("pipe.csv", "input.csv", "gone.csv", "/dev/stdin", "http://x/a.csv", "s3://x/a.csv"):
        with pytest.raises(DataError):
            rows_in(Source.of(str(tmp_path / name) if "/" not in name else name, name="none"))


def test_a_name_that_is_not_utf_8_is_read(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.csv"
    Path(os.fsdecode(path)).write_text("x\n1\n")
    assert rows_in(Source.of(os.fsdecode(path), name="latin")) == 1


@pytest.mark.parametrize("spelled", ["{path}", '"{path}"', "frame", "read_csv('{path}')", "glob('*')"])
def test_a_table_s_name_is_neither_a_file_nor_a_variable(tmp_path: Path, spelled: str) -> None:
    frame = pyarrow.table({"x": [1] * 7})
    assert frame.num_rows == 7
    write_csv(tmp_path / "salaries.csv", 7)
    write_duckdb(tmp_path / "clinic.duckdb", 2)
    table = spelled.format(path=tmp_path / "salaries.csv")
    with pytest.raises(DovetailError, match="no table"):
        rows_in(Source.of(tmp_path / "clinic.duckdb", name="bait", table=table))
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        with pytest.raises(DovetailError, match="no table"):
            rows_in(Source.of(connection, name="bait", table=table))
        assert rows_in(Source.of(connection, name="good", table="t")) == 2


def test_a_table_is_found_by_its_own_parts(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS x")
        connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT 1 AS x FROM range(2)")
        connection.execute('CREATE TABLE "s.t" AS SELECT 1 AS x FROM range(3)')
        connection.execute('CREATE TABLE "a ""b""" AS SELECT 1 AS x FROM range(4)')
        connection.execute("CREATE VIEW v AS SELECT 1 AS x FROM range(5)")
    expected = {"t": 1, "T": 1, "main.t": 1, "s.t": 2, "S.T": 2, '"s.t"': 3, '"a ""b"""': 4, "v": 5}
    for table, rows in expected.items():
        assert rows_in(Source.of(path, name="one", table=table)) == rows, table


@pytest.mark.spark
@pytest.mark.parametrize("name", ["[s]alaries", "sal*", "?alaries", "{salaries}", "back\\slash"])
def test_spark_s_patterns_are_refused(spark: Any, tmp_path: Path, name: str) -> None:
    write_parquet(tmp_path / "salaries.parquet", 7)
    write_parquet(tmp_path / f"{name}.parquet", 2)
    with pytest.raises(DataError, match="pattern"):
        rows_in(Source.of("local[2]", name="bait", table=str(tmp_path / f"{name}.parquet")))


@pytest.mark.spark
def test_a_spark_table_s_name_is_no_file(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_parquet(tmp_path / "salaries.parquet", 7)
    for table in (f"parquet.`{tmp_path}/salaries.parquet`", "parquet.`salaries.parquet`", "csv.`x`"):
        with pytest.raises(DataError):
            rows_in(Source.of(spark, name="bait", table=table))


@pytest.mark.spark
def test_spark_reads_a_folder_s_files_without_columns_of_its_paths(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "all" / "k=1").mkdir(parents=True)
    write_parquet(tmp_path / "all" / "k=1" / "a.parquet", 2)
    pyarrow.parquet.write_table(pyarrow.table({"x": [1], "y": [2]}), tmp_path / "all" / "b.parquet")
    engine = connect(Source.of("local[2]", name="all", table=str(tmp_path / "all")))
    assert sorted(engine.columns()) == ["x", "y"]
    engine.close()
