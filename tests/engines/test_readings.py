"""How every engine reads a value as the type that a schema declares: all alike."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from math import floor, nan
from typing import Any

import pyarrow
import pytest

from dovetail.query import Column, Count, Histogram, Schema, Sum
from engine_tables import Opener, cells, typed

TOP = 2**63 - 1
NUMBER_TEXTS = {
    "12": (12.0, 12), "-3": (-3.0, -3), "+4": (4.0, 4), " 5\t": (5.0, 5), ".5": (0.5, 1), "6.": (6.0, 6),
    "2.5": (2.5, 3), "-2.5": (-2.5, -3), "1e2": (100.0, 100), "1E+1": (10.0, 10), "1_000": (1000.0, 1000),
    "\x0b8\n": (8.0, 8), "1e-400": (0.0, 0), "9" * 30: (1e30, 10**30 - 1),
    **dict.fromkeys(["", "x", "5d", "5f", "--5", "1,5", "1__0", "१", "5\u00a0"], (None, None)),
    **dict.fromkeys(["1e400", "NaN", "inf", "-Infinity", "5\u0085", "5\u2028"], (None, None)),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "place"), [("number", 0), ("integer", 1)])
def test_a_text_is_a_number_in_the_same_shapes(opened: Opener, kind: str, place: int) -> None:
    words = [*NUMBER_TEXTS, "0" * 1500 + "7"]
    read = [*(pair[place] for pair in NUMBER_TEXTS.values()), 7]
    engine = opened(typed(t=(pyarrow.string(), words), i=(pyarrow.int64(), list(range(len(words))))))
    schema = Schema([Column("t", kind)])
    for number, (word, value) in enumerate(zip(words, read, strict=True)):
        assert cells(engine, Count(f"i = {number} AND t IS NULL"), schema) == [int(value is None)], word
        if value is not None and abs(value) < TOP:
            assert cells(engine, Count(f"i = {number} AND t = {value}"), schema) == [1], word
    bounded = [min(max(value, -50), 50) for value in read if value is not None]
    total = sum(floor(2 * value + 0.5) for value in bounded)
    assert cells(engine, Sum("t", low=-50, high=50, step="0.5"), schema) == [total]


DATE_TEXTS = {
    "2024-02-29": datetime(2024, 2, 29), "2023-02-29": None, "2024-13-01": None, "2024-04-31": None,
    "1969-12-31": datetime(1969, 12, 31), "0001-01-01": datetime(1, 1, 1), "today": None, "now": None,
    "2024-01-01 12:30": datetime(2024, 1, 1, 12, 30),
    "2024-01-01T23:59:59.5": datetime(2024, 1, 1, 23, 59, 59, 500000),
    "20240101": None, "": None, "01.02.2024": None, "2024-01-01x": None,
    "2024-01-01 12:00\n": None, "2024-01-01 25:00:00": None,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["date", "timestamp"])
def test_a_text_is_a_date_in_the_same_shapes(opened: Opener, kind: str) -> None:
    words = list(DATE_TEXTS)
    engine = opened(typed(t=(pyarrow.string(), words), i=(pyarrow.int64(), list(range(len(words))))))
    schema = Schema([Column("t", kind)])
    for number, (word, at) in enumerate(DATE_TEXTS.items()):
        assert cells(engine, Count(f"i = {number} AND t IS NULL"), schema) == [int(at is None)], word
        if at is not None:
            shown = at.date().isoformat() if kind == "date" else at.isoformat(sep=" ")
            assert cells(engine, Count(f"i = {number} AND t = '{shown}'"), schema) == [1], word


def test_a_text_is_a_truth_value_in_the_same_words(opened: Opener) -> None:
    words = ["true", "T", "yes", "Y", "1", "false", "F", "no", "N", "0", "on", "off", "tr", "", "2", None]
    schema = Schema([Column("t", "boolean")])
    table = typed(t=(pyarrow.string(), words))
    assert cells(opened(table), Histogram("t", keys=[True, False, None]), schema) == [5, 5, 6]


def test_a_type_may_be_declared_against_what_is_stored(opened: Opener) -> None:
    table = typed(
        x=(pyarrow.float64(), [2.5, 3.5, -2.5, nan, 1e300, -0.0]),
        d=(pyarrow.decimal128(5, 1), [Decimal("2.5"), Decimal("3.5"), Decimal("-2.5"), None, 7, 0]),
        n=(pyarrow.int64(), [1, 2, 3, 4, TOP, None]),
        b=(pyarrow.bool_(), [True, True, False, None, None, None]),
        at=(pyarrow.timestamp("us"), [datetime(1969, 12, 31, 23), datetime(1970, 1, 1), *[None] * 4]),
        day=(pyarrow.date32(), [date(1969, 12, 31), date(1970, 1, 1), *[None] * 4]),
    )
    engine = opened(table)

    def declared(name: str, kind: str, query: Any) -> Any:
        return cells(engine, query, Schema([Column(name, kind)]))

    # Halves of doubles go to the even neighbour, halves of decimals away from zero.
    assert declared("x", "integer", Histogram("x", keys=[2, 4, -2, 0, None, 3])) == [1, 1, 1, 1, 2, 0]
    assert declared("d", "integer", Histogram("d", keys=[3, 4, -3, 7, None])) == [1, 1, 1, 1, 1]
    assert declared("n", "number", Histogram("n", bins=[0, 1.5, 3.5, 10**19])) == [1, 2, 2]
    assert declared("n", "text", Histogram("n", keys=["1", str(TOP), None])) == [1, 1, 1]
    assert declared("b", "integer", Sum("b", low=0, high=1, step=1)) == [2]
    assert declared("b", "text", Histogram("b", keys=["true", "false"])) == [2, 1]
    assert declared("at", "date", Histogram("at", keys=["1969-12-31", "1970-01-01"])) == [1, 1]
    assert declared("day", "timestamp", Count("day < '1970-01-01 00:00:00'")) == [1]
    assert declared("day", "text", Count("day = '1969-12-31'")) == [1]
