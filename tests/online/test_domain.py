"""What a run counts is what the engine counts, and what it cannot tell from cells it refuses."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dv
from dovetail.engines import Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.errors import DovetailError, InvalidParameter, InvalidQuery, MissingKeys
from dovetail.online.domain import Domain
from dovetail.online.occupied_cells import OccupiedCells
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Rows

SCHEMA = dv.Schema(
    [
        dv.Column("region", "text", values=["north", "south", None], other="elsewhere"),
        dv.Column("level", "integer", values=[1, 2, 3], other="more"),
        dv.Column("age", "integer", low=0, high=120),
        dv.Column("born", "date"),
        dv.Column("score", "number", other="none"),
    ]
)
BINS = {
    "age": [0, 1, 18, 65],
    "born": ["2000-01-01", "2000-01-02", "2010-01-01"],
    "score": [0, 0.1, 1],
}
NUMBERS = np.random.default_rng(5)
TABLE = pyarrow.table(
    {
        "region": [("north", "south", None, "west")[i] for i in NUMBERS.integers(0, 4, 200)],
        "level": [(1, 2, 3, 4, None)[i] for i in NUMBERS.integers(0, 5, 200)],
        "age": [(0, 5, 17, 18, 40, 64)[i] for i in NUMBERS.integers(0, 6, 200)],
        "born": [date(2000, 1, 1 + int(i)) for i in NUMBERS.integers(0, 4, 200)],
        "score": [(0.0, 0.05, 0.1, 0.5, 3.0, None)[i] for i in NUMBERS.integers(0, 6, 200)],
    }
)
ENGINE = connect(Source.of(TABLE, name="people", schema=SCHEMA).with_schema())
PUBLIC = SCHEMA.table(ENGINE.columns())
DOMAIN = Domain.of(("region", "level", "age", "born", "score"), BINS, PUBLIC, None, 10**7)
OCCUPIED = OccupiedCells.read(ENGINE, DOMAIN, b"")

VALUES = {
    "region": ["'north'", "'south'", "'west'"],
    "level": ["1", "2", "3", "4"],
    "age": ["-1", "0", "1", "17", "18", "64", "65", "30"],
    "born": ["'1999-12-31'", "'2000-01-01'", "'2000-01-02'", "'2009-12-31'", "'2010-01-01'"],
    "score": ["0", "0.1", "1", "0.5", "3"],
}


@st.composite
def leaves(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(sorted(VALUES)))
    values = st.sampled_from(VALUES[name])
    kind = draw(st.sampled_from(["compare", "in", "null"]))
    negated = "NOT " * draw(st.booleans())
    if kind == "null":
        return f"{name} IS {negated}NULL"
    if kind == "in":
        return f"{name} {negated}IN ({', '.join(draw(st.lists(values, min_size=1, max_size=3)))})"
    return f"{negated}{name} {draw(st.sampled_from(['=', '<>', '<', '<=', '>', '>=']))} {draw(values)}"


def conditions() -> Any:
    def joined(inner: Any) -> Any:
        return st.tuples(inner, st.sampled_from([" AND ", " OR "]), inner).map(
            lambda parts: f"({parts[0]}{parts[1]}{parts[2]})"
        )

    return st.recursive(leaves(), joined, max_leaves=4)


@settings(max_examples=300, deadline=None)
@given(conditions())
def test_a_region_counts_what_the_engine_counts(where: str) -> None:
    try:
        asked = DOMAIN.question(dv.Count(where), PUBLIC)
    except InvalidQuery:
        return  # It would cut a cell in two: the table below says which do.
    (region,) = DOMAIN.regions(asked)
    true = true_cells(ENGINE, CheckedQuery(Rows(), (), asked.where))
    assert OCCUPIED.count(region) == true[0][0]
    # The guard relies on one row moving a count by 0 or 1, and on masks over the public cells alone.
    assert region.dense().shape == DOMAIN.shape


def test_more_conditions_than_are_remembered_are_answered_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    wheres = [None, "region = 'north'", "region <> 'north'", "age > 17", "region IS NULL", "age = 0"]
    counts = []
    for most in (100, 2):
        monkeypatch.setattr("dovetail.online.domain._MOST_KNOWN", most)
        fresh = replace(DOMAIN)
        asked = [fresh.question(dv.Count(where), PUBLIC) for where in wheres * 2]
        counts.append([OCCUPIED.count(next(fresh.regions(each))) for each in asked])
    assert counts[0] == counts[1]


class Forgetful(dict[Any, Any]):
    """What one thread remembers while another forgets everything."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.clear()


def test_conditions_that_another_thread_forgets_are_answered() -> None:
    fresh = replace(DOMAIN)
    vars(fresh)["_known"] = Forgetful()
    asked = fresh.question(dv.Count("region = 'north'"), PUBLIC)
    assert OCCUPIED.count(next(fresh.regions(asked))) == OCCUPIED.count(next(DOMAIN.regions(asked)))


@pytest.mark.parametrize(
    ("where", "decided"),
    [
        ("region = 'north'", True),
        ("region <> 'north'", True),
        ("region = 'west'", False),
        ("region IS NULL", True),
        ("level IS NULL", False),
        ("level <> 1", False),
        ("level IN (1, 3)", True),
        ("level > 1", False),
        ("age > 17", True),
        ("age > 16", False),
        ("age = 0", True),
        ("age = 30", False),
        ("born = '2000-01-01'", True),
        ("score IS NULL", False),
    ],
)
def test_only_whole_cells_are_told_apart(where: str, decided: bool) -> None:
    if decided:
        DOMAIN.question(dv.Count(where), PUBLIC)
    else:
        with pytest.raises(InvalidQuery, match="splits a cell"):
            DOMAIN.question(dv.Count(where), PUBLIC)


@pytest.mark.parametrize("where", [None, "region = 'north'", "age < 18", "region = 'north' OR age < 18"])
def test_a_histogram_is_one_region_for_each_cell(where: str | None) -> None:
    asked = DOMAIN.question(dv.Histogram("age", "region", where=where), PUBLIC)
    counted = [OCCUPIED.count(region) for region in DOMAIN.regions(asked)]
    assert counted == [cell[0] for cell in true_cells(ENGINE, asked)]


def test_tables_are_sums_of_the_occupied_cells() -> None:
    for axes in [(0,), (1, 3), (0, 1, 2, 3, 4)]:
        question = CheckedQuery(Rows(), tuple(DOMAIN.axes[axis] for axis in axes))
        assert OCCUPIED.table(axes).ravel().tolist() == [cell[0] for cell in true_cells(ENGINE, question)]


@pytest.mark.parametrize(
    ("day", "decided"),
    [("1999-12-31", False), ("2000-01-01", True), ("2000-01-02", True), ("2000-01-03", False)],
)
def test_a_value_is_told_apart_from_all_other_rows_where_its_bin_holds_nothing_else(
    day: str, decided: bool
) -> None:
    table = dv.Schema([dv.Column("seen", "date", other="else")]).table()
    bins = {"seen": ["2000-01-01", "2000-01-02", "2000-01-03"]}
    domain = Domain.of(("seen",), bins, table, None, 100)
    asked = dv.Count(f"seen = '{day}'")
    if decided:
        (region,) = domain.regions(domain.question(asked, table))
        assert region.dense().tolist() == [day == "2000-01-01", day == "2000-01-02", False]
    else:
        with pytest.raises(InvalidQuery, match="splits a cell"):
            domain.question(asked, table)


def test_a_column_of_many_values_is_counted_beside_one_of_few() -> None:
    """Places are kept in as few bytes as the largest column needs, not the smallest."""
    schema = dv.Schema(
        [dv.Column("few", "integer", values=[0, 1]), dv.Column("many", "integer", low=0, high=300)]
    )
    table = pyarrow.table({"few": [0, 1] * 150, "many": list(range(300))})
    engine = connect(Source.of(table, name="wide", schema=schema).with_schema())
    public = schema.table(engine.columns())
    domain = Domain.of(("few", "many"), {"many": list(range(301))}, public, None, 10**6)
    occupied = OccupiedCells.read(engine, domain, b"")
    assert occupied.table((1,)).tolist()[:300] == [1] * 300
    (region,) = domain.regions(domain.question(dv.Count("many >= 299"), public))
    assert occupied.count(region) == 1


@pytest.mark.parametrize(
    "query",
    [
        dv.Sum("age", low=0, high=9, step=1),
        dv.CountDistinct(),
        dv.Histogram("age", bins=[0, 50]),
        dv.Histogram("level", keys=[1]),
        dv.Histogram("region", "region"),
        dv.Histogram(),
        dv.Count("nobody = 1"),
        "region",
        None,
    ],
)
def test_other_questions_are_refused(query: Any) -> None:
    with pytest.raises(DovetailError):
        DOMAIN.question(query, PUBLIC)


def test_columns_and_cells_are_limited() -> None:
    with pytest.raises(InvalidParameter, match="cells together"):
        Domain.of(("region", "age"), {"age": BINS["age"]}, PUBLIC, None, 11)
    with pytest.raises(InvalidQuery, match="at least one column"):
        Domain.of((), None, PUBLIC, None, 10)
    with pytest.raises(DovetailError, match="not public"):
        Domain.of(("age",), None, PUBLIC, None, 10)


def test_a_column_without_public_cells_is_refused_with_what_a_run_takes() -> None:
    with pytest.raises(MissingKeys) as caught:
        Domain.of(("age",), None, SCHEMA.table(), None, 1000)
    assert "bins=" in str(caught.value)
    assert "keys=" not in str(caught.value)
