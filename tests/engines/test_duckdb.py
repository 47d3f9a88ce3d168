"""The engine adapter: every source, the true aggregates, and rows that try to make a query fail."""

import logging
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from math import inf, isfinite, nan
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from dovetail.engines import Source, connect
from dovetail.engines.aggregation import cell_reader, held_cells, true_cells
from dovetail.errors import DataError, InvalidParameter, InvalidQuery
from dovetail.query import Column, Count, Histogram, Linear, Mean, Schema, Sum

PEOPLE = pyarrow.table(
    {
        "age": [40, 50, None, 60],
        "sex": ["F", "M", "F", None],
        "born": [date(1980, 1, 1), date(1970, 6, 1), None, date(1960, 1, 1)],
        "height": [1.5, 1.75, nan, inf],
    }
)
EXPECTED = [
    (Count(), [4]),
    (Count("age >= 50"), [2]),
    (Count("age IS NULL OR sex = 'M'"), [2]),
    (Count("height > 1"), [2]),
    (Count("height IS NULL"), [2]),
    (Histogram("sex", keys=["M", "F", "X", None]), [1, 2, 0, 1]),
    (Histogram("age", keys=[50, 40]), [1, 1]),
    (Histogram("age", bins=[0, 45, 60, 61]), [1, 1, 1]),
    (Histogram("height", bins=[0, 1.75, 2]), [1, 1]),
    (Sum("age", low=0, high=55, step=1), [145]),
    (Sum("height", low=0, high=2, step="0.25"), [13]),
    (Sum("height", low=0, high=2, step="0.5"), [7]),
    (Sum("height", low=0, high=3, step=3), [2]),
    (Linear("sex", {"F": 1, "M": "-0.5"}, step="0.5"), [3]),
]


def sources(folder: Path) -> Iterator[tuple[str, Source]]:
    frame = PEOPLE.to_pandas()
    pyarrow.parquet.write_table(PEOPLE, folder / "people.parquet")
    pyarrow.feather.write_feather(PEOPLE, folder / "people.arrow")
    pyarrow.feather.write_feather(PEOPLE, folder / "people.feather", compression="zstd")
    polars.from_arrow(PEOPLE).write_csv(folder / "people.csv")  # type: ignore[union-attr]
    polars.from_arrow(PEOPLE).write_csv(folder / "people.tsv", separator="\t")  # type: ignore[union-attr]
    for name in ("people.parquet", "people.arrow", "people.feather", "people.csv", "people.tsv"):
        yield name, Source.of(folder / name)
    (folder / "many" / "deep").mkdir(parents=True)
    pyarrow.parquet.write_table(PEOPLE.slice(0, 2), folder / "many" / "one.parquet")
    pyarrow.parquet.write_table(PEOPLE.slice(2), folder / "many" / "deep" / "two.parquet")
    yield "folder", Source.of(folder / "many")
    database = duckdb.connect(str(folder / "people.duckdb"))
    database.register("arrow", PEOPLE)
    database.execute("CREATE TABLE people AS SELECT * FROM arrow")
    database.close()
    yield "duckdb file", Source.of(str(folder / "people.duckdb"), table="people")
    memory = duckdb.connect()
    memory.register("people_view", PEOPLE)
    memory.execute("CREATE TABLE people AS SELECT * FROM people_view")
    yield "duckdb connection", Source.of(memory, name="people", table="people")
    for name, table in [
        ("arrow", PEOPLE),
        ("polars", polars.from_arrow(PEOPLE)),
        ("pandas", frame),
        ("pandas objects", frame.astype(object)),
        ("pandas categories", frame.assign(sex=frame["sex"].astype("category"))),
        ("ibis", ibis.memtable(PEOPLE)),
    ]:
        yield name, Source.of(table, name="people")


def ask(source: Source, query: Count, *declared: Column) -> list[int]:
    engine = connect(source)
    try:
        table = Schema(declared).table(engine.columns())
        return [cell[0] for cell in true_cells(engine, query.checked(table))]
    finally:
        engine.close()


def test_a_lazy_frame_of_polars_is_refused_with_what_to_do() -> None:
    with pytest.raises(InvalidParameter) as refused:
        connect(Source.of(polars.LazyFrame({"age": [40]}), name="people"))
    assert refused.value.parameter == "source"
    assert "Collect it into a frame" in str(refused.value)
    assert "Parquet file" in str(refused.value)


@pytest.mark.parametrize("opened", [False, True])
def test_a_generated_column_may_use_a_macro_of_its_database(tmp_path: Path, opened: bool) -> None:
    database = duckdb.connect(tmp_path / "people.duckdb")
    database.execute(
        "CREATE MACRO twice(x) AS 2 * x; CREATE TABLE people (age INTEGER, doubled AS (twice(age)))"
    )
    database.execute("INSERT INTO people VALUES (20), (30)")
    if not opened:
        database.close()
    data = database if opened else tmp_path / "people.duckdb"
    assert ask(Source.of(data, name="people", table="people"), Count("doubled >= 50")) == [1]


def test_every_source_gives_the_same_true_aggregates(tmp_path: Path) -> None:
    seen = 0
    # CSV declares no types: without this, "height IS NULL" would ask about texts.
    schema = Schema([Column("height", "number"), Column("age", "integer")])
    for name, source in sources(tmp_path):
        engine = connect(source)
        table = schema.table(engine.columns())
        for query, expected in EXPECTED:
            assert [cell[0] for cell in true_cells(engine, query.checked(table))] == expected, (name, query)
        engine.close()
        seen += 1
    assert seen == 14


def test_dates_and_times_are_binned(tmp_path: Path) -> None:
    table = pyarrow.table(
        {
            "day": [date(2020, 1, 1), date(2020, 12, 31), date(2021, 1, 1), None],
            "at": [datetime(2020, 1, 1, 12), datetime(2020, 1, 2), datetime(2019, 1, 1), None],
        }
    )
    source = Source.of(table, name="days")
    assert ask(source, Histogram("day", bins=["2020-01-01", "2021-01-01", "2022-01-01"])) == [2, 1]
    assert ask(source, Histogram("at", bins=[datetime(2020, 1, 1), "2020-01-02", "2021-01-01"])) == [1, 1]
    assert ask(source, Count("at < '2020-01-01'")) == [1]
    assert ask(source, Histogram("day", keys=["2021-01-01", None])) == [1, 1]


def test_other_rows_fall_in_no_cell_or_in_the_declared_other() -> None:
    table = pyarrow.table({"k": ["a", "b", "zzz", None], "n": [1, 2, 99, None]})
    engine = connect(Source.of(table, name="keys"))

    def cells(column: Column, **options: Any) -> list[int]:
        question = Histogram(column.name, **options).checked(Schema([column]).table(engine.columns()))
        return [cell[0] for cell in true_cells(engine, question)]

    assert cells(Column("k", "text", values=["a", "b"])) == [1, 1]
    assert cells(Column("k", "text", values=["a", "b", None])) == [1, 1, 1]
    assert cells(Column("k", "text", values=["a", "b"], other="rest")) == [1, 1, 2]
    assert cells(Column("k", "text", values=["a", None], other="rest")) == [1, 1, 2]
    assert cells(Column("n", "integer", other="rest"), bins=[0, 2, 10]) == [1, 1, 2]
    assert cells(Column("n", "integer", values=[1, 99], other="rest")) == [1, 1, 2]


def test_values_near_the_ends_of_64_bits_do_not_overflow() -> None:
    top = 2**63 - 1
    table = pyarrow.table({"n": pyarrow.array([top] * 5 + [-top - 1] * 3 + [0], pyarrow.int64())})
    source = Source.of(table, name="wide")
    high = 2**52
    assert ask(source, Sum("n", low=-high, high=high, step=1)) == [2 * high]
    assert ask(source, Sum("n", low=0, high=high, step=1)) == [5 * high]
    assert ask(source, Sum("n", low=0, high=10, step="0.5")) == [100]
    assert ask(source, Count(f"n = {top}")) == [5]
    unsigned = pyarrow.table({"n": pyarrow.array([2**64 - 1, 5], pyarrow.uint64())})
    assert ask(Source.of(unsigned, name="unsigned"), Sum("n", low=-5, high=10, step=1)) == [15]
    assert ask(Source.of(unsigned, name="unsigned"), Count("n > -1")) == [2]
    million = duckdb.connect()
    million.execute(f"CREATE TABLE big AS SELECT {top} AS n FROM range(1000000)")
    assert ask(Source.of(million, name="big", table="big"), Sum("n", low=0, high=high, step=1)) == [
        10**6 * high
    ]


def test_decimals_and_extreme_doubles_stay_on_the_lattice() -> None:
    table = pyarrow.table(
        {
            "d": pyarrow.array([Decimal("1.25"), Decimal("99999999999999999999999999999999.99")]),
            "x": [1e308, -1e308],
            "tiny": [5e-324, -5e-324],
        }
    )
    source = Source.of(table, name="numbers")
    assert ask(source, Sum("d", low=0, high=2, step="0.25")) == [5 + 8]
    assert ask(source, Sum("x", low=-1, high=2, step="0.001")) == [1000]
    assert ask(source, Sum("x", low="-0.1", high="0.2", step="1e-12")) == [10**11]
    assert ask(source, Sum("tiny", low=-1, high=1, step=1)) == [0]
    assert ask(source, Count("d > 1.2")) == [2]


def test_text_in_a_number_column_is_a_missing_number(tmp_path: Path) -> None:
    path = tmp_path / "messy.csv"
    path.write_text('age,note\n40,a\nforty,"b, c"\n,\n50.6,d\nNaN,e\ninf,f\n1e400,g\n-7\n60,h,extra,more\n')
    source = Source.of(path)
    age = Column("age", "number")
    assert ask(source, Count("age >= 40"), age) == [3]
    assert ask(source, Sum("age", low=0, high=100, step=1), age) == [151]
    assert ask(source, Mean("age", low=0, high=100, step=1), age) == [2 * 151 - 100 * 4]
    assert ask(source, Histogram("note", keys=["a", "b, c"])) == [1, 1]


def test_invalid_bytes_and_torn_quotes_do_not_stop_a_query(tmp_path: Path) -> None:
    path = tmp_path / "torn.csv"
    path.write_bytes(b'age,note\n1,\xff\xfe\n2,ok\n3,"torn\n')
    (count,) = ask(Source.of(path), Count("note = 'ok'"))
    assert count == 1


def test_a_column_type_may_be_declared_against_what_is_stored() -> None:
    table = pyarrow.table({"code": ["1", "2", "x"], "x": [1.0, 2.5, nan]})
    engine = connect(Source.of(table, name="codes"))
    declared = Schema([Column("code", "integer", values=[1, 2]), Column("x", "integer")]).table(
        engine.columns()
    )
    assert true_cells(engine, Histogram("code").checked(declared)) == [(1,), (1,)]
    assert true_cells(engine, Count("x IS NULL").checked(declared)) == [(1,)]


def test_an_empty_table_answers_zero_in_every_cell() -> None:
    source = Source.of(PEOPLE.slice(0, 0), name="empty")
    for query, expected in EXPECTED:
        assert ask(source, query) == [0] * len(expected)


def test_even_and_uneven_bins_agree_with_plain_counting() -> None:
    numbers = [-7, -1, 0, 4, 5, 9, 10, 2**62, -(2**63), None]
    source = Source.of(pyarrow.table({"n": pyarrow.array(numbers, pyarrow.int64())}), name="n")
    for edges in (
        [-5, 0, 5, 10],
        [-5, 0, 4, 10],
        [-(2**62), 0, 2**62],
        [-10, -5, 0, 5],
        [0, 1],
        range(-9, 99),
    ):
        expected = [sum(n is not None and low <= n < high for n in numbers) for low, high in pairwise(edges)]
        assert ask(source, Histogram("n", bins=edges)) == expected


def test_lists_and_structures_are_refused_by_name() -> None:
    table = pyarrow.table({"tags": [["a"]], "n": [1]})
    with pytest.raises(InvalidQuery, match="tags cannot be asked about: it holds lists"):
        ask(Source.of(table, name="nested"), Count("tags = 'a'"))
    assert ask(Source.of(table, name="nested"), Count("n = 1")) == [1]


def test_a_file_removed_midway_is_a_data_error_without_a_value(tmp_path: Path) -> None:
    path = tmp_path / "gone.parquet"
    pyarrow.parquet.write_table(PEOPLE, path)
    engine = connect(Source.of(path))
    question = Count("age = 40").checked(Schema().table(engine.columns()))
    assert true_cells(engine, question) == [(1,)]
    path.unlink()
    with pytest.raises(DataError) as caught:
        true_cells(engine, question)
    assert "40" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_engine_s_own_words_reach_the_log_only(caplog: pytest.LogCaptureFixture) -> None:
    database = duckdb.connect()
    database.execute("CREATE TABLE t AS SELECT 'SECRET' AS x")
    # A view of the curator's own that fails on a row.
    database.execute("CREATE VIEW v AS SELECT CAST(x AS INTEGER) AS n FROM t")
    with caplog.at_level(logging.DEBUG, "dovetail.engine"), pytest.raises(DataError) as caught:
        ask(Source.of(database, name="v", table="v"), Count("n = 1"))
    assert "SECRET" not in str(caught.value)
    assert "SECRET" in caplog.text


@pytest.mark.parametrize("make", ["missing.csv", "empty.csv", "same.csv", "mixed", "none", "data.xlsx"])
def test_what_is_no_table_is_refused_with_advice(tmp_path: Path, make: str) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "same.csv").write_text("a,a\n1,2\n")
    (tmp_path / "data.xlsx").write_text("x")
    (tmp_path / "none").mkdir()
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.csv").write_text("a\n1\n")
    pyarrow.parquet.write_table(PEOPLE, tmp_path / "mixed" / "b.parquet")
    with pytest.raises(DataError):
        connect(Source.of(tmp_path / make))


def test_a_table_in_memory_needs_a_name_and_a_database_a_table(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="name=None"):
        Source.of(PEOPLE)
    with pytest.raises(InvalidParameter, match="table=None"):
        connect(Source.of(duckdb.connect(), name="x"))
    with pytest.raises(InvalidParameter, match="source='dict'"):
        connect(Source.of({"a": [1]}, name="x"))


def test_hostile_names_are_quoted() -> None:
    name = 'x"; DROP TABLE data; --'
    table = pyarrow.table({name: [1, 2], "ok": ["'; DELETE", "b"]})
    source = Source.of(table, name="hostile")
    assert ask(source, Histogram(name, keys=[1, 2, 3])) == [1, 1, 0]
    assert ask(source, Histogram("ok", keys=["'; DELETE", "\\'"])) == [1, 0]


def test_missing_pandas_values_are_missing_text() -> None:
    frame = pandas.DataFrame({"k": pandas.Series(["a", None, 3, nan], dtype=object)})
    source = Source.of(frame, name="objects")
    assert ask(source, Histogram("k", keys=["a", "3", None])) == [1, 1, 2]
    assert ask(source, Count("k = 3"), Column("k", "integer")) == [1]


def test_days_and_numbers_that_python_cannot_hold_are_missing_keys() -> None:
    database = duckdb.connect()
    database.execute(
        f"CREATE TABLE odd AS SELECT * FROM (VALUES (DATE '12000-01-01', {2**100}::HUGEINT), "
        "(DATE 'infinity', 7), (DATE '0044-03-15 (BC)', -7), (DATE '2024-01-01', 7)) AS t(d, n)"
    )
    engine = connect(Source.of(database, name="odd", table="odd"))
    for column, expected in (("d", {date(2024, 1, 1): 1, None: 3}), ("n", {7: 2, -7: 1, None: 1})):
        question = Histogram(column, keys="discover").checked(Schema().table(engine.columns()))
        found = {key: count for batch in held_cells(engine, question) for key, count in batch}
        assert found == expected


def test_texts_that_hold_what_separates_declared_texts_are_in_no_cell_of_theirs() -> None:
    odd = ["a", "b", "a\x1fb", "\x1f", "b\x1f", "", "it's", "a,b", None, "A", "\x1fa\x1f"]
    for declared in (
        ["a", "b"],
        ["b", "a\x1fb", "a"],
        ["", "it's"],
        ["it's", "\x1f", "A", ""],
        ["x" * 3000, "a"],
    ):
        engine = connect(Source.of(pyarrow.table({"k": odd * 2, "n": [1] * len(odd) * 2}), name="odd"))
        table = Schema([Column("k", "text", values=declared)]).table(engine.columns())
        counted = true_cells(engine, Histogram("k").checked(table))
        assert counted == [(2 * odd.count(value),) for value in declared]
        both = Histogram("k", "n", keys={"n": "discover"}).checked(table)
        rows = [row for batch in held_cells(engine, both) for row in batch]
        held = {cell: row[-1] for row in rows if (cell := cell_reader(both)(row)) is not None}
        assert held == {(at, 1): 2 for at, value in enumerate(declared) if value in odd}


ODD = [nan, inf, -inf, -0.0, 0.0, 1.5, -1.5, None, 5e-324]
COMPARED: dict[str, Callable[[float], bool]] = {
    "x < 0": lambda x: x < 0,
    "x <= 0": lambda x: x <= 0,
    "x > 0": lambda x: x > 0,
    "x >= 0": lambda x: x >= 0,
    "x = 0": lambda x: x == 0,
    "x <> 0": lambda x: x != 0,
    "NOT (x < 1)": lambda x: x >= 1,
}


# Alone, too: the statistics of a block must not hide a row in it.
@pytest.mark.parametrize("values", [ODD, [-0.0], [nan], [-inf]], ids=str)
def test_a_database_compares_doubles_as_a_file_does(values: list[Any], tmp_path: Path) -> None:
    rows = pyarrow.table({"x": pyarrow.array(values, pyarrow.float64())})
    pyarrow.parquet.write_table(rows, tmp_path / "x.parquet")
    with duckdb.connect(tmp_path / "x.duckdb") as database:
        database.execute(f"CREATE VIEW seen AS FROM '{tmp_path}/x.parquet'; CREATE TABLE kept AS FROM seen")
    finite = [value for value in values if value is not None and isfinite(value)]
    sources = [Source.of(tmp_path / "x.duckdb", table=table) for table in ("kept", "seen")]
    for source in (*sources, Source.of(tmp_path / "x.parquet")):
        engine = connect(source)
        for where, holds in COMPARED.items():
            question = Count(where).checked(Schema().table(engine.columns()))
            assert true_cells(engine, question) == [(sum(map(holds, finite)),)], where
        engine.close()
