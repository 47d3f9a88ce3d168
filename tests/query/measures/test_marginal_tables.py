"""Marginals through a session: every neighbour within the charge, tables that agree, intervals that cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dv
from dovetail.engines import Source
from dovetail.engines.aggregation import true_cells
from dovetail.noise import Geometric
from dovetail.pricing.sensitivity import moves
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import Field
from dovetail.query.measures import MarginalTables, Shift
from dovetail.query.neighbours import NEIGHBOURS, Neighbours
from dovetail.query.partitions import Keys
from engine_tables import SmallTables
from neighbour_changes import changed, lies_below

SCHEMA = dv.Schema(
    [
        dv.Column("a", "text", values=["x", "y", "z"]),
        dv.Column("b", "integer", values=[0, 1]),
        dv.Column("c", "integer", values=[0, 1, 2]),
    ]
)
# "w" and None have no cell: such a row counts nowhere.
KINDS = [*product("xyz", (0, 1), (0, 1, 2)), ("w", 0, 0), ("x", None, 1)]
STRATEGIES = ("plain", "joint", "residuals")
ASKED = {"tables": [("a", "b"), ("b", "c"), ("a",)]}
RATE = Fraction(1, 5)
UNIT = Fraction(1, 10**9)


def tables() -> Iterator[tuple[int, ...]]:
    """Yield every table of up to one row, and some of two, as places in KINDS."""
    yield ()
    yield from ((place,) for place in range(len(KINDS)))
    yield from combinations_with_replacement((0, 7, 17, 18), 2)


@pytest.fixture(scope="module")
def small() -> SmallTables[tuple[int, ...]]:
    rows = {places: [KINDS[place] for place in places] for places in tables()}
    return SmallTables("a TEXT, b BIGINT, c BIGINT", rows)


def neighbours_of(rows: tuple[int, ...], rule: Neighbours) -> Iterator[tuple[int, ...]]:
    for place in range(len(rows)):
        fewer = rows[:place] + rows[place + 1 :]
        if rule == "add-remove":
            yield fewer
        else:
            yield from (tuple(sorted((*fewer, other))) for other in range(len(KINDS)))


def worst_loss(
    question: CheckedQuery, rule: Neighbours, true: dict[tuple[int, ...], Any]
) -> tuple[Fraction, bool]:
    """Return the largest loss of geometric noise between neighbours; does a declared move cover each?"""
    listed, covered, worst = moves(question, rule), True, Fraction(0)
    units = [component.reach.up for component in question.measure.components()]
    for rows in true:
        for other in filter(true.__contains__, neighbours_of(rows, rule)):
            change = changed(question, true[rows], true[other])
            covered = covered and any(lies_below(change, move) for move in listed)
            pairs = zip(change, units, strict=True)
            worst = max(
                worst, sum((RATE * abs(by) / unit for seen, unit in pairs for by in seen), Fraction(0))
            )
    return worst, covered


@pytest.mark.parametrize("rule", NEIGHBOURS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_no_neighbour_of_a_small_table_loses_more_than_is_charged(
    small: SmallTables[tuple[int, ...]], tmp_path: Path, strategy: Any, rule: Neighbours
) -> None:
    """The price of geometric noise is the largest loss there is, and no more."""
    query = dv.Marginals(**ASKED, strategy=strategy)
    source = Source.of(pyarrow.table({"a": ["x"], "b": [0], "c": [0]}), name="small", schema=SCHEMA)
    with dv.Session(source, ledger=tmp_path / "small.ledger", neighbours=rule) as session:
        quote = session.quote(query, noise=Geometric(RATE))
    question = quote.asked[0].question
    true = small.cells(question)
    worst, covered = worst_loss(question, rule, true)
    assert covered
    assert worst <= Fraction(quote.charge.epsilon) <= worst + UNIT


class Forgetful(MarginalTables):
    """Residuals that forget the cells which a row moves besides its own."""

    __slots__ = ()

    def moves(self, contribution: Any) -> Any:
        return tuple(
            tuple(Shift(place, max(shift.by for shift in move if shift.component == place))
                  for place in {shift.component for shift in move})
            for move in MarginalTables.moves(self, contribution)
        )  # fmt: skip


def test_a_price_that_forgets_the_other_cells_of_a_residual_is_caught(
    small: SmallTables[tuple[int, ...]],
) -> None:
    asked = dv.Marginals(**ASKED, strategy="residuals").checked(SCHEMA.table())
    measure = asked.measure
    assert isinstance(measure, MarginalTables)
    question = replace(asked, measure=Forgetful(measure.axes, measure.tables, "residuals"))
    true = small.cells(question)
    worst, covered = worst_loss(question, "add-remove", true)
    declared = sum(
        RATE * Fraction(shift.by, question.measure.components()[shift.component].reach.up)
        for shift in moves(question, "add-remove")[0]
    )
    assert not covered
    assert declared < worst


@pytest.mark.parametrize("rule", NEIGHBOURS)
@pytest.mark.parametrize("strategy", ["plain", "joint"])
def test_persons_lose_no_more_than_is_charged(tmp_path: Path, strategy: Any, rule: Neighbours) -> None:
    """Two rows of one person, every way to hold them, beside a person whose rows stay."""
    kinds = [("x", 0, 1), ("y", 1, 1), ("w", 0, 0)]
    held = [rows for size in range(4) for rows in combinations_with_replacement(kinds, size)]
    query = dv.Marginals(tables=[("a",), ("a", "b")], strategy=strategy)
    true, charge, question = [], None, None
    for number, rows in enumerate(held):
        people = [("p", *row) for row in rows] + [("q", "x", 0, 1)]
        data = pyarrow.table(dict(zip("pabc", map(list, zip(*people, strict=True)), strict=True)))
        source = Source.of(data, name="small", schema=SCHEMA)
        place = tmp_path / f"{number}.ledger"
        with dv.Session(source, ledger=place, neighbours=rule, unit="p", max_rows=2) as session:
            quote = session.quote(query, noise=Geometric(RATE))
            charge, question = quote.charge, quote.asked[0].question
            true.append(true_cells(session._engine, question, b"secret"))
    assert charge is not None
    assert question is not None
    pairs = [(one, other) for one in true for other in (true if rule == "replace" else true[:1])]
    # The noise of one row is stretched to the two that count.
    losses = [sum(abs(by) for seen in changed(question, *pair) for by in seen) * RATE / 2 for pair in pairs]
    assert max(losses) <= Fraction(charge.epsilon) <= max(losses) + UNIT


@pytest.mark.parametrize("rule", NEIGHBOURS)
def test_a_column_of_one_value_has_residuals_that_nothing_moves(tmp_path: Path, rule: Neighbours) -> None:
    one = dv.Schema([dv.Column("b", "integer", values=[0, 1]), dv.Column("one", "integer", values=[5])])
    data = pyarrow.table({"b": [0, 1, 1], "one": [5, 5, 5]})
    given = {"schema": one, "budget": dv.Budget.pure(9), "neighbours": rule}
    with dv.Session(data, name="few", ledger=tmp_path / "few.ledger", **given) as session:
        noise, tables = Geometric("0.5"), [("b", "one")]
        answer = session.marginals(tables=tables, strategy="residuals", noise=noise)
        assert answer.charge == session.price(dv.Marginals("b", way=1, strategy="residuals"), noise=noise)
        assert len(answer.noises) == 4  # the total, either column, and both


def test_what_is_asked_is_put_in_words() -> None:
    said = [dv.Marginals("a", "b", "c", way=way).checked(SCHEMA.table()).measure.words() for way in (2, 3)]
    assert said == ["3 tables of a, b, c", "one table of a, b, c"]


def test_persons_and_many_columns_are_not_measured_as_residuals(tmp_path: Path) -> None:
    data = pyarrow.table({"p": [1], "a": ["x"], "b": [0], "c": [0]})
    with dv.Session(
        data, name="d", schema=SCHEMA, ledger=tmp_path / "d.ledger", unit="p", max_rows=2
    ) as session:
        quote = session.quote(dv.Marginals("a", "b", "c"), spend=dv.Budget.approximate(1, "1e-6"))
        assert {way.name.split(",")[0] for way in quote.asked[0].ways} == {"plain", "joint"}
        assert not any("Gaussian" in way.name for way in quote.asked[0].ways)
        with pytest.raises(dv.InvalidParameter, match="single rows and few tables"):
            session.quote(dv.Marginals("a", "b", strategy="residuals"), noise=Geometric(1))


ROWS = [("xyz"[i * i % 7 % 3], i % 5 % 2, i * 3 % 11 % 3) for i in range(600)]
DATA = pyarrow.table(dict(zip("abc", map(list, zip(*ROWS, strict=True)), strict=True)))


def opened(folder: Path, **options: Any) -> dv.Session:
    given = {"budget": dv.Budget.pure(10**6), "schema": SCHEMA} | options
    return dv.Session(DATA, name="rows", ledger=folder / "rows.ledger", **given)


def count(keys: dict[str, Any]) -> int:
    return sum(all(row["abc".index(name)] == value for name, value in keys.items()) for row in ROWS)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_tables_are_those_of_the_rows_and_agree(tmp_path: Path, strategy: Any) -> None:
    with opened(tmp_path) as session:
        quiet = session.marginals("a", "b", "c", strategy=strategy, noise=Geometric(40))
        for row in quiet.rows():
            assert float(row["value"]) == pytest.approx(count(row["keys"]), abs=1e-6)
            assert float(row["low"]) <= count(row["keys"]) <= float(row["high"])
        noisy = session.marginals("a", "b", "c", strategy=strategy, noise=Geometric("0.1"))
        assert (
            session.marginals("c", "b", "a", strategy=strategy, noise=Geometric("0.1")).tables != noisy.tables
        )
        again = session.marginals("a", "b", "c", strategy=strategy, noise=Geometric("0.1"))
        assert again.stored
        assert again.values() == noisy.values()
    shared = [
        np.array(noisy.table("b", other).to_pandas().groupby("b")["value"].sum()) for other in ("a", "c")
    ]
    named = [axis.field.name for axis in noisy.query.measure.axes]
    sums: dict[tuple[str, Any], Fraction] = {}
    for (table, *keys), value in zip(noisy.keys, noisy.values(), strict=True):
        there = table.split(" × ").index("b") if "b" in table else None  # type: ignore[union-attr]
        if there is not None:
            sums[table, keys[there]] = sums.get((table, keys[there]), Fraction(0)) + value  # type: ignore[index]
    exactly = [[value for (table, _), value in sums.items() if table == each] for each in ("a × b", "b × c")]
    assert named == ["a", "b", "c"]
    assert (exactly[0] == exactly[1]) == (strategy != "plain")
    if strategy == "plain":
        assert not np.allclose(*shared, atol=1e-9)
    else:
        assert np.allclose(*shared, atol=1e-9)
        assert np.allclose(shared[0], noisy.table("b")["value"], atol=1e-9)
    turned = noisy.table("c", "a").to_pandas()
    assert list(turned.columns[:2]) == ["c", "a"]
    straight = noisy.table("a", "c").to_pandas().set_index(["c", "a"])["value"]
    assert np.allclose(turned.set_index(["c", "a"])["value"].sort_index(), straight.sort_index())


@given(data=st.data())
def test_without_noise_every_table_within_another_is_counted_right(data: st.DataObject) -> None:
    """Whatever the columns, the tables and the strategy; rows come in batches, some of them twice."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    axes = tuple(Keys(Field(f"c{i}", "integer"), tuple(range(size))) for i, size in enumerate(sizes))
    every = [table for way in range(1, len(sizes) + 1) for table in combinations(range(len(sizes)), way)]
    tables = tuple(data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True)))
    measure = MarginalTables(axes, tables, data.draw(st.sampled_from(STRATEGIES)))
    cells = st.tuples(*(st.integers(0, size - 1) for size in sizes), st.integers(0, 10**12))
    batches = data.draw(st.lists(st.lists(cells, max_size=4), max_size=3))
    held = [np.array(batch, np.int64).reshape(-1, len(sizes) + 1).T for batch in batches]
    released = measure.released_sparsely((each[:-1], each[-1]) for each in held)
    noises = [Geometric(1)] * len(measure.components())
    joint = np.zeros(sizes)
    for *place, count in (cell for batch in batches for cell in batch):
        joint[tuple(place)] += count
    for table in {
        part for whole in tables for way in range(len(whole) + 1) for part in combinations(whole, way)
    }:
        away = tuple(i for i in range(len(sizes)) if i not in table)
        assert np.allclose(measure.table(released, noises, table), joint.sum(axis=away), rtol=1e-9, atol=1e-3)


def estimates(measure: MarginalTables, noises: Sequence[Any], runs: int) -> np.ndarray:
    """Return the errors of all cells over many draws of the noise."""
    columns = []
    for component, noise in zip(measure.components(), noises, strict=True):
        columns.append(np.asarray(noise.sample(runs * component.parts)).reshape(runs, -1))
    drawn = np.concatenate(columns, axis=1)
    # Estimates are linear in what is released.
    units = np.eye(drawn.shape[1], dtype=np.int64).tolist()
    linear = np.array([[float(x) for x in measure.estimates([unit], noises)] for unit in units])
    return np.asarray(drawn @ linear)


def test_what_is_promised_of_a_table_is_what_comes_about(tmp_path: Path) -> None:
    """Standard errors of every way within 3 % of a simulation; the same test sees one that is 10 % off."""
    with opened(tmp_path, budget=dv.Budget.approximate(1, "1e-6")) as session:
        quote = session.quote(dv.Marginals("a", "b", "c"), spend=dv.Budget.approximate(1, "1e-6"))
    seen = set()
    for way in quote.asked[0].ways:
        assert isinstance(way.measure, MarginalTables)
        seen.add(way.name.split(",")[0])
        errors = estimates(way.measure, way.noises, 40_000)
        ends = np.cumsum([way.measure.wanted().cells(table) for table in way.measure.tables])[:-1]
        found = [float(np.sqrt(np.mean(part**2))) for part in np.split(errors, ends, axis=1)]
        assert found == pytest.approx(list(way.errors.values()), rel=0.03)
        assert found != pytest.approx([1.1 * error for error in way.errors.values()], rel=0.03)
    assert seen == set(STRATEGIES)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_intervals_cover(strategy: Any) -> None:
    """Of 600 draws, over 0.2 misses at a chance of 0.1 happen less often than once in 10^9 runs."""
    measure = dv.Marginals("a", "b", "c", strategy=strategy).checked(SCHEMA.table()).measure
    assert isinstance(measure, MarginalTables)
    noises = [Geometric(Fraction(1, 3 * component.reach.up)) for component in measure.components()]
    errors = estimates(measure, noises, 600)
    zeros = [(0,) * sum(component.parts for component in measure.components())]
    chance = Fraction(1, 10)
    each, joint, careless = (
        np.array([float(bar.high) for bar in measure.intervals(zeros, noises, *given)])
        for given in ((chance, False), (chance, True), (1 - chance, False))
    )
    assert (np.mean(np.abs(errors) > each, axis=0) <= 0.2).all()
    assert np.mean((np.abs(errors) > joint).any(axis=1)) <= 0.2
    # Intervals of single cells do not hold together, and ones that promise too much are caught.
    assert np.mean((np.abs(errors) > each).any(axis=1)) > 0.2
    assert (np.mean(np.abs(errors) > careless, axis=0) > 0.2).all()


def test_the_way_of_least_error_is_taken_and_others_are_told(tmp_path: Path) -> None:
    with opened(tmp_path, budget=dv.Budget.approximate(2, "1e-6")) as session:
        spend = dv.Budget.approximate(1, "1e-6")
        quote = session.quote(dv.Marginals("a", "b", "c"), spend=spend)
        assert quote.asked[0].ways[0].certified
        assert quote.asked[0].ways[0].worst == min(
            way.worst for way in quote.asked[0].ways if "Gaussian" not in way.name
        )
        words = quote.words()
        assert "a × b ±" in words["tables"]
        assert "plain, geometric" in words["instead"]
        answer = session.marginals("a", "b", "c", spend=spend)
        assert answer.charge == quote.charge
        assert session.marginals("a", "b", "c", spend=spend).stored
        pure = session.quote(dv.Marginals("a", "b", "c"), spend=dv.Budget.pure("0.5"))
        assert pure.asked[0].ways[0].name == "joint, geometric"
        assert pure.charge.epsilon == Decimal("0.499999998")  # three tables at rates of whole billionths
        forced = session.quote(dv.Marginals("a", "b", "c", strategy="residuals"), spend=dv.Budget.pure("0.5"))
        assert forced.charge.epsilon <= Decimal("0.5")
        assert {way.name for way in forced.asked[0].ways} == {"residuals, geometric"}


def test_a_refusal_promises_no_error_that_residuals_would_not_have(tmp_path: Path) -> None:
    with opened(tmp_path, budget=dv.Budget.approximate("0.1", "1e-6")) as session:
        spend = dv.Budget.approximate(1, "1e-6")
        for strategy, told in (("residuals", False), ("joint", True)):
            with pytest.raises(dv.BudgetExceeded) as refused:
                session.marginals("a", "b", "c", strategy=strategy, spend=spend)  # type: ignore[arg-type]
            assert ("pays for" in str(refused.value)) is told
        assert not session.begun


def test_a_plan_and_an_accuracy_pay_for_tables(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        plan = session.plan(Geometric("0.1"), queries=10)
        answer = session.marginals("a", "b", "c", plan=plan)
        assert answer.charge.epsilon == 0
        assert session.plans[0].left == 7
        assert answer.strategy == "joint"
        wide = session.marginals("a", "b", "c", within=30)
        assert (
            float(max(bar.high - value for bar, value in zip(wide.bars(), wide.values(), strict=True))) <= 30
        )


BAD: list[tuple[Any, str]] = [
    (dv.Marginals(), "at least one column"),
    (dv.Marginals("a"), "way=2"),
    (dv.Marginals("a", "b", way=0), "way"),
    (dv.Marginals("a", "b", way=True), "way"),
    (dv.Marginals("a", "a"), "twice"),
    (dv.Marginals("a", "nobody"), "nobody"),
    (dv.Marginals("a", "b", tables=[("a", "c")]), "named before"),
    (dv.Marginals(tables=[]), "at least one table"),
    (dv.Marginals(tables="a"), "list of tables"),
    (dv.Marginals(tables=[()]), "at least one column"),
    (dv.Marginals(tables=[("a", "b"), ("b", "a")]), "once"),
    (dv.Marginals(tables=[("a", "a")]), "different columns"),
    (dv.Marginals(tables=[3]), "column names"),
    (dv.Marginals("a", "b", strategy="best"), "strategy"),  # type: ignore[arg-type]
    (dv.Marginals("a", "b", keys="discover"), "public cells"),
    (dv.Marginals("a", "b", where="nothing = 1"), "nothing"),
    (dv.Marginals("b", "c", bins={"b": list(range(1001)), "c": list(range(1002))}), "more than 100,000"),
]


@pytest.mark.parametrize(("query", "problem"), BAD, ids=lambda each: str(each)[:60])
def test_what_cannot_be_answered_is_refused_and_spends_nothing(
    tmp_path: Path, query: Any, problem: str
) -> None:
    with opened(tmp_path) as session:
        with pytest.raises(dv.DovetailError, match=problem):
            session.batch([query], noise=Geometric(1))
        assert not session.begun
