"""Columns that differ only in case: exact names where the engine tells them apart, else a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ibis
import pandas
import polars
import psycopg
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from dovetail.engines import Engine, Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.errors import DataError, InvalidQuery
from dovetail.query import Count, Schema

TWINS = pyarrow.table({"id": [1, 1, 1], "ID": [2, 2, 1]})


def counted(engine: Engine, where: str) -> int:
    return int(true_cells(engine, Count(where).checked(Schema().table(engine.columns())))[0][0])


def twin_sources(folder: Path) -> list[Source]:
    pyarrow.parquet.write_table(TWINS, folder / "twins.parquet")
    pyarrow.feather.write_feather(TWINS, folder / "twins.arrow")
    (folder / "twins.csv").write_text("id,ID\n1,2\n")
    frame = TWINS.to_pandas()
    frames = [TWINS, polars.from_arrow(TWINS), frame, frame.astype(object), ibis.memtable(TWINS)]
    files = [Source.of(folder / f"twins.{name}") for name in ("parquet", "arrow", "csv")]
    return files + [Source.of(frame, name="twins") for frame in frames]


def test_duckdb_does_not_tell_case_so_such_columns_are_refused(tmp_path: Path) -> None:
    for source in twin_sources(tmp_path):
        with pytest.raises(DataError, match=r"'id' and 'ID', which differ only in case"):
            connect(source)


def test_files_of_a_folder_call_a_column_the_same(tmp_path: Path) -> None:
    for suffix, write in (
        ("parquet", pyarrow.parquet.write_table),
        ("arrow", pyarrow.feather.write_feather),
    ):
        folder = tmp_path / suffix
        folder.mkdir()
        write(pyarrow.table({"id": [1]}), folder / f"a.{suffix}")
        write(pyarrow.table({"ID": [1]}), folder / f"b.{suffix}")
        with pytest.raises(
            DataError, match=rf"'b.{suffix}' has a column 'ID', which 'a.{suffix}' calls 'id'"
        ):
            connect(Source.of(folder))


def test_columns_inside_of_structures_are_no_columns(tmp_path: Path) -> None:
    inner = pyarrow.array([{"ID": 1, "x": [{"ID": 2}]}])
    pyarrow.parquet.write_table(pyarrow.table({"id": [1], "s": inner, "x": [3]}), tmp_path / "n.parquet")
    engine = connect(Source.of(tmp_path / "n.parquet"))
    assert list(engine.columns()) == ["id", "s", "x"]
    assert counted(engine, "x = 3") == 1
    engine.close()


def test_postgresql_tells_case_so_names_are_exact(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute('CREATE TABLE twins (id int, "ID" int)')
        connection.execute("INSERT INTO twins VALUES (1, 2), (1, 2), (1, 1)")
    engine = connect(Source.of(postgres_url, table="twins"))
    assert (counted(engine, "id = 1"), counted(engine, "ID = 1"), counted(engine, '"ID" = 2')) == (3, 1, 2)
    with pytest.raises(InvalidQuery, match="'Id' is not a column"):
        counted(engine, "Id = 1")
    engine.close()


@pytest.mark.spark
def test_spark_refuses_such_columns(spark: Any, tmp_path: Path) -> None:
    frame = spark.sql("SELECT 1 AS id, 2 AS ID")
    with pytest.raises(DataError, match=r"'id' and 'ID', which differ only in case"):
        connect(Source.of(frame, name="twins"))
    with pytest.raises(DataError, match="'id' twice"):
        connect(Source.of(spark.sql("SELECT 1 AS id, 2 AS id"), name="twins"))
    pyarrow.parquet.write_table(TWINS, tmp_path / "twins.parquet")
    with pytest.raises(DataError):
        connect(Source.of("local[2]", name="twins", table=str(tmp_path / "twins.parquet")))


def test_pandas_columns_named_alike_in_other_letters_are_kept() -> None:
    frame = pandas.DataFrame({"id": [1], " id": [2], "idé": [3]})
    engine = connect(Source.of(frame, name="spaces"))
    assert list(engine.columns()) == ["id", " id", "idé"]
    engine.close()


@pytest.mark.parametrize("second", [("b", "a"), ("a", "b")])
def test_files_whose_columns_differ_in_order_or_type_are_read_by_name(
    second: tuple[str, str], tmp_path: Path
) -> None:
    columns = {"a": pyarrow.array([2**40]), "b": pyarrow.array(["y"])}
    first = pyarrow.table({"a": pyarrow.array([1], pyarrow.int32()), "b": ["x"]})
    pyarrow.parquet.write_table(first, tmp_path / "1.parquet")
    pyarrow.parquet.write_table(
        pyarrow.table({name: columns[name] for name in second}), tmp_path / "2.parquet"
    )
    engine = connect(Source.of(tmp_path))
    assert [counted(engine, where) for where in ("a > 5", "a = 1", "b = 'y'")] == [1, 1, 1]
    engine.close()
