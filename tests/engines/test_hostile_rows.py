"""No row decides whether a question is answered, the shape of its answer, its error or a line of the log.

Every table is asked with and without one hostile row, in every kind of source and as every declared type.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from datetime import date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas
import psycopg
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from dovetail.engines import Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.query import Column, Count, Histogram, Linear, Lookup, Mean, Schema, Sum
from hostile_rows import (
    DERIVED,
    DUCKDB,
    LINES,
    POSTGRES,
    POSTGRES_OTHERS,
    POSTGRES_TYPES,
    POSTGRES_VIEW,
    arrow_columns,
    asked,
    given_away,
    objects,
)

COLUMNS = arrow_columns()
FOUND = Histogram("x", keys="discover")
DAYS = Histogram("x", bins=["1960-01-01", "1980-01-01"])
QUESTIONS = {
    "integer": [Count("x <> 3 OR x IS NULL"), Sum("x", low=0, high=10, step=1), FOUND],
    "number": [Count("x > 0.5"), Mean("x", low=0, high=10, step="0.25")],
    "text": [Count("x < 'p'"), Histogram("x", keys=["ok", None]), Linear("x", {"ok": 1}, step=1), FOUND],
    "boolean": [Count("x"), FOUND],
    "date": [Count("x < '2020-01-01'"), FOUND],
    "timestamp": [Count("x IS NULL"), DAYS],
}
DECLARED = {kind: Schema([Column("x", kind)]) for kind in QUESTIONS}
BOUNDS: dict[str, tuple[Any, Any]] = {
    "integer": (0, 99),
    "number": (0, 1),
    "date": ("1960-01-01", "1980-01-01"),
    "timestamp": ("1969-12-31", "1970-01-02"),
}


@cache
def derived(kind: str) -> tuple[Schema, list[Any]]:
    """Return a schema with bounds, a zone and a lookup, and what is derived with it."""
    low, high = BOUNDS.get(kind, (None, None))
    word = "1" if kind == "integer" else "ok"
    lookups = [Lookup("words", {"key": [word], "word": ["found"]}, key="key", on="x")]
    schema = Schema([Column("x", kind, low=low, high=high)], zone="Asia/Tokyo", lookups=lookups)
    missing = " OR ".join(f"{text} IS NULL" for text in DERIVED[kind])
    return schema, [Histogram(DERIVED[kind][0]), Count(missing)]


def answers(source: Source, most: int | None = None) -> dict[str, Any]:
    """Ask everything, with the type declared, without it, and derived; or a few questions of each type."""
    engine = connect(source)
    found = {}
    for kind, questions in QUESTIONS.items():
        forms = [(DECLARED[kind], questions[:most])]
        if most is None:
            forms += [(Schema(), questions), derived(kind)]
        for schema, each in forms:
            found |= {f"{schema} {query}": asked(engine, query, schema) for query in each}
    engine.close()
    return found


@pytest.fixture(autouse=True)
def silence(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """See to it that nothing is logged, at any level."""
    with caplog.at_level(logging.DEBUG):
        yield
    assert not [record for record in caplog.records if record.name.startswith("dovetail")]


def neighbours(array: pyarrow.Array, hostile: int = 1) -> list[pyarrow.Table]:
    """Return a table with and without its hostile rows, the second one and those that follow it."""
    rows = pyarrow.table({"x": array, "n": pyarrow.array(range(len(array)))})
    return [rows, pyarrow.concat_tables([rows.slice(0, 1), rows.slice(1 + hostile)])]


def together(arrays: list[pyarrow.Array]) -> list[tuple[pyarrow.Array, int]]:
    """Return columns with the number of hostile rows in each: one row of texts, all rows of other types.

    A text that is not UTF-8 has its whole column read another way, so texts could hide one another. Values
    of other types are read one by one: what stops a question alone stops it among others too.
    """
    first = arrays[0]
    if not pyarrow.types.is_primitive(first.type):
        return [(array, 1) for array in arrays]
    odd = [array.slice(1, 1) for array in arrays]
    return [(pyarrow.concat_arrays([first.slice(0, 1), *odd, first.slice(2)]), len(odd))]


def in_memory(table: pyarrow.Table) -> Source:
    return Source.of(table, name="rows")


def in_file(folder: Path, suffix: str, table: pyarrow.Table) -> Source:
    path = folder / f"{len(list(folder.iterdir()))}{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    return Source.of(path)


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("suffix", ["", ".arrow", ".parquet"])
def test_no_row_of_arrow_decides_anything(suffix: str, kind: str, tmp_path: Path) -> None:
    make = partial(in_file, tmp_path, suffix) if suffix else in_memory
    # Feather is read through the same view as memory, where everything is asked.
    most = 1 if suffix == ".arrow" else None
    plain: dict[str, Any] = {}
    for array, hostile in together(COLUMNS[kind]):
        rows, others = neighbours(array, hostile)
        try:
            source = make(rows)
        except (pyarrow.ArrowException, OSError):
            assert suffix == ".parquet", "only Parquet has no form for some types"
            continue
        plain = plain or answers(make(others), most)
        assert not given_away(plain, answers(source, most)), array


def test_a_parquet_file_that_stopped_duckdb_is_read_like_any_other(tmp_path: Path) -> None:
    texts = pyarrow.array([b"ok", b"\xff", None, b"no"], pyarrow.binary()).view(pyarrow.string())
    times = pyarrow.array([0, 10**17, 1000, None], pyarrow.int64()).view(pyarrow.timestamp("ms", "UTC"))
    ids = pyarrow.array([b"a" * 16, b"b" * 16, None, b"b" * 16], pyarrow.uuid())
    source = in_file(tmp_path, ".parquet", pyarrow.table({"x": texts, "at": times, "id": ids}))
    engine = connect(source)
    table = Schema().table(engine.columns())
    for query, expected in [
        (Count("x IS NULL"), [2]),
        (Histogram("x", keys=["ok", "no", None]), [1, 1, 2]),
        (Count("at >= '1970-01-01'"), [2]),
        (Count("at IS NULL"), [2]),
        (Count("id = '62626262-6262-6262-6262-626262626262'"), [2]),
    ]:
        assert [cell[0] for cell in true_cells(engine, query.checked(table))] == expected
    engine.close()


PLAIN: list[Any] = [1, 1.5, True, "a", datetime(2020, 1, 1), date(2020, 1, 1)]


@pytest.mark.parametrize("plain", PLAIN)
def test_no_row_of_a_frame_decides_anything(plain: Any) -> None:
    def framed(values: list[Any]) -> Source:
        try:
            column = pandas.Series(values)
        except (ValueError, OverflowError):
            column = pandas.Series(values, dtype=object)
        return Source.of(pandas.DataFrame({"x": column, "n": range(len(values))}), name="rows")

    others = answers(framed([plain, plain]))
    # Each plain type meets its share; together they meet all.
    for value in objects()[PLAIN.index(plain) :: 3]:
        assert not given_away(others, answers(framed([plain, value, plain]))), value


def test_no_row_of_a_category_decides_anything() -> None:
    for value in (3, 10**5001, b"\xff"):
        try:
            frames = [
                pandas.DataFrame({"x": pandas.Series(values, dtype=object).astype("category")})
                for values in (["a", "b"], ["a", value, "b"])
            ]
        except OverflowError:  # pandas before 3.1 makes no category of so large an integer
            continue
        both = [answers(Source.of(frame.assign(n=1), name="rows")) for frame in frames]
        assert not given_away(*both), value


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_no_row_of_a_duckdb_table_decides_anything(unit: str) -> None:
    for array in COLUMNS[f"timestamp[{unit}]"]:
        both = []
        for rows in neighbours(array):
            database = duckdb.connect()
            database.register("given", rows)
            database.execute("CREATE TABLE kept AS SELECT * FROM given")
            both.append(answers(Source.of(database, name="rows", table="kept")))
        assert not given_away(*both), array


@pytest.mark.parametrize("type_", DUCKDB)
def test_no_row_of_a_type_of_duckdb_s_own_decides_anything(type_: str) -> None:
    plain, *hostile = DUCKDB[type_]
    both = []
    for value in ("NULL", *hostile):
        database = duckdb.connect()
        database.execute(f"CREATE TABLE kept (x {type_}, n INTEGER)")
        database.execute(f"INSERT INTO kept VALUES ({plain}, 0), ({value}, 1), (NULL, 2)")
        both.append(answers(Source.of(database, name="rows", table="kept")))
    for other in both[1:]:
        assert not given_away(both[0], other)


@pytest.mark.parametrize("kind", ["string", "dictionary", "timestamp[ms, tz=UTC]"])
def test_no_row_of_an_ibis_table_in_memory_decides_anything(kind: str) -> None:
    array = COLUMNS[kind][0]
    both = [answers(Source.of(ibis.memtable(rows), name="rows")) for rows in neighbours(array)]
    assert not given_away(*both)


def test_no_text_of_an_ibis_expression_decides_anything() -> None:
    for array in COLUMNS["string"]:
        tables = [ibis.memtable(rows).mutate(more=1) for rows in neighbours(array)]
        assert not given_away(*(answers(Source.of(table, name="rows")) for table in tables)), array


@pytest.mark.parametrize("line", [line for line in LINES if b"torn" not in line], ids=range(len(LINES) - 1))
def test_a_line_moves_a_count_by_one_at_most(line: bytes, tmp_path: Path) -> None:
    counts = []
    for rows in ([b"p,0"] * 9 + [b"q,2"] * 9, [b"p,0"] * 9 + [line] + [b"q,2"] * 9):
        (tmp_path / "rows.csv").write_bytes(b"\n".join([b"x,n", *rows, b""]))
        engine = connect(Source.of(tmp_path / "rows.csv"))
        table = Schema().table(engine.columns())
        asked_for = (Count(), Count("x = 'q'"), Count("n = '0'"))
        counts.append([true_cells(engine, query.checked(table))[0][0] for query in asked_for])
        engine.close()
    assert counts[0] == [18, 9, 9]
    assert counts[1] in ([18, 9, 9], [19, 9, 9])


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_no_line_of_a_file_decides_anything(line: bytes, tmp_path: Path) -> None:
    both = []
    for name, rows in (("without.csv", [b"ok,0", b"1,2"]), ("with.csv", [b"ok,0", b"1,2", line])):
        (tmp_path / name).write_bytes(b"\n".join([b"x,n", *rows, b""]))
        both.append(answers(Source.of(tmp_path / name)))
    assert not given_away(*both)


@pytest.mark.parametrize("type_", POSTGRES)
def test_no_row_of_postgresql_decides_anything(type_: str, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        assert not told_apart(server, postgres_url, typed_table(type_, POSTGRES[type_][0]), POSTGRES[type_])


def test_no_row_of_a_type_or_a_view_that_users_make_decides_anything(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(POSTGRES_TYPES.encode())
        for type_, values in POSTGRES_OTHERS.items():
            assert not told_apart(server, postgres_url, typed_table(type_, values[0]), values), type_
        assert not told_apart(server, postgres_url, POSTGRES_VIEW, ["1", "'NaN'"])


def typed_table(type_: str, plain: str) -> str:
    """Return the SQL that makes a table of a type with a plain value, another and a missing one."""
    made = f"CREATE TABLE {{table}} (x {type_}, n INTEGER); INSERT INTO {{table}} VALUES "
    return f"{made} ({plain}, 0), ({{value}}, 1), (NULL, 2)"


def told_apart(server: Any, address: str, made: str, values: list[str]) -> list[str]:
    """Return the questions that tell a table with a hostile value from one with a missing value there."""
    both = []
    for value in ("NULL", *values[1:]):
        table = f"rows{os.urandom(6).hex()}"
        server.execute(made.replace("{table}", table).replace("{value}", value).encode())
        both.append(answers(Source.of(address, name="rows", table=table)))
    return [question for other in both[1:] for question in given_away(both[0], other)]
