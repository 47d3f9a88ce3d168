"""What only Spark can hold or do: its kinds of source, its settings, its collations, its failures."""

from __future__ import annotations

import logging
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import dovetail as dv
from dovetail.engines import Engine, Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.errors import DataError, InvalidParameter
from dovetail.query import Column, Count, Histogram, Schema, Sum

pytestmark = pytest.mark.spark


def cells(engine: Engine, query: Any, *columns: Column) -> list[int]:
    return [cell[0] for cell in true_cells(engine, query.checked(Schema(columns).table(engine.columns())))]


def ask(source: Source, query: Any, *columns: Column) -> list[int]:
    engine = connect(source)
    try:
        return cells(engine, query, *columns)
    finally:
        engine.close()


def test_a_frame_a_table_and_a_path_give_the_same_answer(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"age": [40, 50, None]}), path)
    frame = spark.read.parquet(str(path))
    frame.createOrReplaceTempView("people")
    sources = [
        Source.of(frame, name="people"),
        Source.of(spark, name="people", table="people"),
        Source.of("local[2]", table=str(path)),
        Source.of("local[2]", table=f"file://{path}"),
    ]
    for source in sources:
        assert ask(source, Histogram("age", keys=[40, 50, 60, None])) == [1, 1, 0, 1]
    assert sources[2].name == "people.parquet"
    with pytest.raises(InvalidParameter, match="table=None"):
        connect(Source.of(spark, name="people"))
    with pytest.raises(InvalidParameter, match="name=None"):
        Source.of(frame)


def test_the_user_s_session_is_left_as_it_was(spark: Any) -> None:
    before = dict(spark.conf.getAll)
    frame = spark.sql("SELECT 1 AS n")
    engine = connect(Source.of(frame, name="one"))
    assert cells(engine, Count()) == [1]
    engine.close()
    assert dict(spark.conf.getAll) == before
    assert not [t for t in spark.catalog.listTables("global_temp") if t.name.startswith("dovetail")]
    engine.close()  # Twice is not once too often.


def test_times_are_read_in_utc_whatever_the_session_s_zone(spark: Any) -> None:
    frame = spark.sql("SELECT TIMESTAMP '2024-01-01 00:30:00 UTC' AS z UNION ALL SELECT NULL")
    assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"
    source = Source.of(frame, name="zones")
    assert ask(source, Count("z >= '2024-01-01'")) == [1]
    assert ask(source, Histogram("z", bins=[datetime(2023, 12, 31), "2024-01-01", "2024-01-02"])) == [0, 1]


def test_milliseconds_in_a_parquet_file_read_like_any_time(spark: Any, tmp_path: Path) -> None:
    stored = pyarrow.array([0, -1, 1_704_067_200_123, 2**63 - 1, None], pyarrow.int64())
    for zone in (None, "UTC"):
        path = tmp_path / f"{zone}.parquet"
        pyarrow.parquet.write_table(pyarrow.table({"at": stored.view(pyarrow.timestamp("ms", zone))}), path)
        for source in (Source.of("local[2]", table=str(path)), Source.of(path)):
            assert ask(source, Count("at IS NULL")) == [2]
            assert ask(source, Count("at < '1970-01-01'")) == [1]
            assert ask(source, Count("at = '2024-01-01 00:00:00.123'")) == [1]
            assert ask(source, Histogram("at", keys=["1969-12-31"]), Column("at", "date")) == [1]


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_instants_of_a_parquet_file_are_read_in_the_zone_of_the_schema(
    spark: Any, tmp_path: Path, unit: str
) -> None:
    """Those in milliseconds were read in UTC: nine hours late in Tokyo, without a word."""
    first = pyarrow.array([datetime(2019, 12, 31, 14), datetime(1970, 1, 1)], pyarrow.timestamp(unit))
    path = tmp_path / "instants.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"at": first.cast(pyarrow.timestamp(unit, "UTC"))}), path)
    for source in (Source.of(spark, name="rows", table=str(path)), Source.of(path)):
        for zone, hours in ((None, [14, 0]), ("Asia/Tokyo", [23, 9]), ("Pacific/Auckland", [3, 12])):
            schema = Schema([Column("at", "timestamp")], zone=zone)
            engine = connect(source)
            table = schema.table(engine.columns())
            for hour in hours:
                assert true_cells(engine, Count(f"at.hour = {hour}").checked(table)) == [(1,)]
            days = Schema([Column("at", "date")], zone=zone).table(engine.columns())
            late = int(zone == "Pacific/Auckland")
            assert true_cells(engine, Count("at = '2020-01-01'").checked(days)) == [(late,)]
            engine.close()


def test_files_that_hold_an_instant_and_a_clock_s_time_are_refused(spark: Any, tmp_path: Path) -> None:
    for zone in (None, "UTC"):
        at = pyarrow.array([0], pyarrow.int64()).view(pyarrow.timestamp("ms", zone))
        pyarrow.parquet.write_table(pyarrow.table({"at": at}), tmp_path / f"{zone}.parquet")
    with pytest.raises(DataError):
        connect(Source.of("local[2]", table=str(tmp_path)))


def test_files_that_measure_a_time_in_different_units_are_refused(spark: Any, tmp_path: Path) -> None:
    for unit in ("ms", "us"):
        at = pyarrow.array([0], pyarrow.int64()).view(pyarrow.timestamp(unit))
        pyarrow.parquet.write_table(pyarrow.table({"at": at}), tmp_path / f"{unit}.parquet")
    with pytest.raises(DataError, match="'at' holds milliseconds in one file"):
        connect(Source.of("local[2]", table=str(tmp_path)))


@pytest.mark.parametrize("units", [("ms",), ("ms", "us")])
def test_a_table_of_the_user_s_with_milliseconds_is_refused_whatever_its_rows_are(
    spark: Any, tmp_path: Path, units: tuple[str, ...]
) -> None:
    for unit in units:
        at = pyarrow.array([0], pyarrow.int64()).view(pyarrow.timestamp(unit, "UTC"))
        pyarrow.parquet.write_table(pyarrow.table({"at": at, "n": [1]}), tmp_path / f"{unit}.parquet")
    frame = spark.read.parquet(str(tmp_path))
    frame.createOrReplaceTempView("mixed")
    for source in (Source.of(frame, name="rows"), Source.of(spark, name="rows", table="mixed")):
        with pytest.raises(DataError, match="'at' comes from Parquet files that hold milliseconds"):
            connect(source)
    # Columns that are not asked about are not read.
    assert ask(Source.of(frame.select("n"), name="rows"), Count("n = 1")) == [len(units)]
    if len(units) == 1:
        assert ask(Source.of(spark, name="rows", table=str(tmp_path)), Count("at IS NULL")) == [0]


def test_a_column_of_nothing_but_missing_values_declares_no_type(spark: Any) -> None:
    source = Source.of(spark.sql("SELECT NULL AS x, 1 AS n"), name="rows")
    with pytest.raises(dv.InvalidQuery, match="The type of x is not declared"):
        ask(source, Sum("x", low=0, high=1, step=1))
    assert ask(source, Sum("x", low=0, high=1, step=1), Column("x", "number")) == [0]


def test_a_column_s_own_collation_does_not_join_letters(spark: Any) -> None:
    frame = spark.sql("SELECT col1 COLLATE UTF8_LCASE AS k FROM VALUES ('ann'), ('Ann'), (NULL)")
    source = Source.of(frame, name="collated")
    assert ask(source, Histogram("k", keys=["ann", "ANN", None])) == [1, 0, 1]
    assert ask(source, Count("k < 'a'")) == [1]


def test_the_spaces_that_fill_a_char_column_are_no_part_of_its_texts(spark: Any, tmp_path: Path) -> None:
    """As in PostgreSQL. Compared as it is stored, a row was equal to a text and different from it."""
    spark.sql(f"CREATE TABLE filled (k CHAR(5), v VARCHAR(5)) USING parquet LOCATION '{tmp_path / 'filled'}'")
    try:
        spark.sql("INSERT INTO filled VALUES ('ab', 'ab'), ('ab', 'ab '), ('abcde', 'x'), (NULL, NULL)")
        engine = connect(Source.of(spark, name="filled", table="filled"))
        for column, alike, in_cells in (("k", 2, [2, 1, 1]), ("v", 1, [1, 0, 1])):
            counts = [cells(engine, Count(f"{column} {sign} 'ab'"))[0] for sign in ("=", "<>")]
            assert counts == [alike, 3 - alike]
            assert cells(engine, Histogram(column, keys=["ab", "abcde", None])) == in_cells
            assert cells(engine, Count(f"{column} NOT IN ('ab', 'abcde')")) == [3 - sum(in_cells[:2])]
        engine.close()
    finally:
        spark.sql("DROP TABLE filled")


def test_a_text_that_is_not_utf_8_is_missing_and_equal_to_no_text(spark: Any) -> None:
    broken = "(CAST(X'61FF' AS STRING)), (CAST(X'FF' AS STRING))"
    source = Source.of(
        spark.sql(f"SELECT col1 AS k FROM VALUES ('a'), ('b'), {broken}, (NULL)"), name="texts"
    )
    engine = connect(source)
    for keys, counts in ((["a", "z"], [1, 0]), (["a", None], [1, 3]), (["a\ufffd", "\ufffd"], [0, 0])):
        assert cells(engine, Histogram("k", keys=keys)) == counts
        assert cells(engine, Histogram("k"), Column("k", "text", values=keys)) == counts
        apart = Column("k", "text", values=keys, other="more")
        assert cells(engine, Histogram("k"), apart) == [*counts, 5 - sum(counts)]
    for where, count in (("= 'a'", 1), ("IN ('a', 'b')", 2), ("<> 'a'", 1), ("NOT IN ('a')", 1)):
        assert cells(engine, Count(f"k {where}")) == [count]
        assert cells(engine, Count(f"NOT (k {where})")) == [2 - count]
    engine.close()


def test_its_nested_types_are_refused_by_name(spark: Any) -> None:
    frame = spark.sql("SELECT array(1) AS tags, map('a', 1) AS m, X'00' AS raw, 1 AS n")
    source = Source.of(frame, name="nested")
    for name in ("tags", "m", "raw"):
        with pytest.raises(dv.InvalidQuery, match=f"{name} cannot be asked about: it holds lists"):
            ask(source, Count(f"{name} = 'a'"))
    assert ask(source, Count("n = 1")) == [1]


def test_every_kind_can_be_asked_of_every_column(spark: Any) -> None:
    frame = spark.sql(
        f"SELECT 1Y AS a, 2L AS b, 3.5D AS c, CAST('NaN' AS FLOAT) AS d, {'9' * 38} AS e, TRUE AS i, "
        "'+5881580-07-11' AS f, DATE '+5881580-07-11' AS g, TIMESTAMP_NTZ '2024-01-01 00:00:00' AS h"
    )
    engine = connect(Source.of(frame, name="kinds"))
    for name in engine.columns():
        for kind in ("integer", "number", "text", "boolean", "date", "timestamp"):
            (count,) = cells(engine, Count(f"{name} IS NOT NULL"), Column(name, kind))
            assert 0 <= count <= 1
    assert cells(engine, Sum("e", low=0, high=10, step="0.1")) == [100]
    engine.close()


def test_the_engine_s_own_words_reach_the_log_only(spark: Any, caplog: pytest.LogCaptureFixture) -> None:
    spark.conf.set("spark.sql.ansi.enabled", "true")
    try:
        frame = spark.sql("SELECT CAST(col1 AS INT) AS n FROM VALUES ('SECRET')")
        with caplog.at_level(logging.DEBUG, "dovetail.engine"), pytest.raises(DataError) as caught:
            ask(Source.of(frame, name="v"), Count("n = 1"))
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "false")
    assert "SECRET" not in str(caught.value)
    assert "SECRET" in caplog.text
    assert caught.value.__cause__ is None


def test_a_missing_table_is_a_data_error(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no table"):
        connect(Source.of(spark, name="gone", table="nowhere"))
    with pytest.raises(DataError, match="cannot be read"):
        connect(Source.of("local[2]", table=str(tmp_path / "gone.parquet")))


def test_a_session_answers_through_spark_and_shares_the_file_s_budget(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"age": [40, 50, 50]}), path)
    ledger = tmp_path / "b.ledger"
    with dv.Session("local[2]", table=str(path), budget=dv.Budget.pure(100), ledger=ledger) as session:
        answer = session.histogram("age", keys=[40, 50], noise=dv.Geometric(20))
        assert [row["value"] for row in answer.table.to_pylist()] == [1, 2]
    with pytest.warns(UserWarning, match="'other' is a second name for the source of 'people.parquet'"):
        dv.Session(path, name="other", budget=dv.Budget.pure(100), ledger=ledger).close()


def test_a_missing_pyspark_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(DataError, match=r"pip install 'dovetail-dp\[spark\]'"):
        connect(Source.of("spark://cluster:7077", table="visits"))
