"""What persons contribute: every neighbour of tiny tables against the price, and the tally on each engine."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path

import pyarrow
import pytest

import dovetail as dv
from dovetail.engines import Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.noise import Geometric
from dovetail.pricing.composition import charge_of
from dovetail.query import Column, Contributions, Schema
from dovetail.query.canonical_form import read_question
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import Field
from dovetail.query.neighbours import Neighbours, Persons

SCHEMA = Schema([Column("id", "text"), Column("ward", "text", values=["x", "y", "z"])])
# What a person may have: up to three rows, also in a ward that nobody declared.
HELD = [rows for many in range(4) for rows in combinations_with_replacement(["x", "y", "z", "else"], many)]


def question(most_rows: int, most_cells: int | None, columns: tuple[str, ...] = ("ward",)) -> CheckedQuery:
    asked = Contributions(columns, most_rows, most_cells).checked(SCHEMA.table())
    persons = asked.measure.tallied(Persons(Field("id", "text"), 0, 0))
    return CheckedQuery(asked.measure, (), None, persons)


def tally(held: list[tuple[str, ...]], most_rows: int, most_cells: int) -> list[int]:
    """Count persons by hand."""
    counts = [0] * (most_rows + most_cells)
    for rows in held:
        used = [ward for ward in rows if ward != "else"]
        if used:
            counts[min(len(used), most_rows) - 1] += 1
            counts[most_rows + min(len(set(used)), most_cells) - 1] += 1
    return counts


def in_engine(held: list[tuple[str, ...]], asked: CheckedQuery) -> list[int]:
    rows = [(f"p{person}", ward) for person, wards in enumerate(held) for ward in wards]
    rows += [(None, "x")] * 2  # rows of nobody
    table = pyarrow.table({"id": pyarrow.array([r[0] for r in rows], "string"), "ward": [r[1] for r in rows]})
    engine = connect(Source.of(table, name="t", schema=SCHEMA))
    try:
        (found,) = true_cells(engine, asked)
        return list(found)
    finally:
        engine.close()


def test_whose_cells_are_not_counted_has_one() -> None:
    for cells, columns, most in ((2, ("ward",), 2), (None, (), 1)):
        persons = question(4, cells, columns).persons
        assert persons == Persons(Field("id", "text"), 4, most)


def test_the_engine_counts_as_by_hand() -> None:
    asked = question(2, 2)
    for held in ([], [("x",)], [("x", "x", "y")] * 2 + [("else",)], [("x", "y", "z"), ("z",), ("y", "y")]):
        assert in_engine(held, asked) == tally(held, 2, 2), held
    plain = question(3, None, ())
    assert in_engine([("x", "else"), ("y", "y", "y", "y")], plain) == [0, 1, 1]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("most_rows", "most_cells"), [(1, 1), (2, 2), (3, 1), (3, 3)])
def test_no_neighbour_moves_more_than_is_charged_and_one_moves_all_of_it(
    neighbours: Neighbours, most_rows: int, most_cells: int
) -> None:
    asked = question(most_rows, most_cells)
    each = 1 if neighbours == "add-remove" else 2
    furthest: Counter[str] = Counter()
    for old, new in product(HELD, [()] if neighbours == "add-remove" else HELD):
        before, after = (tally([held], most_rows, most_cells) for held in (old, new))
        moved = [abs(one - other) for one, other in zip(before, after, strict=True)]
        assert max(moved, default=0) <= 1
        rows, cells = sum(moved[:most_rows]), sum(moved[most_rows:])
        assert rows <= min(each, most_rows)
        assert cells <= min(each, most_cells)
        furthest["both"] = max(furthest["both"], rows + cells)
    # The worst case of geometric noise is its rate times all that moves.
    price = charge_of([asked], [[Geometric("0.1")] * 2], neighbours)
    bound = min(each, most_rows) + min(each, most_cells)
    assert price.epsilon == bound * Decimal("0.1")
    # Where there are two counts of each, some replacement moves two of each; a price that forgets the
    # cells, or the person who comes, would be too low.
    assert furthest["both"] == bound or min(most_rows, most_cells) == 1
    if neighbours == "add-remove" or min(most_rows, most_cells) > 1:
        assert furthest["both"] == bound


def test_the_question_is_read_back_and_is_the_same_whatever_the_session_uses(tmp_path: Path) -> None:
    asked = question(5, 2)
    assert read_question(asked.to_dict()) == asked
    assert asked.measure.words() == "rows per person, and cells by ward"
    assert question(5, None, ()).measure.words() == "rows per person"
    table = pyarrow.table({"id": ["a", "a", "b"], "ward": ["x", "y", "x"]})
    place, budget = tmp_path / "t.ledger", dv.Budget.pure(9)
    given = {"name": "t", "schema": SCHEMA, "ledger": place, "unit": "id"}
    with dv.Session(table, budget=budget, **given) as session:
        first = session.contributions("ward", most_rows=5, noise=Geometric(1))
        with pytest.raises(dv.InvalidParameter, match="max_rows"):
            session.count(noise=Geometric(1))
    with dv.Session(table, **given, max_rows=3) as session:
        again = session.contributions("ward", most_rows=5, noise=Geometric(1))
        assert again.stored
        assert again.cells == first.cells
        assert session.count(noise=Geometric(1)).charge.epsilon == 1


def test_intervals_of_all_counts_hold_at_once() -> None:
    """Five counts in each of four cells: the chance that all of them hold, straight from its law."""
    asked, noises, level = question(3, 2).measure, [Geometric("0.5"), Geometric("0.3")], Fraction(9, 10)
    cells = [(9, 8, 7, 6, 5)] * 4
    bars, alone = (asked.intervals(cells, noises, 1 - level, way) for way in (True, False))
    assert [(bar.low + bar.high) / 2 for bar in bars] == [9, 8, 7, 6, 5] * 4
    held = 1.0
    for bar, single, noise in zip(bars, alone, ([noises[0]] * 3 + [noises[1]] * 2) * 4, strict=True):
        half, own = float(bar.high - bar.low) / 2, float(single.high - single.low) / 2
        held *= float(noise.within(half))
        assert float(noise.within(own)) >= level > float(noise.within(own - 1))
    assert held >= level
    # A union bound wastes little: with a count more, or of half the chance, it would be less.
    assert 20 * (1 - float(noises[0].within(float(bars[0].high - 9) - 1))) > 1 - level


def test_the_error_of_all_counts_is_that_of_their_intervals() -> None:
    """A quote tells it before the answer is there: no count of a cell may be forgotten."""
    asked, noises, chance = question(3, 2).measure, [Geometric("0.5"), Geometric("0.3")], Fraction(1, 10)
    for many in (1, 4):
        bars = asked.intervals([(0, 0, 0, 0, 0)] * many, noises, chance, True)
        assert asked.error_of_all(noises, chance, many) == max(bar.high for bar in bars)
