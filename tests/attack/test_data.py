"""Whoever writes rows may be hostile: one row changes an answer by no more than it may, and fails nothing."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import duckdb
import pyarrow
import pytest

import dovetail as dv
from dovetail.engines import connect
from dovetail.engines.aggregation import true_cells
from dovetail.errors import DataError
from dovetail.query import Count, Histogram, Query, Sum

ROWS = [[str(number), f"name {number}"] for number in range(200)]
NOISE = dv.Geometric("0.01")


def csv_file(folder: Path, rows: list[list[str]], ending: str = "\n") -> Path:
    """Write a table as any proper writer does."""
    text = io.StringIO()
    csv.writer(text, lineterminator=ending).writerows([["id", "name"], *rows])
    path = folder / "people.csv"
    path.write_text(text.getvalue(), newline="")
    return path


def true(path: Path, query: Query) -> list[tuple[int, ...]]:
    engine = connect(dv.Source.of(path))
    try:
        return true_cells(engine, query.checked(dv.Schema().table(engine.columns())))
    finally:
        engine.close()


@pytest.mark.parametrize(
    "name",
    [
        "two\nlines",
        "1,x\n2,y\n3,z",
        'a "quoted" name',
        '"',
        '""\n"',
        "tab\tand, comma",
        "carriage\r\nreturn",
        "x" * 100_000,
        "\u202e",
        "=cmd|' /C calc'!A0",
        "NULL",
        "",
    ],
    ids=lambda name: ascii(name[:20]),
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_one_row_of_a_csv_file_is_one_row_whatever_it_says(tmp_path: Path, name: str, ending: str) -> None:
    counted = true(csv_file(tmp_path, ROWS, ending), Count())
    more = [*ROWS[:100], ["999", name], *ROWS[100:]]
    assert true(csv_file(tmp_path, more, ending), Count()) == [(counted[0][0] + 1,)]
    assert true(csv_file(tmp_path, more, ending), Count("id = '999'")) == [(1,)]
    assert true(csv_file(tmp_path, more, ending), Count("id <> '999'")) == counted


def test_a_line_break_inside_quotes_is_no_error_that_tells_of_the_row(tmp_path: Path) -> None:
    path = csv_file(tmp_path, [*ROWS, ["999", "two\nlines"]])
    with dv.Session(path, budget=dv.Budget.pure(1), protects="rows") as session:
        assert session.count(noise=NOISE).query == Count().checked(session._table)


def test_what_an_unclosed_quote_does_to_a_csv_file_is_not_defended(tmp_path: Path) -> None:
    """Documented: a file that its writer left malformed; the rows after the quote belong to it."""
    path = csv_file(tmp_path, ROWS)
    lines = path.read_text().split("\n")
    path.write_text("\n".join([*lines[:101], '999,"open', *lines[101:]]))
    assert true(path, Count()) == [(101,)]


@pytest.mark.parametrize(
    "query",
    [
        Sum("x", -(2**52), 2**52, 1),
        Sum("x", 0, 1, 1),
        Histogram("x", bins=list(range(-50, 50, 10))),
        Histogram("x", bins=[-(2**61), 0, 2**61]),
        Histogram("x", bins=[-(2**63) + 1, 0, 2**63 - 1]),
        Histogram("x", keys=[2**63 - 1, -(2**63) + 1, 0]),
        Count("x > 9223372036854775806 OR x NOT IN (0, 1)"),
    ],
)
def test_extreme_integers_fail_nothing(query: Query) -> None:
    extremes = [2**63 - 1, -(2**63), -(2**63) + 1, 0, None] * 3
    engine = connect(dv.Source.of(pyarrow.table({"x": extremes}), name="x"))
    assert true_cells(engine, query.checked(dv.Schema().table(engine.columns())))
    engine.close()


def test_a_column_renamed_or_a_table_dropped_on_the_way_is_one_error_and_stays_charged(
    tmp_path: Path,
) -> None:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT range AS x FROM range(10)")
    messages = []
    for change in ("ALTER TABLE visits RENAME x TO y", "DROP TABLE visits"):
        owner = duckdb.connect()
        owner.execute("CREATE TABLE visits AS SELECT range AS x FROM range(10)")
        options = {"name": "visits", "table": "visits", "budget": dv.Budget.pure(1)}
        place = tmp_path / f"{len(messages)}.ledger"
        with dv.Session(owner, ledger=place, **options) as session:  # type: ignore[arg-type]
            owner.execute(change)
            with pytest.raises(DataError) as caught:
                session.count(where="x > 5", noise=dv.Geometric("0.25"))
            assert str(session.remaining) == "epsilon 0.75"
        messages.append(str(caught.value))
        owner.close()
    assert messages[0] == messages[1]


def test_not_in_leaves_out_rows_without_a_value_as_sql_does() -> None:
    engine = connect(dv.Source.of(pyarrow.table({"x": [1, 2, None]}), name="x"))
    table = dv.Schema().table(engine.columns())
    assert true_cells(engine, Count("x NOT IN (1)").checked(table)) == [(1,)]
    assert true_cells(engine, Count("NOT (x IN (1)) OR x IS NULL").checked(table)) == [(2,)]
    engine.close()


@pytest.mark.parametrize("filling", ["x", "x\n", '"'])
def test_a_very_long_row_is_a_row_and_touches_no_other(tmp_path: Path, filling: str) -> None:
    """Lines of more than two megabytes used to be left out without a word."""
    counted = true(csv_file(tmp_path, ROWS), Count())
    more = [*ROWS[:100], ["999", filling * (3_000_000 // len(filling))], *ROWS[100:]]
    assert true(csv_file(tmp_path, more), Count()) == [(counted[0][0] + 1,)]
    assert true(csv_file(tmp_path, more), Count("id = '199'")) == [(1,)]


def test_a_person_of_a_million_rows_adds_no_more_than_any_other(tmp_path: Path) -> None:
    many = pyarrow.table({"who": [1] * 1_000_000 + [2], "word": ["mine"] * 500_000 + ["also mine"] * 500_001})
    price = {"noise": dv.Geometric(1), "delta": "1e-6", "keys": "discover"}
    with dv.Session(
        many,
        name="x",
        unit="who",
        max_rows=5,
        max_cells=1,
        budget=dv.Budget.approximate(100, "1e-3"),
        ledger=tmp_path / "a.ledger",
    ) as session:
        assert session.histogram("word", **price).keys == []
        assert session.count_distinct("word", **price).keys == []
        assert abs(session.count(noise=dv.Geometric(1)).value) < 300
        assert abs(session.sum("who", low=0, high=2, step=1, noise=dv.Geometric(1)).value) < 600


def test_an_empty_table_is_answered_like_any_other(tmp_path: Path) -> None:
    empty = pyarrow.table({"x": pyarrow.array([], pyarrow.int64())})
    with dv.Session(empty, name="x", budget=dv.Budget.pure(1), ledger=tmp_path / "a.ledger") as session:
        answer = session.histogram("x", keys=list(range(50)), noise=NOISE)
        assert len(answer.value) == 50
        assert len(set(answer.value)) > 10


def test_an_empty_table_has_no_keys_and_no_persons_and_fails_nothing(tmp_path: Path) -> None:
    empty = pyarrow.table({"x": pyarrow.array([], pyarrow.int64())})
    budget = dv.Budget.approximate(100, "1e-3")
    options = {"unit": "x", "max_rows": 2}
    with dv.Session(empty, name="x", budget=budget, ledger=tmp_path / "a.ledger", **options) as session:  # type: ignore[arg-type]
        for ask in (session.histogram, session.count_distinct):
            assert ask("x", keys="discover", noise=NOISE, delta="1e-6").keys == []
        assert len({session.count_distinct(noise=NOISE, fresh=True).value for _ in range(9)}) > 1
        assert session.mean("x", low=0, high=1, step=1, noise=NOISE).interval() is not None


@pytest.mark.parametrize("opened", [True, False], ids=["connection", "file"])
def test_no_macro_takes_the_place_of_a_built_in_function(tmp_path: Path, opened: bool) -> None:
    """One that did could let a single row count for any number."""
    place = tmp_path / "people.duckdb"
    database = duckdb.connect(str(place))
    database.execute(
        "CREATE TABLE people (pay DOUBLE, twice DOUBLE GENERATED ALWAYS AS (pay * 2));"
        "INSERT INTO people VALUES (1.5), (2.5);"
        "CREATE MACRO floor(x) AS 1000000 * x; CREATE MACRO isfinite(x) AS x > 2"
    )
    if not opened:
        database.close()
    source = dv.Source.of(database, name="people") if opened else dv.Source.of(place)
    engine = connect(dv.Source.of(source, table="people"))
    table = dv.Schema().table(engine.columns())
    sums = [Sum(name, low=0, high=9, step="0.5").checked(table) for name in ("pay", "twice")]
    assert [true_cells(engine, question) for question in sums] == [[(8,)], [(16,)]]
    engine.close()
    if opened:
        # The user's own connection keeps its path.
        assert database.execute("SELECT floor(2)").fetchone() == (2_000_000,)
        database.close()
