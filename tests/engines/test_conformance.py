"""One suite for every engine: the same rows and the same questions give the same true aggregates."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise
from math import inf, nan
from typing import Any

import pyarrow
import pytest

from dovetail.engines import Engine
from dovetail.engines.aggregation import cell_reader, held_cells
from dovetail.engines.engine import BATCH
from dovetail.query import (
    Column,
    Count,
    Histogram,
    Linear,
    Marginals,
    Mean,
    Quantiles,
    Ranges,
    Schema,
    Std,
    Sum,
    Variance,
)
from engine_tables import Opener, cells, typed
from toy_measures import AskDeviation, AskLadder

TOP = 2**63 - 1
HIGH = 2**52


PEOPLE = typed(
    age=(pyarrow.int32(), [40, 50, None, 60, -7]),
    height=(pyarrow.float64(), [1.5, 1.75, nan, inf, -0.0]),
    weight=(pyarrow.float32(), [0.1, -inf, 80.5, None, nan]),
    paid=(pyarrow.decimal128(12, 2), [Decimal("1.25"), Decimal("-0.01"), None, Decimal("9999999999.99"), 0]),
    name=(pyarrow.string(), ["Ann", "ann", "Ärger", None, "zoë"]),
    member=(pyarrow.bool_(), [True, False, None, True, True]),
    born=(
        pyarrow.date32(),
        [date(1969, 12, 31), date(1970, 1, 1), None, date(1582, 10, 4), date(9999, 12, 31)],
    ),
    seen=(
        pyarrow.timestamp("us"),
        [
            datetime(1969, 12, 31, 23, 59, 59, 999999),
            datetime(2024, 3, 31, 2, 30),
            None,
            datetime(1, 1, 1),
            datetime(2024, 10, 27, 2, 30),
        ],
    ),
    sent=(
        pyarrow.timestamp("us", tz="UTC"),
        [
            datetime(2024, 1, 1, 0, 30, tzinfo=UTC),
            datetime(2023, 12, 31, 23, 30, tzinfo=UTC),
            None,
            datetime(1900, 1, 1, tzinfo=UTC),
            datetime(2024, 10, 27, 0, 30, tzinfo=UTC),
        ],
    ),
    note=(pyarrow.string(), ["12", " 7.5 ", "forty", "1e3", "NaN"]),
)
SCHEMA = Schema(
    [
        Column("name", "text", values=["ann", "Ann", "ANN", "Ärger"], other="others"),
        Column("note", "number"),
    ]
)

QUESTIONS = [
    (Count(), [5]),
    # where, in every form; NaN and the infinities are missing numbers
    (Count("age = 40"), [1]),
    (Count("age <> 40"), [3]),
    (Count("age < 50"), [2]),
    (Count("age <= 50"), [3]),
    (Count("age > 40"), [2]),
    (Count("age >= 40 AND age < 60"), [2]),
    (Count("NOT (age > 40 OR age IS NULL)"), [2]),
    (Count("age IN (40, 41, 60)"), [2]),
    (Count("age NOT IN (40, 41, 60)"), [2]),
    (Count("age BETWEEN 40 AND 50"), [2]),
    (Count("age IS NULL"), [1]),
    (Count("age IS NOT NULL"), [4]),
    (Count(f"age < {TOP} AND age > -{TOP}"), [4]),
    (Count("height > 1"), [2]),
    (Count("height <= 0"), [1]),
    (Count("height = 0"), [1]),
    (Count("height < 0"), [0]),
    (Count("height IS NULL"), [2]),
    (Count("height <> 1.5"), [2]),
    (Count("height IN (1.5, 0)"), [2]),
    (Count("height >= 1.6"), [1]),
    (Count("NOT (height < 1.6)"), [1]),
    (Count("weight > 0"), [2]),
    (Count("weight <= 1 OR weight = 80.5"), [2]),
    (Count("NOT (weight >= 1)"), [1]),
    (Count("weight = 0.1"), [0]),  # The nearest 32-bit number to 0.1 is another one.
    (Count("weight IS NULL"), [3]),
    (Count("paid > 1.2"), [2]),
    (Count("paid >= 1.25 OR paid < 0"), [3]),
    (Count("paid = 0"), [1]),
    (Count("member"), [3]),
    (Count("NOT member"), [1]),
    (Count("member IS NULL OR age = 40"), [2]),
    # text by code point: capitals first, accents last, no two letters alike
    (Count("name = 'ann'"), [1]),
    (Count("name < 'a'"), [1]),
    (Count("name >= 'a'"), [3]),
    (Count("name > 'zz'"), [1]),
    (Count("name BETWEEN 'A' AND 'Z'"), [1]),
    (Count("name IN ('Ann', 'Ärger')"), [2]),
    (Count("name = 'A\u0308rger'"), [0]),  # The same letter in two code points is another text.
    (Count("name = '100%' OR name = ''''"), [0]),
    # dates and times
    (Count("born < '1970-01-01'"), [2]),
    (Count("born >= '1970-01-01'"), [2]),
    (Count("born = '1582-10-04'"), [1]),
    (Count("born > '9999-12-30'"), [1]),
    (Count("seen < '1970-01-01'"), [2]),
    (Count("seen = '2024-03-31 02:30:00'"), [1]),
    (Count("seen > '1969-12-31 23:59:59.999998'"), [3]),
    (Count("seen BETWEEN '2024-10-27 02:30:00' AND '2024-10-27 02:30:00'"), [1]),
    (Count("sent < '2024-01-01'"), [2]),
    (Count("sent >= '2024-01-01' AND sent < '2024-01-01 01:00:00'"), [1]),
    (Count("sent = '2024-10-27 00:30:00'"), [1]),
    # text in a number column
    (Count("note > 7"), [3]),
    (Count("note IS NULL"), [2]),
    (Sum("note", low=0, high=100, step="0.5"), [24 + 15 + 200]),
    # histograms: keys, NULL as a key, absent keys, another value, bins of every type, two ways
    (Histogram("age", keys=[50, 40, 41]), [1, 1, 0]),
    (Histogram("age", keys=[50, None]), [1, 1]),
    (Histogram("member", keys=[False, True, None]), [1, 3, 1]),
    (Histogram("born", keys=["1970-01-01", "1969-12-31", "2000-01-01", None]), [1, 1, 0, 1]),
    (Histogram("name"), [1, 1, 0, 1, 2]),
    (Histogram("name", keys=["zoë", None, "Zoë"]), [1, 1, 0, 3]),
    (Histogram("age", bins=[-10, 0, 45, 60, 61]), [1, 1, 1, 1]),
    (Histogram("age", bins=[-10, 10, 30, 50, 70]), [1, 0, 1, 2]),
    (Histogram("age", bins=[-10, 0, 45], where="member"), [1, 1]),
    (Histogram("height", bins=[-1, 0, 1.75, 2]), [0, 2, 1]),
    (Histogram("paid", bins=[-0.01, 0, 1.25, 10**10]), [1, 1, 2]),
    (Histogram("born", bins=["0001-01-01", "1970-01-01", "9999-12-31"]), [2, 1]),
    (Histogram("seen", bins=["0001-01-01", "1970-01-01", "2024-03-31 02:30:00", "2025-01-01"]), [2, 0, 2]),
    (Histogram("sent", bins=["1900-01-01", "2024-01-01", "2024-01-02"]), [2, 1]),
    (Histogram("member", "age", keys={"member": [True, None]}, bins={"age": [-10, 50, 70]}), [2, 1, 0, 0]),
    (Histogram("name", "member", keys={"member": [True, False]}), [0, 1, 1, 0, 0, 0, 0, 0, 2, 0]),
    # sums and means on the lattice
    (Sum("age", low=0, high=55, step=1), [145]),
    (Sum("age", low=-5, high=55, step=1, where="age < 50"), [35]),
    (Sum("age", low=0, high=60, step=3), [13 + 17 + 20]),
    (Sum("age", low=-100, high=100, step="0.5"), [286]),
    (Sum("height", low=0, high=2, step="0.25"), [13]),
    (Sum("height", low=0, high=2, step="0.5"), [7]),
    (Sum("height", low=0, high=3, step=3), [2]),
    (Sum("weight", low=0, high=100, step="0.1"), [806]),
    (Sum("paid", low=-1, high=2, step="0.01"), [125 - 1 + 200]),
    (Sum("age", low=0, high=55, step=1, by=("member",), keys=[True, False, None]), [95, 50, 0]),
    (Mean("age", low=0, high=55, step=1), [(2 * 145 - 55 * 4, 4)]),
    (Mean("height", low=0, high=2, step="0.25"), [(2 * 13 - 8 * 3, 3)]),
    (Mean("age", low=0, high=55, step=1, by=("member",), keys=[True, None]), [(190 - 165, 3), (0, 0)]),
    (Linear("name", {"Ann": 1, "ann": "-0.5"}, step="0.5"), [1]),
    (Linear("age", {40: 1, None: "0.25", 41: -1}, step="0.25"), [5]),
    # measures with parts of their own, and with sums of squares
    (AskLadder("height", 0, 2, step="0.5"), [(1, 0, 0, 1, 1, 1, 1, 1)]),
    (AskLadder("age", 39, 41, by=("member",), keys=[True, None]), [(1, 1, 1, 2, 1), (0, 0, 0, 0, 0)]),
    (AskDeviation("age", 0, 60), [(4, 60, 4000)]),
    (Variance("age", 0, 60, 1), [(4, 60, 4000)]),
    (Std("height", 1, 2, 1), [(3, 1, 3)]),
    (Quantiles("height", (0.5,), 0, 2, "0.5"), [(1, 0, 0, 1, 1)]),
    (Quantiles("born", (0.5,), "1969-12-31", "1970-01-02"), [(2, 1, 1)]),
    (Quantiles("born", (0,), date(1969, 12, 25), date(1970, 1, 8), 7), [(1, 2, 1)]),
    (Ranges("seen", "2024-03-31 02:00:00", "2024-03-31 03:00:00", 1800), [(2, 1, 1)]),
    (Ranges("seen", "1969-12-31 23:59:59.999998", datetime(1970, 1, 1), "0.000001"), [(1, 1, 2)]),
    (Ranges("sent", "2024-10-27", "2024-10-27 02:00:00", 3600), [(3, 1, 0)]),
    (Ranges("age", 39, 41, 1, by=("member",), keys=[True, None]), [(1, 1, 1), (0, 0, 0)]),
    (AskDeviation("height", 1, 2), [(3, 1, 3)]),
    # tables of several columns: a row that has no cell in one column counts in none of them
    (
        Marginals(
            tables=["name", "member", ("name", "member")],
            keys={"member": [True, False]},
            strategy="joint",
        ),
        [(*(1, 1, 0, 0, 2), *(3, 1), *(0, 1, 1, 0, 0, 0, 0, 0, 2, 0))],
    ),
    (Marginals("member", way=1, keys=[True, False], strategy="residuals"), [(4, 2, -2)]),
    (
        Marginals("member", "age", keys={"member": [True, None]}, bins={"age": [-10, 50, 70]}),
        [(2, 1, 0, 0)],
    ),
]


@pytest.fixture(scope="module")
def people(opened: Opener) -> Engine:
    return opened(PEOPLE)


@pytest.mark.parametrize(("query", "expected"), QUESTIONS, ids=lambda value: str(value)[:80])
def test_every_engine_gives_the_same_true_aggregates(people: Engine, query: Any, expected: list[Any]) -> None:
    assert cells(people, query, SCHEMA) == expected


def held(engine: Engine, query: Any, schema: Schema | None = None) -> dict[Any, int]:
    """Return the cells that rows are in, with their labels."""
    question = query.checked((schema or Schema()).table(engine.columns()))
    read = cell_reader(question)
    rows = [row for batch in held_cells(engine, question) for row in batch]
    found = [(question.named(cell), int(row[-1])) for row in rows if (cell := read(row)) is not None]
    assert len(dict(found)) == len(found)
    return {key[0] if len(key) == 1 else key: count for key, count in found}


def test_every_engine_finds_the_same_keys(people: Engine) -> None:
    texts = {"Ann": 1, "ann": 1, "Ärger": 1, "zoë": 1, None: 1}
    assert held(people, Histogram("name", keys="discover")) == texts
    assert held(people, Histogram("age", keys="discover")) == {40: 1, 50: 1, 60: 1, -7: 1, None: 1}
    assert held(people, Histogram("member", keys="discover")) == {True: 3, False: 1, None: 1}
    days = [date(1969, 12, 31), date(1970, 1, 1), None, date(1582, 10, 4), date(9999, 12, 31)]
    assert held(people, Histogram("born", keys="discover")) == dict.fromkeys(days, 1)
    assert held(people, Histogram("age", keys="discover", where="member")) == {40: 1, 60: 1, -7: 1}
    crossed = Histogram("member", "age", keys={"member": "discover"}, bins={"age": [-10, 50, 70]})
    assert held(people, crossed) == {(True, "[-10, 50)"): 2, (True, "[50, 70)"): 1, (False, "[50, 70)"): 1}
    listed = Histogram("name", "member", keys={"member": "discover"})
    assert held(people, listed, SCHEMA) == {
        ("Ann", True): 1, ("ann", False): 1, ("Ärger", None): 1, ("others", True): 2,
    }  # fmt: skip


def test_values_that_no_query_can_name_are_missing(opened: Opener) -> None:
    engine = opened(typed(n=(pyarrow.int64(), [TOP, TOP, -TOP, -TOP - 1, None])))
    assert held(engine, Histogram("n", keys="discover")) == {TOP: 2, -TOP: 1, None: 2}


def test_many_keys_come_in_batches(opened: Opener) -> None:
    engine = opened(typed(n=(pyarrow.int64(), range(BATCH + 7))))
    question = Histogram("n", keys="discover").checked(Schema().table(engine.columns()))
    sizes = [len(batch) for batch in held_cells(engine, question)]
    assert sum(sizes) == BATCH + 7
    assert max(sizes) <= BATCH
    assert cells(engine, Count("n < 5")) == [5]


def test_an_empty_table_answers_zero_in_every_cell(opened: Opener) -> None:
    nobody = opened(PEOPLE.slice(0, 0))
    for query, expected in QUESTIONS:
        empty = [0 if isinstance(cell, int) else (0,) * len(cell) for cell in expected]
        assert cells(nobody, query, SCHEMA) == empty, query


def test_every_engine_sees_the_same_types(people: Engine) -> None:
    kinds = {name: stored.kind for name, stored in people.columns().items()}
    assert kinds == {
        "age": "integer",
        "height": "number",
        "weight": "number",
        "paid": "number",
        "name": "text",
        "member": "boolean",
        "born": "date",
        "seen": "timestamp",
        "sent": "timestamp",
        "note": "text",
    }


def test_sums_of_64_bits_do_not_overflow(opened: Opener) -> None:
    engine = opened(typed(n=(pyarrow.int64(), [TOP] * 5 + [-TOP - 1] * 3 + [0, None])))
    assert cells(engine, Sum("n", low=-HIGH, high=HIGH, step=1)) == [2 * HIGH]
    assert cells(engine, Sum("n", low=0, high=HIGH, step=1)) == [5 * HIGH]
    assert cells(engine, Sum("n", low=0, high=10, step="0.5")) == [100]
    assert cells(engine, Mean("n", low=-HIGH, high=HIGH, step=1)) == [(4 * HIGH, 9)]
    assert cells(engine, Count(f"n = {TOP}")) == [5]
    assert cells(engine, Count(f"n < -{TOP}")) == [3]
    assert cells(engine, Histogram("n", keys=[TOP, 0, -TOP])) == [5, 1, 0]


def test_a_sum_may_pass_64_bits(opened: Opener) -> None:
    many = 3_000
    table = typed(n=(pyarrow.int64(), [TOP] * many))
    assert many * HIGH > TOP
    assert cells(opened(table), Sum("n", low=0, high=HIGH, step=1)) == [many * HIGH]


@pytest.mark.parametrize("type_", [pyarrow.int16(), pyarrow.int32(), pyarrow.int64()], ids=str)
def test_bins_reach_over_the_whole_range_of_a_type(opened: Opener, type_: Any) -> None:
    top = 2 ** (type_.bit_width - 1) - 1
    numbers = [-top - 1, -top, -7, -1, 0, 4, 5, 9, 10, top, None]
    engine = opened(typed(n=(type_, numbers)))
    wide = min(top // 2, 2**60)
    for edges in ([-5, 0, 5, 10], [-5, 0, 4, 10], [-wide, 0, wide], [-2 * wide, 0, 2 * wide], range(-9, 99)):
        expected = [sum(n is not None and low <= n < high for n in numbers) for low, high in pairwise(edges)]
        assert cells(engine, Histogram("n", bins=edges)) == expected, edges


def test_extreme_doubles_stay_on_the_lattice(opened: Opener) -> None:
    table = typed(
        x=(pyarrow.float64(), [1.7976931348623157e308, -1.7976931348623157e308, None]),
        tiny=(pyarrow.float64(), [5e-324, -5e-324, 0.3]),
    )
    engine = opened(table)
    for step, most in [("0.001", 1000), ("1e-12", 10**12), ("1e-300", 5), (1, 7), (3, 9), ("1.5", 6)]:
        scale = Decimal(str(step))
        answer = Sum("x", low=-most * scale, high=2 * most * scale, step=step)
        assert cells(engine, answer) == [most], step
        near = Sum("tiny", low=-most * scale, high=2 * most * scale, step=step)
        expected = min(int(Decimal("0.3") / scale + Decimal("0.5")), 2 * most)
        assert cells(engine, near) == [expected], step
    assert cells(engine, Count("tiny > 0")) == [2]
    assert cells(engine, Count("tiny < 0")) == [1]
    assert cells(engine, Histogram("x", bins=[-1e307, 0, 1e307])) == [0, 0]


def test_half_a_step_rounds_up_everywhere(opened: Opener) -> None:
    table = typed(x=(pyarrow.float64(), [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]))
    for value, rounded in zip(table["x"].to_pylist(), [-2, -1, 0, 1, 2, 3], strict=True):
        one = typed(x=(pyarrow.float64(), [value]))
        assert cells(opened(one), Sum("x", low=-9, high=9, step=1)) == [rounded]
    assert cells(opened(table), Sum("x", low=-9, high=9, step=1)) == [3]


HOSTILE = [
    "'; DROP TABLE t; --", "\\", "\\'", "100%", "%s", ":x", "$1", "${spark.app.name}", '"', "a\nb", "\u2028",
    "🦋", "ﬃ", "É", "E\u0301", "ß", "SS", " a", "a ", "a", "", "NULL", "{d '1'}", "/*", "\\u0041", "`",
]  # fmt: skip


def test_hostile_texts_are_only_texts(opened: Opener) -> None:
    table = typed(k=(pyarrow.string(), [*HOSTILE, None]))
    engine = opened(table)
    assert cells(engine, Histogram("k", keys=[*HOSTILE, None])) == [1] * (len(HOSTILE) + 1)
    assert cells(engine, Histogram("k", keys=["$2", "A", "e", "ss"])) == [0, 0, 0, 0]
    for number, word in enumerate(sorted(HOSTILE)):
        quoted = word.replace("'", "''")
        assert cells(engine, Count(f"k < '{quoted}'")) == [number], word


def test_hostile_names_are_quoted(opened: Opener) -> None:
    names = ['x"; DROP TABLE t; --', "select", "Age", "a.b", "a`b", "per%cent", "ä ö"]
    engine = opened(typed(**{name: (pyarrow.int64(), [n, n]) for n, name in enumerate(names)}))
    for number, name in enumerate(names):
        assert cells(engine, Histogram(name, keys=[number, 99])) == [2, 0], name
