"""Rows that try to stop a question: one for every kind of value that some reader cannot take."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow

from dovetail.engines import Engine
from dovetail.engines.aggregation import cell_reader, held_cells, true_cells
from dovetail.errors import DovetailError
from dovetail.query import Schema
from dovetail.query.neighbours import Persons

UNITS = ("s", "ms", "us", "ns")
NOT_UTF_8 = [b"\xff\xfe", b"\xed\xa0\x80", b"\xc3"]
FAR = [2**63 - 1, 10**17, -(2**63)]


def _texts(type_: Any, raw: Any, odd: list[bytes]) -> list[pyarrow.Array]:
    return [_viewed([b"ok", value, None], raw, type_) for value in odd]


def _viewed(values: list[Any], stored: Any, type_: Any) -> pyarrow.Array:
    array = pyarrow.array(values, stored)
    if type_ == pyarrow.string_view():
        return pyarrow.Array.from_buffers(type_, len(array), array.buffers())
    return array.view(type_)


def _encoded(texts: pyarrow.Array) -> pyarrow.Array:
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, None]), texts[:2])


def _decimals() -> dict[str, list[pyarrow.Array]]:
    beyond = pyarrow.py_buffer(b"".join(n.to_bytes(16, "little", signed=True) for n in (1, 2**127 - 1, 5)))
    return {
        "decimal": [pyarrow.array([Decimal(1), Decimal("9" * 38), None], pyarrow.decimal128(38, 0))],
        "decimal beyond its digits": [
            pyarrow.Array.from_buffers(pyarrow.decimal128(5, 2), 3, [None, beyond])
        ],
        "decimal256": [pyarrow.array([Decimal(1), Decimal("9" * 76), None], pyarrow.decimal256(76, 0))],
        "decimal below 0": [
            pyarrow.array([Decimal("1e5"), Decimal("9e30"), None], pyarrow.decimal128(38, -5))
        ],
    }


def _times() -> dict[str, list[pyarrow.Array]]:
    found = {}
    for unit in UNITS:
        for zone in (None, "UTC") if unit != "ms" else (None, "UTC", "+14:00"):
            type_ = pyarrow.timestamp(unit, zone)
            found[str(type_)] = [_viewed([0, far, None], pyarrow.int64(), type_) for far in FAR]
        found[f"duration[{unit}]"] = [
            _viewed([0, far, None], pyarrow.int64(), pyarrow.duration(unit)) for far in FAR[:1]
        ]
    days = [2**31 - 1, 2**30, -(2**31) + 1, -(2**31)]
    found["date32"] = [_viewed([0, day, None], pyarrow.int32(), pyarrow.date32()) for day in days]
    found["date64"] = [_viewed([0, far, None], pyarrow.int64(), pyarrow.date64()) for far in [*FAR, 5, -5]]
    for unit, size in (("s", 32), ("ms", 32), ("us", 64), ("ns", 64)):
        type_ = getattr(pyarrow, f"time{size}")(unit)
        far = 2 ** (size - 1) - 1
        found[str(type_)] = [_viewed([0, far, None], getattr(pyarrow, f"int{size}")(), type_)]
    return found


def arrow_columns() -> dict[str, list[pyarrow.Array]]:
    """Return columns by type: a plain value, a hostile one and a missing one in each."""
    odd = [b"a\x00b", b"x" * 100_000, b"1e999", b"9" * 6000]
    strings = _texts(pyarrow.string(), pyarrow.binary(), [*NOT_UTF_8, *odd])
    floats = [float("nan"), float("inf"), float("-inf"), -0.0]
    found = {
        "string": strings,
        "large_string": _texts(pyarrow.large_string(), pyarrow.large_binary(), NOT_UTF_8[:1]),
        "string_view": _texts(pyarrow.string_view(), pyarrow.binary_view(), NOT_UTF_8[:1]),
        "dictionary": [_encoded(texts) for texts in strings[:2]],
        "dictionary of times": [
            _viewed([0, FAR[0]], pyarrow.int64(), pyarrow.timestamp("ms", "UTC")).dictionary_encode()
        ],
        "half": [pyarrow.array([1, value, None], pyarrow.float16()) for value in floats[:2]],
        "float": [pyarrow.array([1, value, None], pyarrow.float32()) for value in floats[:2]],
        "double": [pyarrow.array([1, value, None], pyarrow.float64()) for value in [*floats, 1e308]],
        "int64": [pyarrow.array([1, value, None], pyarrow.int64()) for value in (2**63 - 1, -(2**63))],
        "uint64": [pyarrow.array([1, 2**64 - 1, None], pyarrow.uint64())],
        "int8": [pyarrow.array([1, -128, None], pyarrow.int8())],
        "bool": [pyarrow.array([True, False, None])],
        "null": [pyarrow.nulls(3)],
        "binary": [pyarrow.array([b"a", b"\xff", None])],
        "list": [pyarrow.array([["a"], [None], None])],
        "interval": [pyarrow.array([(1, 2, 3), (2**31 - 1, 0, 2**63 - 1), None])],
        "uuid": [pyarrow.array([b"a" * 16, b"\xff" * 16, None], pyarrow.uuid())],
        "json": [pyarrow.array(["{}", "{", None], pyarrow.json_(pyarrow.string()))],
    }
    return {**found, **_decimals(), **_times()}


class _Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no text")


def objects() -> list[Any]:
    """Return values that a pandas column of any type may meet."""
    days = [date.min, datetime.max, datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))]
    numbers = [10**5001, 10**400, float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN"), 1 + 2j, True]
    texts = ["\ud800", "word", b"\xff", "x" * 100_000]
    return [*texts, *numbers, *days, None, [1], {}, object(), _Unprintable(), pyarrow.scalar(1)]


# A plain value and hostile ones, as SQL.
DUCKDB = {
    "ENUM('ok', '9e999', '')": ["'ok'", "'9e999'"],
    "UHUGEINT": ["1", "340282366920938463463374607431768211455"],
    "UNION(n INTEGER, t VARCHAR)": ["1", "'word'"],
    "BIT": ["'1'", "'0'"],
    "INTERVAL": ["INTERVAL 1 DAY", "INTERVAL 178000000 YEARS"],
    "TIME": ["'00:00'", "'24:00:00'"],
    "TIMETZ": ["'00:00:00+00'", "'24:00:00-15:59:59'"],
    "VARCHAR[]": ["['a']", "[NULL]"],
    "INTEGER[2]": ["[1, 2]", "[NULL, 2]"],
    "STRUCT(a INTEGER)": ["{'a': 1}", "{'a': NULL}"],
    "MAP(VARCHAR, INTEGER)": ["MAP {'a': 1}", "MAP {}"],
}
POSTGRES_TYPES = """
CREATE DOMAIN positive AS numeric CHECK (VALUE >= 0);
CREATE DOMAIN of_domain AS positive;
CREATE TYPE mood AS ENUM ('ok', '9e999', '');
CREATE TYPE pair AS (a int, b text);
"""
POSTGRES_OTHERS = {
    "of_domain": ["1", "'NaN'"],
    "mood": ["'ok'", "'9e999'"],
    "char(5)": ["'ok'", "'1e999'"],
    "pair": ["'(1,a)'", "'(,)'"],
    "int4range": ["'[0,1]'", "'empty'"],
    "nummultirange": ["'{[0,1]}'", "'{}'"],
    "integer[]": ["'{1}'", "'{NULL}'"],
    "money": ["1", "'-92233720368547758.08'"],
    "varbit": ["'101'", "''"],
    "timetz": ["'00:00+00'", "'24:00-15:59'"],
    "jsonb": ["'{}'", "'1e400'"],
    "point": ["'(1,2)'", "'(nan,inf)'"],
}
POSTGRES_VIEW = """
CREATE TABLE {table}_ (y numeric, x text GENERATED ALWAYS AS (y::text) STORED, n int);
INSERT INTO {table}_ (y, n) VALUES (1, 0), ({value}, 1), (NULL, 2);
CREATE VIEW {table} AS SELECT x, n FROM {table}_
"""
POSTGRES = {
    "bigint": ["0", "9223372036854775807"],
    "numeric": ["1", "'NaN'", "'Infinity'", "1e400", "1e-400"],
    "double precision": ["1", "'NaN'", "'-Infinity'", "1e308", "5e-324"],
    "real": ["1", "'NaN'", "'Infinity'"],
    "text": ["'ok'", "repeat('9', 6000)", "'1e999'", "'infinity'", "E'\\x01'", "repeat('x', 3000000)"],
    "varchar(9)": ["'ok'", "''"],
    "date": ["'1970-01-01'", "'infinity'", "'4000000-01-01'", "'4713-01-01 BC'"],
    "timestamp": ["'1970-01-01'", "'-infinity'", "'294276-12-31'", "'4713-01-01 BC'"],
    "timestamptz": ["'1970-01-01'", "'infinity'", "'294276-12-31'", "'4713-01-01 BC'"],
    "boolean": ["true", "false"],
    "uuid": ["'00000000-0000-0000-0000-00000000000a'", "'ffffffff-ffff-ffff-ffff-ffffffffffff'"],
    "bytea": ["'a'", "'\\xff'"],
    "interval": ["'1 day'", "'178000000 years'"],
    "json": ["'{}'", "'[1]'"],
    "text[]": ["'{a}'", "'{}'"],
}

LINES = [
    b"\xff\xfe,1",
    b"\xed\xa0\x80,1",
    b"a\x00b,1",
    b"x" * 3_000_000 + b",1",
    b"ok",
    b"ok,1,2,3",
    b"",
    b",",
    b"\xef\xbb\xbfok,1",
    b'"a\nb",1',
    b'"say ""ok""",1',
    b"1e999,1",
    b"9" * 6000 + b",1",
    b'"torn,1',
]

# What is derived from a column x of each type.
DERIVED = {
    "integer": ["FLOOR(x / 10) * 10", "FLOOR(x / 2.5) * 2.5", "CASE WHEN x > 3 THEN 'a' END", "words.word"],
    "number": ["FLOOR(x / 0.1) * 0.1", "CASE WHEN x IS NULL THEN 1 ELSE 2 END"],
    "text": ["CASE x WHEN 'ok' THEN TRUE ELSE FALSE END", "words.word"],
    "boolean": ["CASE WHEN x THEN 1 END"],
    "date": ["x.year", "x.quarter", "x.weekday", "x.month_start", "x.week_start", "x.day_start"],
    "timestamp": ["x.month", "x.hour", "x.week_start", "x.hour_start", "CASE WHEN x.day = 1 THEN 1 END"],
}


def asked(engine: Engine, query: Any, schema: Schema, unit: str | None = None) -> Any:
    """Return the shape of the true answer, or the error."""
    try:
        table = schema.table(engine.columns())
        question = query.checked(table)
        if unit is not None:
            question = replace(question, persons=Persons(table.field(unit), 2, 1))
        if not question.discovers:
            return len(true_cells(engine, question))
        read = cell_reader(question)
        for batch in held_cells(engine, question):
            for row in batch:
                read(row)
    except DovetailError as error:
        return type(error), str(error)
    return "discovered"


def given_away(plain: dict[str, Any], hostile: dict[str, Any]) -> list[str]:
    """Return the questions that tell which of two neighbouring tables was asked, or were not understood."""
    return [
        f"{query}: {plain[query]} {answer}"
        for query, answer in hostile.items()
        if answer != plain[query] or "cannot be read" in str(answer)
    ]
