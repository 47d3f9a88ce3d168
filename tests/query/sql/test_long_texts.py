"""The longest texts are read in time, whatever their parts repeat and however wide the table is."""

from __future__ import annotations

import pickle
from contextlib import suppress

import pytest

from call_counts import calls_of
from dovetail.errors import InvalidQuery, UnsupportedSQL
from dovetail.query import Column, Schema
from dovetail.query.condition import checked
from dovetail.query.sql import read_select, tokens
from dovetail.query.sql.tokens import DEEPEST, DEEPEST_CASE, LONGEST_TEXT
from dovetail.query.sql.where import read_where

TABLE = Schema([Column("a", "integer", low=0, high=9), Column("s", "text", values=["F", "M"])]).table()


def read(place: str, text: str) -> None:
    with suppress(InvalidQuery):
        read_where(text, TABLE) if place == "where" else read_select(text, TABLE)


# Long texts whose parts stand inside of one another: 0.2 s are a million calls. They took up to six millions,
# and a WHERE of 150 aggregates took ten millions.
MOST_CALLS = 750_000
LIST = " OR ".join(f"a = {number}" for number in range(970))
CASES = "CASE WHEN " * DEEPEST_CASE + LIST + " THEN 1 END = 1" * DEEPEST_CASE


def enclosed(start: str) -> str:
    """Return a long list in as many joins as may enclose it, each with a comparison more."""
    text = LIST
    for level in range(DEEPEST - 1):
        text = f"{start}(s = 'F' {('AND', 'OR')[level % 2]} {text})"
    return text


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("where", "NOT " * DEEPEST + f"({LIST})"),
        ("where", enclosed("")),
        ("sql", f"SELECT COUNT(*) FROM data WHERE {enclosed('NOT ')}"),
        ("sql", f"SELECT COUNT(*) FROM data WHERE {CASES}"),
        ("sql", f"SELECT {CASES.removesuffix(' = 1')} AS n, COUNT(*) FROM data GROUP BY 1"),
    ],
    ids=["NOT", "joins", "denied joins", "cases", "grouped cases"],
)
def test_a_long_text_in_many_levels_is_read_in_time(place: str, text: str) -> None:
    assert len(text) < LONGEST_TEXT
    TABLE.conditions.clear()
    assert tokens.tokens_of(text)
    assert calls_of(lambda: read(place, text), MOST_CALLS) < MOST_CALLS


WIDE = Schema(
    [
        *(Column(f"c{number}", "integer", low=0, high=9) for number in range(2000)),
        Column("x", "number", low=0, high=9, step="0.1"),
        Column("code", "text", values=[f"v{number}" for number in range(50_000)]),
    ]
)
QUANTILES = ", ".join(f"PERCENTILE_CONT(0.{q:03d}) WITHIN GROUP (ORDER BY x) AS p{q}" for q in range(1, 151))
LONG = {
    "aggregates of many comparisons": f"SELECT {QUANTILES} FROM data WHERE "
    + " AND ".join(f"x <> {number}.5" for number in range(130)),
    "aggregates of a long list": f"SELECT {QUANTILES} FROM data WHERE "
    + f"x IN ({', '.join(f'{number}.5' for number in range(1500))})",
    "names in capitals": "SELECT COUNT(*) FROM data WHERE "
    + " OR ".join(f"C{number} = 1" for number in range(1000)),
    "values of a long code book": "SELECT COUNT(*) FROM data WHERE "
    + " OR ".join(f"code = 'v{50_000 - number}'" for number in range(1, 900)),
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_text_about_a_wide_table_is_read_in_time(text: str) -> None:
    """They took up to ten million calls: each aggregate checked the WHERE anew, each name met all columns."""
    assert tokens.tokens_of(text)
    table = WIDE.table()

    def asked() -> None:
        with suppress(InvalidQuery):
            read_select(text, table)

    assert calls_of(asked, MOST_CALLS) < MOST_CALLS


def test_a_declared_value_is_found_without_a_look_at_all_others() -> None:
    """A call counts as one however many values it compares, so the comparisons are counted here."""
    compared = 0

    class Counted(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    table = Schema([Column("code", "text", values=[f"v{number}" for number in range(5000)])]).table()
    field = table.field("code")
    for number in range(4000, 4100):
        assert table.constant(field, Counted(f"v{number}")) == f"v{number}"
    assert compared < 500


def test_a_condition_of_many_comparisons_is_not_repeated_for_many_aggregates() -> None:
    few = "SELECT " + QUANTILES.partition(", PERCENTILE_CONT(0.025)")[0]
    where = " FROM data WHERE " + " OR ".join(f"x = {number}" for number in range(700))
    assert read_select(few + where, WIDE.table()).queries
    with pytest.raises(UnsupportedSQL, match=r"more than 20,000 comparisons\. Use IN \(\.\.\.\)"):
        read_select("SELECT " + QUANTILES.partition(", PERCENTILE_CONT(0.030)")[0] + where, WIDE.table())


def test_a_condition_is_checked_again_by_every_other_table() -> None:
    """A column of another table may have the same name and another type."""
    numbers, texts = (Schema([Column("a", kind)]).table() for kind in ("integer", "text"))
    known = read_where("a = 1", numbers)
    assert checked(known, numbers) is known
    with pytest.raises(InvalidQuery, match="cannot be compared with a, whose type is text"):
        checked(known, texts)
    copied = pickle.loads(pickle.dumps(known))
    assert copied == known
    assert checked(copied, numbers) is not copied


def test_a_case_in_many_others_is_refused() -> None:
    assert read_where(CASES, TABLE)
    with pytest.raises(InvalidQuery, match="CASE is nested deeper than 2 levels"):
        read_where("CASE WHEN " * 3 + "a = 1" + " THEN 1 END = 1" * 3, TABLE)
