"""Derived columns, lookups and time zones: the same cells in every engine, with whatever a row may hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from math import floor, inf, isfinite, nan
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import ibis
import pyarrow
import pytest

from dovetail.engines import Engine, Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.errors import InvalidParameter
from dovetail.query import Column, Count, Histogram, Lookup, Mean, Schema, Sum
from dovetail.query.field import Field
from dovetail.query.neighbours import Persons
from engine_tables import Loader, Opener, cells, typed

HOSTILE = [
    "'; DROP TABLE t; --", "\\", "\\'", "100%", "%s", ":x", "$1", "${spark.app.name}", '"', "a\nb", "\u2028",
    "🦋", "ﬃ", "É", "E\u0301", "ß", "SS", " a", "a ", "a", "", "NULL", "{d '1'}", "/*", "\\u0041", "`", "zz",
]  # fmt: skip
KEYS = HOSTILE[:-1]
DAYS = [
    date(1, 1, 1), date(1582, 10, 4), date(1969, 12, 31), date(2023, 12, 31), date(2024, 1, 1),
    date(2024, 2, 29), date(2024, 3, 31), date(2024, 12, 31), date(9999, 12, 31), None,
]  # fmt: skip
TIMES = [
    datetime(1, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 1, 1),
    datetime(2024, 2, 29, 12, 30), datetime(2024, 3, 31, 2, 30), datetime(2024, 10, 27, 2, 30),
    datetime(9999, 12, 31, 23, 59, 59, 999999), None,
]  # fmt: skip
AGES = [-7, -1, 0, 9, 10, 17, 18, 99, 100, 2**31 - 1, None]
HEIGHTS = [-0.0, 0.1, 0.3, 0.7, 1.5, 1.9999999, 2.05, -0.05, 1e308, nan, inf, -inf, None]
CODES = [1, 2, 3, 2**63 - 1, -(2**63), None]


def padded(values: list[Any], length: int) -> list[Any]:
    return values + [None] * (length - len(values))


ROWS = len(HOSTILE) + 1
TABLE = typed(
    day=(pyarrow.date32(), padded(DAYS, ROWS)),
    time=(pyarrow.timestamp("us"), padded(TIMES, ROWS)),
    age=(pyarrow.int32(), padded(AGES, ROWS)),
    height=(pyarrow.float64(), padded(HEIGHTS, ROWS)),
    key=(pyarrow.string(), padded(HOSTILE, ROWS)),
    code=(pyarrow.int64(), padded(CODES, ROWS)),
)
SCHEMA = Schema(
    [
        Column("day", "date", low="2023-11-15", high="2024-12-31"),
        Column("time", "timestamp", low="2024-01-01", high="2024-03-31 23:00:00"),
        Column("age", "integer", low=0, high=104),
        Column("height", "number", low="-0.1", high=2),
    ],
    derived={
        "life": "CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'old or unknown' END",
        "season": "CASE WHEN day.month IN (12, 1, 2) THEN 1 WHEN day.month < 6 THEN 2 END",
        "cold": "CASE season WHEN 1 THEN TRUE ELSE FALSE END",
    },
    lookups=[
        Lookup("places", {"key": KEYS, "number": list(range(len(KEYS)))}, key="key", on="key"),
        Lookup("names", {"code": ["1", "2", "9"], "name": ["one", None, "nine"]}, key="code", on="code"),
    ],
)


def month(day: date | None) -> int | None:
    return None if day is None else day.month


def life(age: int | None) -> str:
    return "old or unknown" if age is None or age >= 65 else "child" if age < 18 else "adult"


def season(day: date | None) -> int | None:
    return None if day is None else 1 if day.month in (12, 1, 2) else 2 if day.month < 6 else None


def height_bin(height: float | None) -> Fraction | None:
    if height is None or not isfinite(height):
        return None
    # Edges are the doubles nearest to the multiples, as every constant is.
    places = [n for n in range(-2, 42) if float(Fraction(n, 20)) <= height < float(Fraction(n + 1, 20))]
    return Fraction(places[0], 20) if places else None


# The column that is derived, the one that it is derived of, and what Python makes of a value.
DERIVED: list[tuple[str, str, Callable[[Any], Any]]] = [
    ("day.month", "day", month),
    ("EXTRACT(QUARTER FROM day)", "day", lambda day: day and (day.month + 2) // 3),
    ("day.day", "day", lambda day: day and day.day),
    ("EXTRACT(ISODOW FROM day)", "day", lambda day: day and day.isoweekday()),
    ("YEAR(day)", "day", lambda day: day and day.year),
    ("DATE_TRUNC('month', day)", "day", lambda day: day and day.replace(day=1)),
    ("day.year_start", "day", lambda day: day and day.replace(month=1, day=1)),
    ("day.quarter_start", "day", lambda day: day and day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)),
    ("day.week_start", "day", lambda day: day and day - timedelta(days=day.weekday())),
    ("day.day_start", "day", lambda day: day),
    ("time.weekday", "time", lambda time: time and time.isoweekday()),
    ("time.hour", "time", lambda time: None if time is None else time.hour),
    ("time.day_start", "time", lambda time: time and time.date()),
    ("DATE_TRUNC('hour', time)", "time", lambda time: time and datetime(*time.timetuple()[:4])),
    ("FLOOR(age / 10) * 10", "age", lambda age: None if age is None else age // 10 * 10),
    ("FLOOR(age / 2.5) * 2.5", "age", lambda age: None if age is None else Fraction(5, 2) * floor(age / 2.5)),
    ("0.05 * FLOOR(height / 0.05)", "height", height_bin),
    ("life", "age", life),
    ("season", "day", season),
    ("cold", "day", lambda day: season(day) == 1),
    ("places.number", "key", lambda key: KEYS.index(key) if key in KEYS else None),
    ("names.name", "code", {1: "one"}.get),
    ("CASE key WHEN '''; DROP TABLE t; --' THEN 1 WHEN '' THEN 2 END", "key", {KEYS[0]: 1, "": 2}.get),
]  # fmt: skip


@pytest.fixture(scope="module")
def rows(opened: Opener) -> Engine:
    return opened(TABLE)


@pytest.mark.parametrize(("text", "column", "value"), DERIVED, ids=[text for text, _, _ in DERIVED])
def test_every_engine_derives_what_python_derives(
    rows: Engine, text: str, column: str, value: Callable[[Any], Any]
) -> None:
    question = Histogram(text).checked(SCHEMA.table(rows.columns()))
    found = {
        key[0]: cell[0] for key, cell in zip(question.cell_keys(), true_cells(rows, question), strict=True)
    }
    axis = question.axes[0]
    expected = Counter(
        label if (label := value(raw)) in axis.values else axis.other for raw in TABLE[column].to_pylist()
    )  # type: ignore[union-attr]
    assert {key: count for key, count in found.items() if count} == dict(expected)
    assert sum(found.values()) == ROWS


WHERE = [
    ("day.month = 2", 1),
    ("day.month <> 2", 8),
    ("NOT EXTRACT(MONTH FROM day) BETWEEN 1 AND 3", 5),
    ("day.month IS NULL", ROWS - 9),
    ("DATE_TRUNC('month', day) >= '2024-01-01'", 4),
    ("time.hour_start = '2024-02-29 12:00:00'", 1),
    ("FLOOR(age / 10) * 10 IN (0, 10)", 5),
    ("FLOOR(age / 10) * 10 < 0", 0),
    ("life = 'child'", 6),
    ("life < 'b'", 1),
    ("life >= 'b'", ROWS - 1),
    ("cold", 7),
    ("NOT cold", ROWS - 7),
    ("places.number < 3 OR places.number IS NULL", 5),
    ("names.name = 'one'", 1),
    ("names.name IS NULL", ROWS - 1),
]


@pytest.mark.parametrize(("text", "expected"), WHERE, ids=[text for text, _ in WHERE])
def test_derived_columns_stand_in_conditions(rows: Engine, text: str, expected: int) -> None:
    assert cells(rows, Count(text), SCHEMA) == [expected]


def test_derived_columns_are_summed_and_cross(rows: Engine) -> None:
    assert cells(rows, Sum("CASE WHEN age < 18 THEN 1 ELSE 0 END"), SCHEMA) == [6]
    months = [day.month for day in DAYS if day is not None]
    total, count = cells(rows, Mean("day.month"), SCHEMA)[0]
    assert (total, count) == (2 * sum(months) - 13 * len(months), len(months))
    crossed = cells(rows, Histogram("cold", "life"), SCHEMA)
    expected = Counter(
        (season(day) == 1, life(age))
        for day, age in zip(TABLE["day"].to_pylist(), TABLE["age"].to_pylist(), strict=True)
    )
    labels = [(cold, name) for cold in (True, False) for name in ("child", "adult", "old or unknown")]
    assert crossed == [expected[label] for label in labels]


def test_a_lookup_of_many_keys_is_searched(opened: Opener) -> None:
    keys = [f"k{number:04}" for number in range(0, 2000, 2)]
    lookup = Lookup("big", {"k": keys, "v": [f"v{int(key[1:]) % 7}" for key in keys]}, key="k", on="k")
    asked = [f"k{number:04}" for number in range(2000)] + [None, "", "zzz", "k"]
    engine = opened(typed(k=(pyarrow.string(), asked)))
    found = cells(engine, Histogram("big.v"), Schema(lookups=[lookup]))
    expected = Counter(f"v{int(key[1:]) % 7}" for key in keys)
    assert found == [*(expected[label] for label in dict.fromkeys(f"v{int(k[1:]) % 7}" for k in keys)), 1004]


# Around both clock changes of 2024 in Zurich, and around the turn of the year.
INSTANTS = [
    datetime(2024, 3, 31, 0, 59, 59, tzinfo=UTC),
    datetime(2024, 3, 31, 1, 0, tzinfo=UTC),
    datetime(2024, 10, 27, 0, 30, tzinfo=UTC),
    datetime(2024, 10, 27, 1, 30, tzinfo=UTC),
    datetime(2023, 12, 31, 23, 30, tzinfo=UTC),
    datetime(2024, 7, 31, 22, 30, tzinfo=UTC),
    None,
]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Zurich", "America/New_York", "Asia/Kathmandu"])
def test_instants_are_read_in_the_zone_of_the_schema_around_a_clock_change(
    opened: Opener, zone: str | None
) -> None:
    engine = opened(
        typed(
            at=(pyarrow.timestamp("us", tz="UTC"), INSTANTS),
            plain=(pyarrow.timestamp("us"), [at and at.replace(tzinfo=None) for at in INSTANTS]),
        )
    )
    bounds = {"low": "2023-01-01", "high": "2025-12-31"}
    columns = [Column("at", "timestamp", **bounds), Column("plain", "timestamp", **bounds)]
    schema = Schema(columns, zone=zone)
    local = [at and at.astimezone(ZoneInfo(zone or "UTC")).replace(tzinfo=None) for at in INSTANTS]
    hours = Counter(at.hour for at in local if at)
    assert cells(engine, Histogram("at.hour"), schema) == [*(hours[hour] for hour in range(24)), 1]
    months = Counter(at.month for at in local if at)
    assert cells(engine, Histogram("at.month"), schema) == [*(months[n] for n in range(1, 13)), 1]
    for at in filter(None, local):
        expected = sum(other is not None and other <= at for other in local)
        assert cells(engine, Count(f"at <= '{at.isoformat(sep=' ')}'"), schema) == [expected]
    # As days, too; and a time without a zone is what its clock showed.
    days = Schema([Column("at", "date")], zone=zone)
    first = sum(at is not None and at.date() == date(2024, 1, 1) for at in local)
    assert cells(engine, Histogram("at", keys=["2024-01-01"]), days) == [first]
    assert cells(engine, Count("plain.hour = 23"), schema) == [1]


def test_a_join_that_counts_a_row_twice_would_be_seen(rows: Engine) -> None:
    with pytest.raises(ValueError, match="all different; 'a' is not"):
        Lookup("twice", {"key": ["a", "a"], "v": ["x", "y"]}, key="key", on="key")
    for text in ("places.number", "names.name"):
        assert sum(cells(rows, Histogram(text), SCHEMA)) == ROWS


def test_a_zone_that_the_engine_does_not_know_is_refused_when_the_data_are_opened(load: Loader) -> None:
    source = load(typed(n=(pyarrow.int64(), [1])))
    connect(replace(source, schema=Schema(zone="America/Argentina/Ushuaia"))).close()
    unknown = Schema(zone="Europe/Zurich")
    object.__setattr__(unknown, "zone", "Europe/Atlantis")
    with pytest.raises(InvalidParameter, match="that the engine of these data knows"):
        connect(replace(source, schema=unknown))


def test_many_days_and_hours_are_keys(opened: Opener) -> None:
    days = [date(2020, 1, 1) + timedelta(days=step) for step in range(0, 2000, 3)]
    times = [datetime(day.year, day.month, day.day) for day in days]
    engine = opened(typed(day=(pyarrow.date32(), days), at=(pyarrow.timestamp("us"), times)))
    bounds = {"low": "2020-01-01", "high": "2025-12-31"}
    schema = Schema([Column("day", "date", **bounds), Column("at", "timestamp", **bounds)])
    for text in ("day.day_start", "at.day_start", "at.hour_start"):
        found = cells(engine, Histogram(text), schema)
        assert sum(found) == len(days)
        assert max(found) == 1
        assert found[0] == 1
        assert found[-1] == 0


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")
@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/New_York"])
def test_the_zone_of_a_connection_does_not_matter(zone: str) -> None:
    database = duckdb.connect()
    database.execute(f"SET TimeZone = '{zone}'")
    database.execute("CREATE TABLE t AS SELECT TIMESTAMPTZ '2024-03-31 01:30:00+00' AS at")
    for table in (database, ibis.duckdb.from_connection(database).table("t")):
        # Ibis sets a zone of its own.
        database.execute(f"SET TimeZone = '{zone}'")
        engine = connect(Source.of(table, name="t", table="t"))
        for named, hour in ((None, 1), ("Europe/Zurich", 3)):
            assert cells(engine, Count(f"at.hour = {hour}"), Schema(zone=named)) == [1]
        engine.close()
        assert database.execute("SELECT current_setting('TimeZone')").fetchone() == (zone,)


@pytest.mark.parametrize("how", ["column", "default"])
def test_keys_that_an_owner_takes_for_alike_match_one_row_each(how: str) -> None:
    database = duckdb.connect()
    collated = " COLLATE NOCASE" if how == "column" else ""
    if how == "default":
        database.execute("SET GLOBAL default_collation = 'NOCASE'")
    database.execute(f"CREATE TABLE t (k VARCHAR{collated})")
    database.execute("INSERT INTO t VALUES ('a'), ('A'), ('A'), ('b'), (NULL)")
    words = {"key": ["a", "A", "B"], "word": ["small", "large", "absent"]}
    lookup = Lookup("words", words, key="key", on="k")
    engine = connect(Source.of(database, name="t", table="t"))
    assert cells(engine, Histogram("words.word"), Schema(lookups=[lookup])) == [1, 2, 0, 2]
    engine.close()


def test_persons_are_bounded_beside_a_lookup(opened: Opener) -> None:
    keys = ["a", "b", "a", "c", "a", "b", "b"]
    engine = opened(typed(who=(pyarrow.int64(), [1] * 5 + [2] * 2), k=(pyarrow.string(), keys)))
    lookup = Lookup("words", {"key": ["a", "b"], "word": ["x", "y"]}, key="key", on="k")
    schema = Schema(lookups=[lookup])
    question = Histogram("words.word", where="words.word IS NOT NULL").checked(schema.table(engine.columns()))
    whose = Persons(Field("who", "integer"), 3, 3)
    found = [cell[0] for cell in true_cells(engine, replace(question, persons=whose), b"key")]
    assert sum(found) == 5
    assert found[2] == 0
    assert found[1] in (2, 3)
