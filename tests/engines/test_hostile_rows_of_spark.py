"""No row decides anything in Spark, whose every statement takes long: so all columns are in one table.

A table has a column of each type, a plain row and an empty one; its neighbour has hostile rows as well, one
for each value that some reader cannot take. Spark reads values row by row, so a value that stops a question
alone stops it among others too. Questions about one column are compared with what is said of no rows at all,
which takes no Spark; questions about all columns are asked of both tables.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from dovetail.engines import Engine, Source, connect
from dovetail.query import (
    Column,
    Count,
    CountDistinct,
    Histogram,
    Linear,
    Lookup,
    Marginals,
    Mean,
    Quantiles,
    Ranges,
    Schema,
    Sum,
    Variance,
)
from hostile_rows import DERIVED, FAR, NOT_UTF_8, asked, given_away

pytestmark = pytest.mark.spark

WORDS = [
    *NOT_UTF_8,
    b"a\x00b",
    b"x" * 100_000,
    b"1e999",
    b"9" * 6000,
    b"1e-999",
    b"NaN",
    b"-Infinity",
    b" 1 ",
]
WORDS += [
    b"1_0",
    b"0x1p3",
    b"2024-02-30",
    b"0000-00-00",
    b"+290000-01-01",
    b"2024-01-31 24:00:00",
    b"epoch",
    b"",
]
DAYS = [2**31 - 1, 2**30, -(2**31) + 1, -(2**31), -719_529, 2_932_897]
NARROW = {getattr(pyarrow, f"int{bits}")(): 2 ** (bits - 1) for bits in (8, 16, 32, 64)}
# Hundredths: 1.00, the ends of five digits, and more digits than the type says, which a file can hold.
CENTS = [100, 99_999, -99_999, 100_000, 2**31 - 1, -(2**31)]
# Columns of a Parquet file: a plain value and hostile ones, in what stores them and in what they are.
STORED: dict[str, tuple[Any, Any, list[Any]]] = {
    "texts": (pyarrow.binary(), pyarrow.string(), [b"ok", *WORDS]),
    "doubles": (
        pyarrow.float64(),
        pyarrow.float64(),
        [1, *map(float, ("nan", "inf", "-inf", "-0.0", "1e308", "5e-324", "1.7e38", "9.2e18", "-9.3e18"))],
    ),
    "floats": (pyarrow.float32(), pyarrow.float32(), [1, float("nan"), float("-inf"), 3.4e38, 1e-45]),
    **{f"{type_}s": (type_, type_, [1, most - 1, -most]) for type_, most in NARROW.items()},
    "wide": (pyarrow.decimal128(38, 0), None, [Decimal(1), Decimal("9" * 38), Decimal("-" + "9" * 38)]),
    "fractions": (pyarrow.decimal128(38, 38), None, [Decimal("0.5"), Decimal("0." + "9" * 38)]),
    "cents": (
        pyarrow.binary(16),
        pyarrow.decimal128(5, 2),
        [cents.to_bytes(16, "little", signed=True) for cents in CENTS],
    ),
    "truths": (pyarrow.bool_(), None, [True, False]),
    "days": (pyarrow.int32(), pyarrow.date32(), [0, *DAYS]),
    "times": (pyarrow.int64(), pyarrow.timestamp("us"), [0, *FAR]),
    "instants": (pyarrow.int64(), pyarrow.timestamp("us", "UTC"), [0, *FAR]),
    "millis": (pyarrow.int64(), pyarrow.timestamp("ms"), [0, *FAR]),
    "zoned_millis": (pyarrow.int64(), pyarrow.timestamp("ms", "UTC"), [0, *FAR]),
    "bytes": (pyarrow.binary(), None, [b"a", b"\xff"]),
    "lists": (pyarrow.list_(pyarrow.string()), None, [["a"], [None]]),
}
# Tables of the user's with such columns are refused.
MILLISECONDS = ["millis", "zoned_millis"]
# Columns that no Parquet file can hold, made of those above; or that Spark does not read from one, whatever
# its rows are: a file with a time of day, in any unit, is not opened at all.
MADE = {
    "collated": "texts COLLATE UNICODE_CI",
    "nothing": "NULL",
    "maps": "MAP(texts, doubles)",
    "pairs": "STRUCT(texts, days)",
    "spans": "IF(doubles = 1, INTERVAL '1' DAY, INTERVAL '106751991' DAY)",
    "months": "IF(doubles = 1, INTERVAL '1' MONTH, INTERVAL '178956970' YEAR)",
    "variants": "IF(doubles = 1, PARSE_JSON('1'), PARSE_JSON('{\"a\": [null, \"word\", 1e99]}'))",
    "hours": "IF(doubles = 1, TIME '00:00:00', TIME '23:59:59.999999')",
}
LENGTHS = {"padded": "char(5)", "limited": "varchar(9)"}
BOUNDS: dict[str, dict[str, Any]] = {
    "integer": {"low": 0, "high": 10},
    "number": {"low": 0, "high": 10, "step": "0.25"},
    "date": {"low": "1960-01-01", "high": "1980-01-01"},
    "timestamp": {"low": "1969-12-31", "high": "1970-01-02", "step": 3600},
}
KEYS: dict[str, list[Any]] = {"integer": [1, None], "text": ["ok", None], "boolean": [True, None]}
KEYS |= {"date": ["1970-01-01", None]}
BINS: dict[str, list[Any]] = {"integer": [0, 5], "number": [0, 0.5], "date": ["1960-01-01", "1980-01-01"]}
BINS |= {"timestamp": ["1960-01-01", "1980-01-01"]}
ABOVE = {"integer": "3", "number": "0.5", "text": "'p'", "date": "'2020-01-01'", "timestamp": "'2020-01-01'"}


def rows_of(values: list[Any], length: int, stored: Any, type_: Any) -> pyarrow.Array:
    array = pyarrow.array([*values, *[None] * (length - len(values))], stored)
    return array if type_ is None else array.view(type_)


def stored_tables() -> tuple[pyarrow.Table, pyarrow.Table]:
    """Return the table with hostile rows, and without them."""
    longest = 1 + max(len(values) for _, _, values in STORED.values())
    whole, plain = (
        pyarrow.table(
            {
                name: rows_of(values if hostile else values[:1], longest if hostile else 2, stored, type_)
                for name, (stored, type_, values) in STORED.items()
            }
        )
        for hostile in (True, False)
    )
    return whole, plain


@pytest.fixture(scope="module")
def quick(spark: Any) -> Any:
    """Return a session that plans as little as it can."""
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    return session


@pytest.fixture(scope="module", params=["file", "frame"])
def engines(request: pytest.FixtureRequest, quick: Any, tmp_path_factory: Any) -> Iterator[list[Engine]]:
    """Open the table with hostile rows and its neighbour: Parquet's types by path, Spark's own as a frame."""
    from pyspark.sql import functions

    folder: Path = tmp_path_factory.mktemp("neighbours")
    opened = []
    for number, table in enumerate(stored_tables()):
        path = f"{folder}/{number}.parquet"
        if request.param == "file":
            # As whole numbers, decimals keep what is beyond their digits.
            pyarrow.parquet.write_table(table, path, store_decimal_as_integer=True)
            opened.append(connect(Source.of(quick, name="rows", table=path)))
            continue
        pyarrow.parquet.write_table(table.drop_columns(MILLISECONDS), path)
        made = [functions.expr(text).alias(name) for name, text in MADE.items()]
        for name, type_ in LENGTHS.items():
            noted = {"__CHAR_VARCHAR_TYPE_STRING": type_}
            made.append(functions.expr("texts").alias(name, metadata=noted))
        opened.append(connect(Source.of(quick.read.parquet(path).select(*made), name="rows")))
    yield opened
    for engine in opened:
        engine.close()


@pytest.fixture(autouse=True)
def silence(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """See to it that nothing is logged, at any level."""
    with caplog.at_level(logging.DEBUG):
        yield
    assert not [record for record in caplog.records if record.name.startswith("dovetail")]


class Unread:
    """An engine that finds no rows, without looking."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.statements: dict[object, Any] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def fetch(self, statement: Any) -> list[Any]:
        return []

    def batches(self, statement: Any) -> Iterator[Any]:
        yield from ()

    column_batches = batches


def told_apart(engines: list[Any], *questions: Any) -> list[str]:
    """Return the questions that tell the two tables apart, or that are not understood."""
    found = [{str(each): asked(engine, *each) for each in questions} for engine in engines]
    return given_away(found[1], found[0])


def usable(engine: Engine, kind: str | None = None) -> list[str]:
    """Return the columns that can be asked, or those that are of a kind without being declared."""
    columns = engine.columns().items()
    return [name for name, stored in columns if stored.usable and kind in (None, stored.kind)]


def schema_of(kind: str, *columns: str, looked_up: bool = False) -> Schema:
    """Return a schema that declares columns, with a zone and a lookup on the first of them."""
    table = {"key": ["1" if kind == "integer" else "ok"], "word": ["found"]}
    lookups = [Lookup("words", table, key="key", on=columns[0])] if looked_up else []
    bounds = BOUNDS.get(kind, {})
    return Schema([Column(name, kind, **bounds) for name in columns], zone="Asia/Tokyo", lookups=lookups)


def conditions(kind: str, columns: list[str]) -> str:
    """Return a condition that is true of every row, so that all of its parts are computed."""
    if kind == "boolean":
        return " AND ".join(f"({name} OR NOT {name} OR {name} IS NULL)" for name in columns)
    value = ABOVE[kind]
    return " AND ".join(f"({name} > {value} OR {name} <= {value} OR {name} IS NULL)" for name in columns)


def ranked(kind: str, column: str) -> list[Any]:
    """Return questions about the place of a value between public bounds."""
    if kind in ("integer", "number"):
        return [Sum(column), Mean(column), Variance(column), Ranges(column), Quantiles(column, (0.5,))]
    return [Ranges(column), Quantiles(column, (0.5,))] if kind in BOUNDS else []


def cells(kind: str, column: str) -> list[Any]:
    """Return questions about cells that are public, and about those that are found."""
    found: list[Any] = [Histogram(column, keys="discover")]
    if kind in KEYS:
        found += [Histogram(column, keys=KEYS[kind]), Linear(column, {KEYS[kind][0]: 1}, step=1)]
    if kind in BINS:
        found += [Histogram(column, bins=BINS[kind]), Marginals(column, way=1, bins={column: BINS[kind]})]
    return found


@pytest.mark.parametrize("kind", list(DERIVED))
def test_no_value_decides_anything_when_its_column_is_asked_as_it_is(
    engines: list[Engine], kind: str
) -> None:
    for column in usable(engines[0], kind):
        schema = schema_of(kind, column, looked_up=kind in ("integer", "text"))
        derived = [text.replace("x", column) for text in DERIVED[kind]]
        questions = [
            *((query, schema) for query in [*cells(kind, column), *ranked(kind, column)]),
            (Histogram(*derived, keys="discover"), schema),
            (Count(conditions(kind, [column])), schema, column),
            (CountDistinct(column, keys=KEYS.get(kind), bins=BINS.get(kind)), schema, column),
        ]
        assert not told_apart([engines[0], Unread(engines[0])], *questions), column


@pytest.mark.parametrize("kind", list(DERIVED))
def test_no_value_decides_anything_when_all_columns_are_declared_as_a_type(
    engines: list[Engine], kind: str
) -> None:
    # As all but a day or a time, an instant in milliseconds is spelled like any time in milliseconds.
    twice = set() if kind in ("date", "timestamp") else {"zoned_millis"}
    columns = [name for name in usable(engines[0]) if name not in twice]
    schema = schema_of(kind, *columns)
    questions = [Histogram(*columns, keys="discover"), Count(conditions(kind, columns))]
    assert not told_apart(engines, *((query, schema) for query in questions))
    # A number that is read from a text is so long in SQL that Spark could not plan several steps of them.
    texts = [name for name in columns if engines[0].columns()[name].kind in ("text", None)]
    alone = columns if kind == "number" else texts
    formulas = [text for text in DERIVED[kind] if "word" not in text]
    for names in filter(None, [*([name] for name in alone), [n for n in columns if n not in alone]]):
        derived = Histogram(*(text.replace("x", n) for text in formulas for n in names), keys="discover")
        assert not told_apart([engines[0], Unread(engines[0])], (derived, schema)), names


@pytest.mark.parametrize(
    ("column", "kind"),
    [("texts", kind) for kind in BOUNDS]
    + [("doubles", "integer"), ("wide", "integer"), ("fractions", "integer"), ("truths", "integer")]
    + [("cents", "integer"), ("int64s", "number"), ("int16s", "number"), ("days", "timestamp")]
    + [("instants", "date"), ("millis", "date"), ("zoned_millis", "date")],
)
def test_no_value_decides_anything_when_it_is_ranked_as_another_type(
    engines: list[Engine], column: str, kind: str
) -> None:
    if column not in engines[0].columns():
        pytest.skip("a column of the Parquet file alone")
    assert column in usable(engines[0])
    schema = schema_of(kind, column)
    both = [engines[0], Unread(engines[0])]
    assert not told_apart(both, *((query, schema) for query in ranked(kind, column)[-3:]))


def test_columns_that_cannot_be_asked_are_refused_whatever_they_hold(engines: list[Engine]) -> None:
    for column in set(engines[0].columns()) - set(usable(engines[0])):
        for schema in (Schema(), *(schema_of(kind, column) for kind in DERIVED)):
            said = [asked(engine, Histogram(column, keys="discover"), schema) for engine in engines]
            assert said[0] == said[1]
            assert column in said[0][1]
