"""What is kept of a person: the same in every engine, whoever else is there and however rows are ordered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from hashlib import md5, sha256
from math import ceil, floor
from typing import Any, NamedTuple

import pyarrow
import pytest

from dovetail.engines import Engine, Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.query import Column, Count, CountDistinct, Histogram, Linear, Mean, Schema, Sum
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.neighbours import Persons
from engine_tables import Opener

SECRET = bytes(range(32))
PRIME = 2**30 - 35
WORDS = ["flu", "cold", "Ärger", "a|b", "3:a", "", None]
DAYS = [date(2024, 1, 31), date(1969, 7, 20), None]
SCHEMA = Schema([Column("word", "text", values=WORDS, other="?")])
TYPES = {
    "person": pyarrow.int64(),
    "name": pyarrow.string(),
    "word": pyarrow.string(),
    "day": pyarrow.date32(),
    "known": pyarrow.bool_(),
    "age": pyarrow.int32(),
    "weight": pyarrow.float64(),
}
Row = dict[str, Any]


def row(number: int) -> Row:
    """Return one of many rows, spread by a fixed rule; some persons have one row, some dozens."""
    mixed = int.from_bytes(sha256(str(number).encode()).digest()[:8], "big")
    who = (mixed % 7) * (mixed // 7 % 5)
    return {
        "person": None if mixed % 11 == 0 else who,
        "name": None if mixed % 11 == 0 else f"Zoë|{who}",
        "word": [*WORDS, "else"][mixed // 100 % 8],
        "day": DAYS[mixed // 1000 % 3],
        "known": [True, False, None][mixed // 10_000 % 3],
        "age": [None, 5, 17, 40, 90, 200][mixed // 100_000 % 6],
        "weight": [None, 1.25, -3.5, 80.0][mixed // 1_000_000 % 4],
    }


ROWS = [row(number) for number in range(300)]


class Seen(NamedTuple):
    """What a question sees of a row: the labels of its cell, its content without the value, its value."""

    cell: tuple[Any, ...] = ()
    content: tuple[Any, ...] = ()
    value: int | None = None


def word(r: Row) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Return the label of a word's cell and its two columns: an unlisted word is NULL, but not missing."""
    listed = r["word"] in WORDS
    return (r["word"] if listed else "?",), (r["word"] if listed else None, r["word"] is None)


def age_bin(r: Row) -> int | None:
    return None if r["age"] is None or r["age"] >= 100 else sum(r["age"] >= edge for edge in (18, 65))


def on_lattice(number: float | None, low: int, high: int, step: float) -> int | None:
    return None if number is None else min(max(floor(number / step + 0.5), low), high)


def valued(cell: tuple[Any, ...], content: tuple[Any, ...], value: int | None) -> Seen | None:
    return None if value is None else Seen(cell, content, value)


BINS = ["[0, 18)", "[18, 65)", "[65, 100)"]
CASES: list[tuple[Any, Callable[[Row], Seen | None]]] = [
    (Count(), lambda r: Seen()),
    (Count("age > 10"), lambda r: Seen() if (r["age"] or 0) > 10 else None),
    (Histogram("word"), lambda r: Seen(*word(r))),
    (Histogram("day", keys=DAYS), lambda r: Seen((r["day"],), (r["day"],))),
    (
        Histogram("known", "age", keys={"known": [True, None]}, bins={"age": [0, 18, 65, 100]}),
        lambda r: (
            None
            if age_bin(r) is None or r["known"] is False
            else Seen((r["known"], BINS[age_bin(r) or 0]), (r["known"], age_bin(r)))
        ),
    ),
    (Sum("age", low=0, high=100, step=1), lambda r: valued((), (), on_lattice(r["age"], 0, 100, 1))),
    (
        Sum("weight", low=-2, high=50, step="0.25", by=("word",)),
        lambda r: valued(*word(r), on_lattice(r["weight"], -8, 200, 0.25)),
    ),
    (
        Mean("age", low=10, high=100, step=5, by=("day",), keys=DAYS, where="known"),
        lambda r: (
            valued((r["day"],), (r["day"],), on_lattice(r["age"], 2, 20, 5)) if r["known"] is True else None
        ),
    ),
    (CountDistinct(), lambda r: Seen()),
    (CountDistinct("word", where="age IS NOT NULL"), lambda r: Seen(*word(r)) if r["age"] else None),
]
BOUNDS = [("person", 3, 3), ("name", 4, 2), ("person", 1, 1)]


def arrow(rows: list[Row]) -> pyarrow.Table:
    return pyarrow.table({k: pyarrow.array([r[k] for r in rows], type_) for k, type_ in TYPES.items()})


def asked(engine: Engine, query: Any, unit: str, rows: int, cells: int) -> CheckedQuery:
    table = SCHEMA.table(engine.columns())
    return replace(query.checked(table), persons=Persons(table.field(unit), rows, cells))


def start(kind: str, person: Any) -> int:
    """Return where counting starts for a person, as `bounding.py` describes it."""
    key = sha256(f"bounding {kind} ".encode() + SECRET)
    if isinstance(person, str):
        text = f"{key.hexdigest()[:32]}|{person}"
        return int(md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16)
    factor, shift = int.from_bytes(key.digest()[:16]), int.from_bytes(key.digest()[16:])
    return (factor * person + shift) % PRIME


def counted_off(kind: str, person: Any, listed: list[Any], most: int) -> list[Any]:
    """Return the members of a list in order at which the whole part of (i·most + start)/n steps up."""
    begin, n = start(kind, person) % len(listed), len(listed)
    places = range(1, n + 1)
    kept = [i for i in places if (i * most + begin) // n > ((i - 1) * most + begin) // n]
    return listed if n <= most else [listed[i - 1] for i in kept]


def in_order(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Order contents by code point, day and number, what is missing last."""
    return tuple((value is None, value) for value in values)


def kept(person: Any, rows: list[Seen], most_rows: int, most_cells: int, distinct: bool) -> list[Seen]:
    """Choose what is kept of one person, row by row, as the module says."""
    cells = sorted({seen.content for seen in rows}, key=in_order)
    cells = counted_off("cell", person, cells, most_cells)
    if distinct:
        return [Seen(next(seen.cell for seen in rows if seen.content == cell)) for cell in cells]
    if most_cells < most_rows:
        rows = [seen for seen in rows if seen.content in cells]
    return counted_off("row", person, sorted(rows, key=lambda s: in_order((*s.content, s.value))), most_rows)


def expected(query: Any, look: Callable[[Row], Seen | None], question: CheckedQuery) -> list[tuple[int, ...]]:
    """Return the components of every cell from what is kept of each person."""
    assert question.persons is not None
    persons = defaultdict(list)
    for each in ROWS:
        seen = look(each)
        if seen is not None and each[question.persons.unit.name] is not None:
            persons[each[question.persons.unit.name]].append(seen)
    found: dict[Any, list[Seen]] = defaultdict(list)
    for person, rows in persons.items():
        limits = question.persons.max_rows, question.persons.max_cells
        for seen in kept(person, rows, *limits, isinstance(query, CountDistinct)):
            found[seen.cell].append(seen)
    if isinstance(query, Mean):
        # The centred sum: 2x - low - high, in steps.
        listed = [[2 * (s.value or 0) - 22 for s in found[cell]] for cell in question.cell_keys()]
        return [(sum(values), len(values)) for values in listed]
    if isinstance(query, Sum):
        return [(sum(s.value or 0 for s in found[cell]),) for cell in question.cell_keys()]
    return [(len(found[cell]),) for cell in question.cell_keys()]


@pytest.fixture(scope="module")
def visits(opened: Opener) -> Engine:
    return opened(arrow(ROWS))


@pytest.mark.parametrize(("unit", "rows", "cells"), BOUNDS)
@pytest.mark.parametrize(("query", "look"), CASES, ids=[str(query)[:60] for query, _ in CASES])
def test_every_engine_keeps_the_rows_that_the_key_chooses(
    visits: Engine, query: Any, look: Callable[[Row], Seen | None], unit: str, rows: int, cells: int
) -> None:
    question = asked(visits, query, unit, rows, cells)
    assert true_cells(visits, question, SECRET) == expected(query, look, question)


def test_weights_count_kept_rows_whatever_their_cells(visits: Engine) -> None:
    query = Linear("word", {"flu": 1, "cold": -1, None: "0.5"}, step="0.5")
    question = asked(visits, query, "person", 2, 1)
    ((total,),) = true_cells(visits, question, SECRET)
    weights = {"flu": 2, "cold": -2, None: 1}
    persons = defaultdict(list)
    for each in ROWS:
        if each["word"] in weights and each["person"] is not None:
            persons[each["person"]].append(Seen((), (each["word"],)))
    chosen = [seen for person, rows in persons.items() for seen in kept(person, rows, 2, 2, False)]
    assert total == sum(weights[seen.content[0]] for seen in chosen)


@pytest.mark.parametrize("query", [query for query, _ in CASES], ids=str)
def test_the_order_of_rows_changes_nothing_and_another_key_changes_the_choice(query: Any) -> None:
    answers = []
    for rows in (ROWS, ROWS[::-1], sorted(ROWS, key=lambda r: str(r["word"]))):
        engine = connect(Source.of(arrow(rows), name="visits"))
        question = asked(engine, query, "person", 4, 2)
        answers.append(true_cells(engine, question, SECRET))
    assert answers[0] == answers[1] == answers[2]
    other = true_cells(engine, question, b"another")
    if isinstance(query, Count) or query == CountDistinct():
        assert other == answers[0]
    else:
        assert other != answers[0]


@pytest.mark.parametrize("secret", [SECRET, b"another", b"third"])
@pytest.mark.parametrize("kind", ["numbers", "numbers below zero", "texts"])
def test_every_row_of_a_person_is_as_likely_to_be_kept(kind: str, secret: bytes) -> None:
    """Persons with one row in cell 0 and three alike in cell 1: a quarter of what is kept is in cell 0."""
    ids: list[Any] = [-p if kind == "numbers below zero" else p for p in range(4000) for _ in range(4)]
    ids = [f"p{p}" for p in ids] if kind == "texts" else ids
    table = pyarrow.table({"person": ids, "k": [0, 1, 1, 1] * 4000})
    engine = connect(Source.of(table, name="even"))
    known = Schema().table(engine.columns())
    question = Histogram("k", keys=[0, 1]).checked(known)
    question = replace(question, persons=Persons(known.field("person"), 1, 1))
    (zero,), (one,) = true_cells(engine, question, secret)
    assert zero + one == 4000
    assert abs(zero - 1000) < 6 * (4000 * 0.25 * 0.75) ** 0.5


@pytest.mark.parametrize(("rows", "most"), [(n, k) for n in (1, 2, 5, 12, 97) for k in (1, 2, 5, 11, 100)])
def test_exactly_the_bound_is_kept_and_equal_rows_in_proportion(rows: int, most: int) -> None:
    persons = [-(2**62) - 1, -1, 0, 7, 2**30 - 35, 2**63 - 1]
    table = pyarrow.table(
        {
            "person": [p for p in persons for _ in range(rows)],
            "k": [n % 3 for _ in persons for n in range(rows)],
        }
    )
    engine = connect(Source.of(table, name="bound"))
    known = Schema().table(engine.columns())
    question = Histogram("k", keys=[0, 1, 2]).checked(known)
    for person in persons:
        only = Count(f"person = {person}").checked(known).where
        asked_of_one = replace(question, where=only, persons=Persons(known.field("person"), most, most))
        kept_here = [cell for (cell,) in true_cells(engine, asked_of_one, SECRET)]
        assert sum(kept_here) == min(rows, most)
        for cell, number in enumerate(kept_here):
            share = len(range(cell, rows, 3)) * min(most, rows) / rows
            assert floor(share) <= number <= ceil(share)


def test_one_person_with_very_many_rows_is_one_person() -> None:
    table = pyarrow.table({"person": [1] * 100_000 + [2], "k": [n % 100 for n in range(100_001)]})
    engine = connect(Source.of(table, name="heavy"))
    known = Schema().table(engine.columns())
    for query, most in ((Count(), 5), (Histogram("k", keys=list(range(100))), 5), (CountDistinct(), 1)):
        question = replace(query.checked(known), persons=Persons(known.field("person"), 5, 3))
        assert sum(cell[0] for cell in true_cells(engine, question, SECRET)) == most + 1
