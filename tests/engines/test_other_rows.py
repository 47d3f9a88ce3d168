"""A hostile row changes how no other row is read: a file or a frame that takes another way reads alike."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest
from sqlglot import exp

from dovetail.engines import Source, connect
from dovetail.errors import InvalidQuery
from dovetail.query import Column, Schema, Sum
from dovetail.query.field import KINDS

# Around the second and the day that nanoseconds may be rounded over, before and after 1970.
NANOSECONDS = [
    -1,
    -999,
    -1000,
    -1001,
    0,
    1,
    1999,
    10**8,
    1_600_000_000_123_456_789,
    -1_600_000_000_123_456_789,
]
TIMES = numpy.array(NANOSECONDS, "datetime64[ns]")
FRAMES = {
    "float64": pandas.Series([0.1, 1 / 3, 1e16, 1e22, 1e-5, 5e-324, 40, None]),
    "float32": pandas.Series([0.1, 1 / 3, 16777216, None], dtype="float32"),
    "float16": pandas.Series([0.1, 1 / 3], dtype="float16"),
    "int64": pandas.Series([1, 2**53 + 1, -5]),
    "uint64": pandas.Series([1, 2**64 - 1], dtype="uint64"),
    "bool": pandas.Series([True, False]),
    "nanoseconds": pandas.Series(TIMES),
    "with a zone": pandas.Series(pandas.DatetimeIndex(TIMES, tz="UTC").tz_convert("Asia/Tokyo")),
    "microseconds": pandas.Series(numpy.array([-1, 5, 100_000, 10**15], "datetime64[us]")),
    "category": pandas.Series([1.0, 2.5]).astype("category"),
}


def read(source: Source, kind: str, name: str = "x") -> list[Any]:
    """Return the values of a column as an engine reads them."""
    engine = connect(source)
    field = Schema([Column(name, kind)]).table(engine.columns()).field(name)
    rows = engine.fetch(exp.select(engine.value(field), "n").where("n < 100").order_by("n"))
    engine.close()
    return [row[0] for row in rows]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FRAMES)
def test_a_word_in_a_frame_leaves_its_other_rows_alone(name: str, kind: str) -> None:
    column = FRAMES[name]
    mixed = pandas.concat([column.astype(object), pandas.Series(["word"])], ignore_index=True)
    numbers = [*range(len(column)), 100]
    plain = Source.of(pandas.DataFrame({"x": column, "n": numbers[:-1]}), name="rows")
    hostile = Source.of(pandas.DataFrame({"x": mixed, "n": numbers}), name="rows")
    assert read(plain, kind) == read(hostile, kind)


def test_narrow_floats_among_objects_are_the_numbers_that_they_are() -> None:
    mixed = pandas.Series([numpy.float32(0.1), "word"], dtype=object)
    source = Source.of(pandas.DataFrame({"x": mixed, "n": [0, 1]}), name="rows")
    assert read(source, "number") == [float(numpy.float32(0.1)), None]


@pytest.mark.parametrize("kind", KINDS)
def test_a_huge_number_in_a_polars_frame_leaves_its_other_rows_alone(kind: str) -> None:
    plain = Source.of(polars.DataFrame({"x": [1, -5], "n": [0, 1]}), name="rows")
    wide = polars.DataFrame({"x": [1, -5, 2**100], "n": [0, 1, 100]}, {"x": polars.Int128, "n": polars.Int64})
    assert read(plain, kind) == read(Source.of(wide, name="rows"), kind)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("integer", [1, -5, 2**62]),
        ("number", [1, -5]),
        ("number", [0.1, 1e300, 1 / 3]),
        ("boolean", [True, False]),
        ("date", [date(2020, 2, 29)]),
        ("text", ["a", "B "]),
    ],
)
def test_a_word_in_a_polars_frame_leaves_its_other_rows_alone_where_a_type_is_declared(
    kind: str, values: list[Any]
) -> None:
    rows = list(range(len(values)))
    plain = Source.of(polars.DataFrame({"x": values, "n": rows}), name="rows")
    mixed = polars.DataFrame({"x": [*values, "word"], "n": [*rows, 100]}, strict=False)
    assert read(plain, kind) == read(Source.of(mixed, name="rows"), kind)


WIDE = [Decimal("0.1"), Decimal("-82942809169212709511680343978.5"), Decimal("881257735417.0591954168"), None]


def test_long_decimals_are_the_nearest_doubles_in_every_source(tmp_path: Path) -> None:
    nearest = [None if value is None else float(Fraction(value)) for value in WIDE]
    table = pyarrow.table({"x": pyarrow.array(WIDE, pyarrow.decimal256(60, 22)), "n": range(len(WIDE))})
    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "x.arrow", compression="uncompressed")
    for data in (table, tmp_path / "x.parquet", tmp_path / "x.arrow"):
        assert read(Source.of(data, name="rows"), "number") == nearest


def test_a_text_that_stops_duckdb_leaves_long_decimals_and_repeated_texts_alone(tmp_path: Path) -> None:
    found = []
    for word in (b"ok", b"\xff"):
        texts = pyarrow.array([b"ok", word], pyarrow.binary()).view(pyarrow.string())
        table = pyarrow.table(
            {
                "x": pyarrow.array([*WIDE, None], pyarrow.decimal256(60, 22)),
                "n": [*range(len(WIDE)), 100],
                "t": pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, None, 0, 0, 1]), texts),
            }
        )
        pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
        engine = connect(Source.of(tmp_path / "x.parquet"))
        fields = Schema([Column("x", "number"), Column("t", "text")]).table(engine.columns())
        both = exp.select(engine.value(fields.field("x")), engine.value(fields.field("t"))).order_by("n")
        found.append(engine.fetch(both))
        engine.close()
    assert found[0][:-1] == found[1][:-1]
    assert found[1][-1] == (None, None)


def nothing(folder: Path) -> dict[str, Any]:
    """Return columns of nothing but missing values, whose type says nothing."""
    table = pyarrow.table({"x": pyarrow.nulls(3), "n": [1, 2, 3]})
    pyarrow.parquet.write_table(table, folder / "x.parquet")
    pyarrow.feather.write_feather(table, folder / "x.arrow", compression="uncompressed")
    arrow = pandas.DataFrame({"x": pandas.Series([None] * 3, dtype=pandas.ArrowDtype(pyarrow.null()))})
    codes = pyarrow.DictionaryArray.from_arrays(pyarrow.nulls(3, pyarrow.int8()), pyarrow.nulls(0))
    return {
        "Arrow": table,
        "repeated": pyarrow.table({"x": codes, "n": [1, 2, 3]}),
        "Parquet": folder / "x.parquet",
        "Feather": folder / "x.arrow",
        "Polars": polars.DataFrame({"x": [None] * 3, "n": [1, 2, 3]}),
        "pandas": arrow.assign(n=[1, 2, 3]),
    }


@pytest.mark.parametrize("name", ["Arrow", "repeated", "Parquet", "Feather", "Polars", "pandas"])
def test_a_column_of_nothing_but_missing_values_declares_no_type(name: str, tmp_path: Path) -> None:
    source = Source.of(nothing(tmp_path)[name], name="rows")
    engine = connect(source)
    assert engine.columns()["x"].kind is None
    assert engine.columns()["x"].usable
    with pytest.raises(InvalidQuery, match="The type of x is not declared"):
        Sum("x", low=0, high=1, step=1).checked(Schema().table(engine.columns()))
    engine.close()
    for kind in KINDS:
        assert read(source, kind) == [None] * 3


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("kind", ["text", "date", "timestamp"])
def test_a_text_that_stops_duckdb_leaves_the_times_of_other_rows_alone(
    kind: str, zone: str | None, tmp_path: Path
) -> None:
    found = []
    for word in (b"ok", b"\xff"):
        rows = len(NANOSECONDS) + 1
        table = pyarrow.table(
            {
                "x": pyarrow.array([*NANOSECONDS, 0], pyarrow.int64()).view(pyarrow.timestamp("ns", zone)),
                "n": [*range(rows - 1), 100],
                "t": pyarrow.array([b"ok"] * (rows - 1) + [word], pyarrow.binary()).view(pyarrow.string()),
            }
        )
        pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
        engine = connect(Source.of(tmp_path / "x.parquet"))
        fields = Schema([Column("x", kind), Column("t", "text")]).table(engine.columns())
        both = exp.select(engine.value(fields.field("x")), engine.value(fields.field("t")), "n").order_by("n")
        found.append([row[0] for row in engine.fetch(both)][:-1])
        engine.close()
    assert found[0] == found[1]


def test_a_nanosecond_belongs_to_the_microsecond_that_it_lies_in() -> None:
    times = pyarrow.array(NANOSECONDS, pyarrow.int64()).view(pyarrow.timestamp("ns"))
    table = pyarrow.table({"x": times, "n": range(len(NANOSECONDS))})
    whole = [number // 1000 for number in NANOSECONDS]
    read_as = read(Source.of(table, name="rows"), "timestamp")
    start = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)
    assert [round((at - start).total_seconds() * 1e6) for at in read_as] == whole
