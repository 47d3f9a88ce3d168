"""Hostile ids and keys: what is written differently is different, on every engine, and nothing is merged.

Noise is left out here, so that an answer is the true number. That is what these tests are about.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pyarrow
import pytest

import dovetail as dv
from dovetail.release import mechanism
from engine_tables import Loader, into_duckdb, into_postgres

ROWS_EACH = 40
TEXTS = [
    "",
    " ",
    "a",
    "A",
    "a ",
    " a",
    "a\t",
    "\u00e9",
    "e\u0301",
    "\u0391",  # Greek, looks like A
    "\uff21",  # full width
    "\u0130",
    "i",
    "I",
    "\u00df",
    "ss",
    "\u200b",
    "\U0001f600",
    "\U0010ffff",
    "null",
    "NULL",
    "None",
    "-",
    "|",
    "1:a",
    "'; DROP TABLE data; --",
    '"',
    "\\",
    "\\x41",
    "%s",
    "$1",
    "${HOME}",
    "a\nb",
    "a\r\nb",
    "x" * 70_000,
    "x" * 70_000 + "y",
    "0",
    "00",
    "1e3",
    "1000",
]
INTEGERS = [0, 1, -1, 2**53, 2**53 + 1, 2**31, -(2**31), 1_073_741_789, 2**63 - 1, -(2**63) + 1]
NOISE = dv.Geometric(1)


@pytest.fixture(params=["duckdb", "postgresql"])
def load(request: pytest.FixtureRequest) -> Iterator[Loader]:
    if request.param == "duckdb":
        yield into_duckdb
    else:
        yield from into_postgres(str(request.getfixturevalue("postgres_server")))


@pytest.fixture(autouse=True)
def _no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "draws", lambda noise, cells: [0] * cells)


def opened(source: Any, folder: Path, **options: Any) -> dv.Session:
    budget = dv.Budget.approximate(10**6, "0.4")
    return dv.Session(source, budget=budget, ledger=folder / "texts.ledger", **options)


def found(session: dv.Session, *columns: str, **options: Any) -> dict[Any, int]:
    """Return the keys that are discovered and their counts; twice, as the ledger must keep them too."""
    answers = [
        session.histogram(*columns, keys="discover", noise=NOISE, delta="1e-6", **options) for _ in "ab"
    ]
    assert answers[1].stored
    assert answers[0].keys == answers[1].keys
    assert len(set(answers[0].keys)) == len(answers[0].keys)
    return {keys if len(columns) > 1 else keys[0]: n for keys, n in zip(*_pair(answers[0]), strict=True)}


def _pair(answer: Any) -> tuple[list[Any], list[int]]:
    return answer.keys, answer.value


@pytest.mark.parametrize("kind", ["text", "integer"])
def test_every_key_is_itself_and_comes_once(load: Loader, kind: str, tmp_path: Path) -> None:
    values: list[Any] = [None, *(TEXTS if kind == "text" else INTEGERS)]
    type_ = pyarrow.string() if kind == "text" else pyarrow.int64()
    table = pyarrow.table({"key": pyarrow.array(values * ROWS_EACH, type_)})
    with opened(load(table), tmp_path) as session:
        assert found(session, "key") == dict.fromkeys(values, ROWS_EACH)
        listed = session.histogram("key", keys=values, noise=NOISE)
        assert listed.value == [ROWS_EACH] * len(values)
        for value in values[1:8]:
            spelled = "'" + value.replace("'", "''") + "'" if isinstance(value, str) else value
            assert session.count(where=f"key = {spelled}", noise=NOISE).value == ROWS_EACH


@pytest.mark.parametrize("kind", ["text", "integer"])
def test_every_id_is_a_person_of_its_own_and_no_id_is_nobody(load: Loader, kind: str, tmp_path: Path) -> None:
    ids: list[Any] = TEXTS if kind == "text" else INTEGERS
    type_ = pyarrow.string() if kind == "text" else pyarrow.int64()
    rows = {"who": pyarrow.array([*ids * 9, *[None] * 50], type_), "k": list(range(9 * len(ids) + 50))}
    rows["k"] = [n % 5 for n in rows["k"]]
    with opened(load(pyarrow.table(rows)), tmp_path, unit="who", max_rows=3, max_cells=2) as session:
        assert session.count_distinct(noise=NOISE).value == len(ids)
        assert session.count(noise=NOISE).value == 3 * len(ids)
        histogram = session.histogram("k", keys=list(range(5)), noise=NOISE)
        assert sum(histogram.value) == 3 * len(ids)
        discovered = found(session, "k")
        assert discovered == {n: v for n, v in enumerate(histogram.value) if v >= threshold(session, "k")}


def threshold(session: dv.Session, *columns: str) -> int:
    answer = session.histogram(*columns, keys="discover", noise=NOISE, delta="1e-6")
    assert answer.threshold is not None
    return answer.threshold.least


def collated(folder: Path, how: str) -> Any:
    """Return a DuckDB table whose owner compares texts without case: 200 rows of 'word', one of 'WORD'."""
    owner = duckdb.connect(str(folder / "words.duckdb"))
    column = "VARCHAR COLLATE NOCASE" if how != "default" else "VARCHAR"
    owner.execute(f"CREATE TABLE words (word {column}, who {column}, n INT)")
    owner.execute("INSERT INTO words VALUES ('WORD', 'ANN', 1)")
    owner.execute("INSERT INTO words SELECT 'word', CASE WHEN range < 5 THEN 'ann' ELSE 'p' || range END, 1 "
                  "FROM range(200)")  # fmt: skip
    if how == "file":
        owner.close()
        return folder / "words.duckdb"
    if how == "default":
        owner.execute("SET default_collation = 'nocase'")
    return owner


@pytest.mark.parametrize("how", ["file", "connection", "default"])
def test_a_collation_of_the_owner_does_not_let_one_row_name_a_key(tmp_path: Path, how: str) -> None:
    """Grouped without case, the key of 201 rows would be spelled as whichever row came first."""
    source = collated(tmp_path, how)
    with opened(source, tmp_path, table="words", name="words") as session:
        assert found(session, "word") == {"word": 200}
        assert session.histogram("word", keys=["word", "WORD", "Word"], noise=NOISE).value == [200, 1, 0]
        assert session.count(where="word = 'Word'", noise=NOISE).value == 0
        assert session.count(where="word IN ('Word', 'WORD')", noise=NOISE).value == 1
        with_place = session.histogram(
            "word", "n", keys={"word": ["Word", "word"], "n": "discover"}, noise=NOISE, delta="1e-6"
        )
        assert with_place.keys == [("word", 1)]
    (tmp_path / "persons").mkdir()
    persons: dict[str, Any] = {"name": "w2", "unit": "who", "max_rows": 1, "same_data": False}
    with opened(source, tmp_path / "persons", table="words", **persons) as session:
        assert session.count_distinct(noise=NOISE).value == 197
        assert session.count(noise=NOISE).value == 197
    if not isinstance(source, Path):
        source.close()


POSTGRES = {
    "CHAR(8)": ["a", "a  ", "A", "b"],
    'TEXT COLLATE "C"': ["a", "A", "b"],
    "VARCHAR(10)": ["a", "a ", "A"],
    "NAME": ["a", "A"],
    "mood": ["sad", "Sad"],
    "short": ["a", "A"],
    "UUID": ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-00000000000A"],
}


@pytest.mark.parametrize("type_", POSTGRES)
def test_a_type_of_the_server_merges_no_keys_and_no_persons(
    type_: str, postgres_url: str, tmp_path: Path
) -> None:
    given = POSTGRES[type_]
    with psycopg.connect(postgres_url, autocommit=True) as server:
        # A collation that ignores case needs a server with ICU, which this one is not.
        server.execute("CREATE TYPE mood AS ENUM ('sad', 'Sad'); CREATE DOMAIN short AS VARCHAR(3)")
        server.execute(f"CREATE TABLE t (key {type_}, who {type_})")
        for number, text in enumerate(given):
            times = ROWS_EACH + number
            insert = f"INSERT INTO t SELECT CAST(%s AS {_plain(type_)}), CAST(%s AS {_plain(type_)}) "
            server.execute(insert + f"FROM generate_series(1, {times})", (text, text))
    # A CHAR(n) has no trailing spaces: the server itself takes 'a' and 'a  ' for one value.
    as_seen = [text.lower() if type_ == "UUID" else text for text in given]
    as_seen = [text.rstrip() if type_ == "CHAR(8)" else text for text in as_seen]
    expected: dict[str, int] = {}
    for number, text in enumerate(as_seen):
        expected[text] = expected.get(text, 0) + ROWS_EACH + number
    with opened(postgres_url, tmp_path, table="t") as session:
        assert found(session, "key") == expected
        assert session.histogram("key", keys=list(expected), noise=NOISE).value == list(expected.values())
    (tmp_path / "persons").mkdir()
    with opened(postgres_url, tmp_path / "persons", table="t", unit="who", max_rows=2) as session:
        assert session.count_distinct(noise=NOISE).value == len(expected)
        assert session.count(noise=NOISE).value == 2 * len(expected)


def _plain(type_: str) -> str:
    return type_.split(" COLLATE")[0]


def test_what_no_query_can_name_is_one_missing_key_or_none(tmp_path: Path) -> None:
    """Integers beyond 64 bits and days beyond a calendar's are missing, in one cell; NUL texts have none."""
    with duckdb.connect() as owner:
        owner.execute("CREATE TABLE t (big HUGEINT, day DATE, word VARCHAR)")
        for big, day in (
            ("170141183460469231731687303715884105727", "infinity"),
            ("-9223372036854775808", "-infinity"),
            ("9223372036854775808", "300000-01-01"),
            ("NULL", "0044-03-15 (BC)"),
        ):
            owner.execute(f"INSERT INTO t SELECT {big}, '{day}', 'a' || chr(0) FROM range(30)")
        owner.execute("INSERT INTO t SELECT 7, '2024-01-31', 'a' FROM range(30)")
        with opened(owner, tmp_path, table="t", name="t") as session:
            assert found(session, "big") == {7: 30, None: 120}
            assert {str(day): n for day, n in found(session, "day").items()} == {
                "2024-01-31": 30,
                "None": 120,
            }
            assert found(session, "word") == {"a": 30}
