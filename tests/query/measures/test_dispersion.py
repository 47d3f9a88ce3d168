"""Variances through a session: right values, intervals that cover, prices that no neighbour exceeds."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from pathlib import Path
from statistics import pstdev, pvariance, stdev, variance
from typing import Any

import numpy as np
import pyarrow
import pytest

import dovetail as dv
from dovetail.noise import Geometric
from dovetail.pricing.composition import charge_of
from dovetail.pricing.sensitivity import moves, units
from dovetail.pricing.stretching import component_noises
from dovetail.query.neighbours import NEIGHBOURS
from engine_tables import SmallTables
from neighbour_changes import changed, lies_below, neighbouring, tables

ROWS = [(number * number % 11, "ab"[number % 3 == 0]) for number in range(3000)]
DATA = pyarrow.table({"x": [x for x, _ in ROWS], "k": [k for _, k in ROWS]})
SCHEMA = dv.Schema(
    [dv.Column("k", "text", values=["a", "b"]), dv.Column("x", "integer", low=0, high=10, step=1)]
)
WIDE = Geometric(20)


def opened(folder: Path, **options: Any) -> dv.Session:
    given = {"budget": dv.Budget.pure(10**4), "schema": SCHEMA} | options
    return dv.Session(DATA, name="rows", ledger=folder / "rows.ledger", **given)


def test_the_estimate_is_the_variance_where_there_is_hardly_any_noise(tmp_path: Path) -> None:
    values = [float(x) for x, _ in ROWS]
    with opened(tmp_path) as session:
        for ask, sample, true in (
            (session.variance, False, pvariance(values)),
            (session.variance, True, variance(values)),
            (session.std, False, pstdev(values)),
            (session.std, True, stdev(values)),
        ):
            answer = ask("x", sample=sample, noise=WIDE)
            assert answer.value == pytest.approx(true, rel=1e-3)
            low, high = answer.interval(0.999999999)
            assert low <= true <= high
        by_k = session.std("x", by="k", noise=WIDE)
        assert by_k.keys == [("a",), ("b",)]
        groups = [[x for x, k in ROWS if k == group] for group in "ab"]
        assert by_k.value == [pytest.approx(pstdev(group), rel=1e-3) for group in groups]
        assert session.std("x", by=["k"], noise=WIDE).stored


def test_steps_scale_a_variance_by_their_square(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        wide = session.variance("x", low=0, high=10, step=10, noise=WIDE).value
        rounded = [10 * (x >= 5) for x, _ in ROWS]
        assert wide == pytest.approx(pvariance(rounded), rel=1e-3)
        assert session.std("x", low=0, high=10, step=10, noise=WIDE).value == pytest.approx(
            sqrt(pvariance(rounded)), rel=1e-3
        )


def test_sql_asks_for_all_four(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        asked = "VAR_POP(x), VAR_SAMP(x), VARIANCE(x) AS v, STDDEV_POP(x), STDDEV_SAMP(x), STDDEV(x) AS s"
        price = session.price(dv.Variance("x", by=("k",)), noise=WIDE)
        found = session.sql(f"SELECT k, {asked} FROM data GROUP BY k ORDER BY k", noise=WIDE)
        names = ["var_pop_x", "var_samp_x", "v", "stddev_pop_x", "stddev_samp_x", "s"]
        assert [column.name for column in found.valued] == names
        # All of them are read from the same three sums.
        assert len(found.answers) == 1
        assert found.charge == price
        values = [float(x) for x, k in ROWS if k == "a"]
        assert found.value["stddev_samp_x"][0] == pytest.approx(stdev(values), rel=1e-3)
        assert found.value["var_pop_x"][0] == pytest.approx(pvariance(values), rel=1e-3)


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        (dv.Variance("x", 0, 2**26 + 1, 1), "larger step"),
        (dv.Variance("x", 0, 10, 3), "multiple of step"),
        (dv.Std("k", 0, 1, 1), "only numbers"),
        (dv.Std("x", sample=1), "n - 1"),
        (dv.Std("x", by=("k",), keys="discover"), "histograms"),
    ],
    ids=str,
)
def test_what_cannot_be_answered_is_refused_and_spends_nothing(
    tmp_path: Path, query: Any, problem: str
) -> None:
    with opened(tmp_path) as session:
        with pytest.raises(dv.DovetailError, match=problem):
            session.batch([query], noise=Geometric(1))
        with pytest.raises(dv.InvalidQuery, match="depends on the rows"):
            session.variance("x", within=1)
        assert not session.begun


def misses(rows: list[int], sample: bool, chance: Fraction) -> float:
    """Return how often 600 draws of the interval miss the true variance."""
    query = dv.Variance("x", low=0, high=10, step=1, sample=sample)
    question = query.checked(SCHEMA.table())
    noises = component_noises(question, Geometric(1))
    true = (variance if sample else pvariance)(map(float, rows))
    exact = question.measure.released([(len(rows), sum(rows), sum(x * x for x in rows))])
    drawn = np.array([noise.sample(600) for noise in noises]).T.tolist()
    cells = [tuple(value + more for value, more in zip(exact, each, strict=True)) for each in drawn]
    found = question.measure.intervals(cells, noises, chance, False)
    return float(np.mean([not bar.low - 1e-9 <= true <= bar.high + 1e-9 for bar in found]))


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("rows", [[0, 10], [5] * 3, [0, 3, 10] * 6, [1, 2] * 25], ids=len)
def test_intervals_cover_in_groups_of_2_to_50_rows(rows: list[int], sample: bool) -> None:
    """At a chance of 0.1, more than 0.18 of 600 misses happen less often than once in 10^9 runs."""
    assert misses(rows, sample, Fraction(1, 10)) <= 0.18


def test_an_interval_that_promises_too_much_is_caught() -> None:
    assert misses([0, 10] * 50, False, Fraction(9, 10)) > 0.18


KINDS: list[tuple[str, Any]] = [(k, x) for k in "ab" for x in (None, -1, 0, 1, 2, 4, 5)]


@pytest.mark.parametrize(("by", "root"), [((), False), (("k",), False), (("k",), True)])
def test_no_neighbour_moves_more_than_declared(by: tuple[str, ...], root: bool) -> None:
    kind = dv.Std if root else dv.Variance
    small = SmallTables(
        "k VARCHAR, x TINYINT", {rows: [KINDS[place] for place in rows] for rows in tables(len(KINDS), 2)}
    )
    known = dv.Schema([dv.Column("k", "text", values=["a", "b"])]).table(small.engine.columns())
    question = kind("x", 0, 4, 1, by=by).checked(known)
    found = small.cells(question)
    for rule in NEIGHBOURS:
        allowed, reached = moves(question, rule), set()
        for one, another in neighbouring(len(KINDS), 2, rule):
            change = changed(question, found[one], found[another])
            assert any(lies_below(change, move) for move in allowed), (rule, one, another, change)
            reached |= {(at, abs(by)) for at, seen in enumerate(change) for by in seen}
        # The check has power: a smaller sensitivity of any component would fail.
        for component in range(len(units(question))):
            most = max(shift.by for move in allowed for shift in move if shift.component == component)
            assert (component, most) in reached or rule == "replace"


def test_a_replaced_value_is_not_charged_as_if_both_sums_moved_furthest_at_once() -> None:
    """The sum moves furthest from one end to the other, where the sum of squares stays."""
    width = 40
    question = dv.Variance("x", 0, width, 1).checked(SCHEMA.table())
    charge = charge_of([question], [component_noises(question, Geometric(1))], "replace")
    centred = [2 * x - width for x in range(width + 1)]
    # Squares are released as 2z² - R², so they move by twice the difference.
    worst = max(abs(z - w) / width + 2 * abs(z * z - w * w) / width**2 for z in centred for w in centred)
    assert worst <= charge.epsilon <= worst + 1 / 8
