"""Any text is understood or refused in time that grows no faster than the text, and is never printed."""

from __future__ import annotations

import json
import logging
from contextlib import suppress

import pytest
from sqlglot import parse
from sqlglot.tokens import Tokenizer

from call_counts import calls_of
from dovetail.errors import DovetailError, InvalidQuery, UnsupportedSQL
from dovetail.query import Column, Lookup, Schema
from dovetail.query.sql import joins, read_select, tokens
from dovetail.query.sql.tokens import DEEPEST, LONGEST_TEXT, MOST_TOKENS, MOST_WORDS
from dovetail.query.sql.where import read_derived, read_where

TABLE = Schema(
    [
        Column("a", "integer", low=0, high=9),
        Column("s", "text", values=["F", "M"]),
        Column("d", "date", low="2024-01-01", high="2024-12-31"),
    ],
    lookups=[Lookup("looked", {"key": ["F", "M"], "word": ["x", "y"]}, key="key", on="s")],
).table()
# What a parser of SQL is slow at when it is repeated; the first ones took exponential time.
UNITS = [
    "JOIN t ",
    "STRAIGHT_JOIN t ",
    "LIMIT a(",
    "a(",
    "CROSS APPLY t ",
    "LATERAL VIEW t ",
    "NATURAL LEFT OUTER ",
    ", t ",
    "(SELECT ",
    "(SELECT 1 FROM ",
    "UNION SELECT 1 ",
    "WITH a AS (",
    "CASE WHEN ",
    "CAST(",
    "a AS (",
    "COUNT(",
    "SUM(a) OVER (",
    "EXISTS (",
    "a IN (",
    "a NOT IN (a ",
    "a BETWEEN ",
    "a = ANY (",
    "a IS NOT ",
    "a IS DISTINCT FROM ",
    "INTERVAL '1' ",
    "EXTRACT(a FROM ",
    "ARRAY<",
    "STRUCT<a ",
    "MAP<a, ",
    "DECIMAL(",
    "a::",
    "a.",
    "a[",
    "[",
    "{",
    "{'a': ",
    "a -> ",
    "(a, ",
    "(",
    ")",
    "- ",
    "NOT ",
    "~ ",
    "'' ",
    "a b ",
    "a COLLATE ",
    "AT TIME ZONE ",
    "LIKE ESCAPE ",
    "PIVOT(",
    "MATCH_RECOGNIZE(",
    "VALUES (",
    "TABLE ",
    "GROUP BY ",
    "GROUPING SETS (",
    "ORDER BY a ",
    "FOR UPDATE ",
    "QUALIFY ",
    "WINDOW w AS (",
    "PARTITION BY ",
    "FETCH FIRST ",
    "@",
    ":a ",
    "? ",
    "$1 ",
    "/* ",
    "-- ",
    "; ",
    "\n",
    "a = 1 AND ",
    "d.month = 1 AND ",
    "looked.word = 'x' OR ",
    "CASE WHEN a = 1 THEN 1 END = 1 AND ",
    "FLOOR(a / 2) * 2 = 2 AND ",
    "FLOOR(a / 2) * 2, ",
    "LEFT JOIN looked ON s = looked.key ",
    "LEFT JOIN looked ON (s = ",
    "COUNT(*) + ",
    "SUM(a) / SUM(a), ",
    "HAVING COUNT(*) > 1 ",
    "DATE_TRUNC('month', d), ",
    "(a = 1 OR ",
    # Further families: negations, casts, lists, window words, letters beyond ASCII, JSON, hints, numbers.
    "NOT (a = 1 AND ",
    "CASE a WHEN 1 THEN ",
    "CASE WHEN a = 1 THEN 1 ELSE ",
    "a[1:2] ",
    '"a" = 1 AND ',
    "`a` ",
    "$$ ",
    "/**/ ",
    "/*+ x */ ",
    "a::INT = 1 AND ",
    "TRY_CAST(a AS ",
    "a BETWEEN 1 AND 2 AND ",
    "a NOT BETWEEN 1 AND ",
    "a IN (1, 2) OR ",
    "a IN ((",
    "ROWS BETWEEN ",
    "FILTER (WHERE ",
    "WITHIN GROUP (ORDER BY ",
    "\u00e9 = 1 AND ",
    "\U0001f600 ",
    "a = 1e9 OR ",
    "0x1 ",
    "INTERVAL '1' DAY + ",
    "LATERAL (",
    "a -> 'b' -> ",
    "a #> ",
    "JSON_OBJECT('a': ",
    "x -> x + ",
    "COALESCE(",
    "TRIM(BOTH ",
    "UNNEST(",
    "* EXCEPT (",
    "CUBE(",
    "CONNECT BY PRIOR ",
]
PLACES = [
    ("where", ""),
    ("where", "a = 1 "),
    ("sql", "SELECT "),
    ("sql", "SELECT COUNT(*) FROM data "),
    ("sql", "SELECT COUNT(*) FROM data WHERE "),
    ("sql", "SELECT COUNT(*) FROM data GROUP BY "),
    ("sql", "SELECT COUNT(*) FROM data HAVING "),
    ("sql", "SELECT COUNT(*) FROM data ORDER BY "),
    ("derived", ""),
    ("derived", "CASE WHEN "),
]


def read(place: str, text: str) -> None:
    readers = {"where": read_where, "derived": read_derived, "sql": read_select}
    with suppress(InvalidQuery):
        readers[place](text, TABLE)


# On the machine of 2026 a call takes about 0.2 microseconds: 6,000 tokens of 150 calls take less than 0.2 s.
CALLS_PER_TOKEN = 150


@pytest.mark.parametrize("unit", UNITS)
def test_no_repetition_costs_more_than_its_length(unit: str) -> None:
    for place, start in PLACES:
        for end in ("", "a = 1" + ")" * (DEEPEST * unit.count("("))):
            text = start + unit * DEEPEST + end
            most = CALLS_PER_TOKEN * (len(text) + 20)
            assert calls_of(lambda text=text, place=place: read(place, text), most) <= most, (
                place,
                text[:60],
            )  # type: ignore[misc]


def test_a_negation_of_joins_reads_as_its_comparisons_do() -> None:
    denied = read_where("NOT (a = 1 AND (NOT s = 'F' OR NOT (d.month = 1 AND a IN (2, 3))))", TABLE)
    assert denied == read_where("a <> 1 OR (s = 'F' AND d.month = 1 AND a IN (2, 3))", TABLE)
    assert json.loads(denied.text) == denied.to_dict()


def test_the_count_of_calls_sees_a_parser_that_goes_back_and_forth() -> None:
    text = "SELECT COUNT(*) FROM t" + " JOIN t" * 16
    most = CALLS_PER_TOKEN * (len(text) + 20)
    assert calls_of(lambda: parse(text), most) > most


@pytest.mark.parametrize("place", ["where", "sql"])
def test_every_word_that_the_parser_knows_can_be_repeated(place: str) -> None:
    start = "" if place == "where" else "SELECT COUNT(*) FROM data WHERE "
    for word in Tokenizer.KEYWORDS:
        text = start + f"{word} " * 12
        most = CALLS_PER_TOKEN * (len(text) + 20)
        assert calls_of(lambda text=text: read(place, text), most) <= most, word  # type: ignore[misc]


def test_what_the_parser_takes_many_steps_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "JOINS", ())
    monkeypatch.setattr(joins, "JOINS", ())
    with pytest.raises(UnsupportedSQL, match="too complex to be read"):
        read_select("SELECT COUNT(*) FROM data" + " JOIN data" * 18, TABLE)


def test_joins_are_refused_by_name_before_they_are_parsed() -> None:
    for word in ("JOIN", "STRAIGHT_JOIN", "left outer join"):
        with pytest.raises(UnsupportedSQL, match=r"JOIN cannot be answered\. Join the tables beforehand"):
            read_select(f"SELECT COUNT(*) FROM data {word} data", TABLE)
        with pytest.raises(InvalidQuery, match="JOIN cannot be answered"):
            read_where(f"a = 1 {word} t", TABLE)


def test_length_and_depth_have_limits_that_are_told() -> None:
    assert read_where("(" * DEEPEST + "a = 1" + ")" * DEEPEST, TABLE)
    with pytest.raises(InvalidQuery, match="nested deeper than 20"):
        read_where("(" * (DEEPEST + 1) + "a = 1" + ")" * (DEEPEST + 1), TABLE)
    with pytest.raises(InvalidQuery, match="nested deeper than 20"):
        read_where("NOT " * (DEEPEST + 1) + "a = 1", TABLE)
    longest = (MOST_TOKENS - 4) // 2
    assert read_where(f"a IN ({', '.join(map(str, range(longest)))})", TABLE)
    with pytest.raises(InvalidQuery, match="more than 6,000 words and signs"):
        read_where(f"a IN ({','.join(['1'] * (longest + 2))})", TABLE)
    compared = " OR ".join(["a = 1"] * (MOST_WORDS // 3))
    assert read_where(compared, TABLE)
    with pytest.raises(
        InvalidQuery, match=r"more than 3,100 words and signs .* Use IN \(\.\.\.\) for a list"
    ):
        read_where(compared + " OR a = 1", TABLE)
    with pytest.raises(InvalidQuery, match="at most 20000 characters"):
        read_where("a = 1 " + " " * LONGEST_TEXT, TABLE)


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE hush ADD SOMETHING odd",
        "CREATE hush hush hush",
        "ANALYZE hush hush",
        "SHOW hush",
        "SET hush hush",
        "EXPLAIN hush hush",
        "hush -> '$[[hush'",
        "JSON_EXTRACT(hush, '$[[hush') = 1",
        "TRY_CAST(hush AS INT) = 1",
        "hush SIMILAR TO 'hush'",
        "GRANT hush TO hush hush",
        "COPY hush hush hush hush",
    ],
)
def test_an_analysts_text_is_never_printed_or_logged(
    text: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG):
        for place, start in PLACES:
            with suppress(DovetailError):
                read(place, start + text)
    assert caplog.text == ""
    assert capfd.readouterr() == ("", "")


def test_what_a_derived_column_stands_for_is_not_spelled_without_end() -> None:
    lookup = Lookup("big", {"k": [f"k{n}" for n in range(2000)], "v": ["a", "b"] * 1000}, key="k", on="s")
    table = Schema([Column("s", "text"), Column("a", "integer", low=0, high=99)], lookups=[lookup]).table()
    assert read_where("big.v = 'a' OR big.v IS NULL", table)
    with pytest.raises(InvalidQuery, match="derived columns too often"):
        read_where(" OR ".join(["big.v = 'a'"] * 9), table)
    branches = " ".join(f"WHEN big.v = 'a' AND a = {n} THEN {n}" for n in range(9))
    with pytest.raises(UnsupportedSQL, match="too complex"):
        read_select(f"SELECT COUNT(*) FROM data GROUP BY CASE {branches} END", table)
    many = ", ".join(f"SUM(CASE WHEN a = {n} THEN 1 ELSE 0 END) AS s{n}" for n in range(151))
    with pytest.raises(UnsupportedSQL, match="More than 150 different aggregates"):
        read_select(f"SELECT {many} FROM data", table)
    keys = ", ".join(f"FLOOR(a / {n}) * {n}" for n in range(1, 40))
    with pytest.raises(UnsupportedSQL, match="at most 32 columns"):
        read_select(f"SELECT COUNT(*) FROM data GROUP BY {keys}", table)
