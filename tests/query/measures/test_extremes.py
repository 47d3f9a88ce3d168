"""The least and the largest value, distribution functions, and what is said beside quantiles."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import dovetail as dv
from dovetail.noise import Geometric
from dovetail.plots.bands import MOST_CURVES, BandCurve, draw_bands

ROWS = [3, 3, 7, 12, 12, 12, 15] * 40
DATA = pyarrow.table({"x": ROWS, "k": ["a", "b"] * (len(ROWS) // 2)})
SCHEMA = dv.Schema(
    [
        dv.Column("k", "text", values=["a", "b", "c"]),
        dv.Column("x", "integer", low=0, high=19, step=1),
    ]
)
QUIET = Geometric(20)


def opened(folder: Path) -> dv.Session:
    place = folder / "rows.ledger"
    return dv.Session(DATA, name="rows", schema=SCHEMA, budget=dv.Budget.pure(10**4), ledger=place)


def test_the_least_and_the_largest_value_are_the_quantiles_0_and_1(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        assert session.min("x", noise=QUIET).value == 3
        largest = session.max("x", noise=QUIET)
        assert largest.value == 15
        assert session.quantiles("x", [1], noise=QUIET).stored
        found = session.sql("SELECT k, MIN(x), MAX(x) AS top FROM data GROUP BY k", noise=QUIET)
        assert [column.name for column in found.valued] == ["min_x", "top"]
        assert found.value["min_x"][:2] == [3, 3]
        assert found.value["top"][:2] == [15, 15]
        by = session.max("x", by="k", where="x < 10", noise=QUIET)
        assert by.value[:2] == [7, 7]
        for query in (dv.Minimum("x"), dv.Maximum("x")):
            assert session.price(query, noise=QUIET).epsilon == 0  # It was answered before.
            assert session.price(query, noise=Geometric(10)).epsilon == largest.charge.epsilon / 2


def misses(query: dv.Minimum | dv.Maximum, rows: list[int], chance: Fraction) -> float:
    """Return how often the interval misses the true extreme, of 400 draws."""
    measure = query.checked(SCHEMA.table()).measure
    noises = (Geometric("0.4"),) * len(measure.components())
    exact = measure.released([(rows.count(x),) for x in range(20)])
    drawn = np.array(noises[0].sample(400 * len(exact))).reshape(400, -1) + np.array(exact)
    found = measure.intervals(drawn.tolist(), noises, chance, False)
    true = min(rows) if isinstance(query, dv.Minimum) else max(rows)
    return float(np.mean([not bar.low <= true <= bar.high for bar in found]))


@pytest.mark.parametrize("rows", [[7], [0] * 30, [5] * 20 + [18], list(range(20))], ids=str)
def test_intervals_of_extremes_cover_whatever_the_rows(rows: list[int]) -> None:
    """At a chance of 0.1, more than 0.2 of 400 misses happen less often than once in 10^9 runs."""
    assert misses(dv.Minimum("x"), rows, Fraction(1, 10)) <= 0.2
    assert misses(dv.Maximum("x"), rows, Fraction(1, 10)) <= 0.2


def test_an_extreme_that_promises_too_much_is_caught() -> None:
    assert misses(dv.Maximum("x"), [5] * 20 + [18], Fraction(99, 100)) > 0.2


def test_answers_say_that_one_row_decides_and_that_there_may_be_none(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        least = session.min("x", noise=Geometric(1))
        clamped, decides = least.remarks()
        assert "0.01" in decides
        assert decides in str(least)
        assert json.loads(least.to_json())["remarks"] == [clamped, decides]
        assert session.median("x", noise=Geometric(1)).remarks() == (clamped,)
        none = session.median("x", where="x > 100", noise=QUIET)
        assert none.remarks()[1:] == (
            "There may be no row at all (n may be 0), and then there is no quantile.",
        )
        groups = session.median("x", by="k", noise=QUIET)
        assert groups.remarks()[1:] == (
            "In 1 of 3 groups there may be no row at all (n may be 0), and then there is no quantile.",
        )
        both = session.sql("SELECT MAX(x), MEDIAN(x) FROM data WHERE x > 100", noise=QUIET)
        assert len(both.remarks()) == 3
        assert all(remark in str(both) for remark in both.remarks())
        assert json.loads(both.to_json())["remarks"] == list(both.remarks())
        assert all(remark in both._repr_html_() for remark in both.remarks())


@pytest.mark.parametrize(
    ("qs", "words"),
    [
        ((0,), "minimum of x"),
        (("1/2",), "median of x"),
        ((1,), "maximum of x"),
        (("0.9",), "quantile 0.9 of x"),
        ((0, "1/2"), "quantiles of x"),
    ],
)
def test_quantiles_are_called_by_their_names(qs: Any, words: str) -> None:
    assert dv.Quantiles("x", qs).checked(SCHEMA.table()).measure.words() == words


def test_a_distribution_function_is_the_answer_of_ranges_paid_once(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        answer = session.cdf("x", by="k", noise=Geometric("0.5"))
        assert session.ranges("x", by="k", noise=Geometric("0.5")).stored
        (again,) = session.batch([dv.Ranges("x", by=("k",))], noise=Geometric("0.5"))
        assert isinstance(again, dv.RangeAnswer)
        shares = answer.cdf(group=("a",), shares=True).to_pydict()
        rows = [x for x, k in zip(ROWS, DATA["k"].to_pylist(), strict=True) if k == "a"]
        assert shares["x"] == list(range(20))
        assert shares["value"] == sorted(shares["value"])
        assert shares["value"][-1] == 1
        for x, low, high in zip(shares["x"], shares["low"], shares["high"], strict=True):
            assert 0 <= low <= sum(row <= x for row in rows) / len(rows) <= high <= 1
        quiet = session.cdf("x", by="k", noise=QUIET).cdf(group=("a",), shares=True).to_pydict()
        true = [sum(row <= x for row in rows) / len(rows) for x in range(20)]
        for name in ("value", "low", "high"):
            assert quiet[name] == pytest.approx(true, abs=3 / len(rows))


def test_the_band_of_shares_covers_all_values_at_once() -> None:
    """At a level of 0.9, more than 0.2 of 400 misses happen less often than once in 10^9 runs."""
    from dovetail.answers.ranges import _shares

    measure = dv.Ranges("x").checked(SCHEMA.table()).measure
    rows = [7] * 12 + list(range(9))
    noises = (Geometric("0.7"),) * len(measure.components())
    exact = np.array(measure.released([(rows.count(x),) for x in range(20)]))
    true = np.array([sum(row <= x for row in rows) / len(rows) for x in range(20)])
    missed = narrow = 0
    for _ in range(400):
        cell = (np.array(noises[0].sample(len(exact))) + exact).tolist()
        ranges = measure.ranges(cell, noises)  # type: ignore[attr-defined]
        _, low, high = _shares(ranges.monotone, *ranges.band(Fraction(1, 10)))
        missed += not bool(np.all((low <= true + 1e-12) & (true <= high + 1e-12)))
        # A band half as wide is caught.
        quarter = (high - low) / 4
        low, high = low + quarter, high - quarter
        narrow += not bool(np.all((low <= true + 1e-12) & (true <= high + 1e-12)))
    assert missed / 400 <= 0.2 < narrow / 400


def test_a_picture_shows_each_group_s_curve_with_its_band(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        ax = session.cdf("x", by="k", noise=Geometric(1)).plot()
        assert [line.get_label() for line in ax.lines] == ["a", "b", "c"]
        assert len(ax.collections) == 3
        assert "95 %" in ax.get_ylabel()
        alone = session.ranges("x", noise=Geometric(1)).plot()
        assert alone.get_legend() is None
    many = draw_bands(
        [0, 1],
        [BandCurve("$g$", [1, 2], [0, 1], [2, 3])] * (MOST_CURVES + 2),
        title="t",
        across="x",
        scale="s",
    )
    assert many.get_title() == f"t (the first {MOST_CURVES} groups; 2 more)"


def test_bars_of_persons_and_replaced_rows_pay_for_all_levels(tmp_path: Path) -> None:
    with dv.Session(
        DATA,
        name="rows",
        schema=SCHEMA,
        budget=dv.Budget.pure(100),
        ledger=tmp_path / "r.ledger",
        neighbours="replace",
    ) as session:
        least = session.quote(dv.Minimum("x"), noise=Geometric(1))
        levels = len(least.asked[0].noises)
        assert least.charge.epsilon == 2 * levels


def test_of_many_values_some_are_printed_and_all_are_in_the_table(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        wide = session.ranges("x", low=0, high=1_999, step=1, by="k", noise=QUIET)
        assert wide.size == 6_000
        lines = str(wide).splitlines()
        assert lines[0].startswith("a, 0 ")
        assert lines[20].startswith("b, 0 ")
        assert lines[59].startswith("c, 1999 ")
        assert lines[60] == "... and 5,940 more cells"
        shown = wide.excerpt(60)
        band = wide.cdf(group=("b",), level=wide.level)
        for (group, point), value, bar in shown[20:40]:
            assert group == "b"
            there = [band[end][point].as_py() for end in ("value", "low", "high")]
            assert list(map(float, (value, bar.low, bar.high))) == pytest.approx(there, abs=1e-9)
        loud = session.ranges("x", low=0, high=1_999, step=1, by="k", noise=Geometric("0.3"))
        band = loud.cdf(group=("b",), level=loud.level)
        for (_, point), value, bar in loud.excerpt(60)[20:40]:
            there, low, high = (band[end][point].as_py() for end in ("value", "low", "high"))
            assert (bar.low, bar.high) == (min(low, value), max(high, value))
            assert value == there
            assert bar.low < bar.high
        few = session.ranges("x", noise=QUIET)
        assert few.excerpt(60) == few.excerpt()
        assert [keys for keys, _, _ in few.excerpt()] == few.keys


def test_points_between_whole_numbers_read_as_decimals(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        halves = session.ranges("x", low=0, high=19, step="0.5", noise=QUIET)
        assert halves.cdf()["x"].to_pylist()[:3] == [0.0, 0.5, 1.0]
        assert str(halves).splitlines()[1].startswith("0.5 ")
        thirds = session.ranges("x", low=0, high=18, step="1/3", noise=QUIET)
        assert thirds.cdf()["x"].to_pylist() == [float(Fraction(place, 3)) for place in range(55)]


def test_one_quantile_needs_no_list(tmp_path: Path) -> None:
    with opened(tmp_path) as session:
        assert session.quantiles("x", 0.5, noise=QUIET).value == 12
        assert session.quantiles("x", "0.5", noise=QUIET).stored
