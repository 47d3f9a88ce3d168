"""Trees are chosen from the number of values and the price."""

from __future__ import annotations

from math import sqrt
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.noise import Geometric
from dovetail.workloads.tree_queries import mean_range_variance
from dovetail.workloads.tree_shapes import best_shapes
from dovetail.workloads.trees import Tree

DATA = pyarrow.table({"x": [3, 1, 4, 1, 5], "p": [1, 1, 2, 2, 3]})


def quoted(folder: Path, values: int, spend: dv.Budget, **options: Any) -> Any:
    budget = options.pop("budget", spend)
    with dv.Session(DATA, name="rows", budget=budget, ledger=folder / "rows.ledger", **options) as session:
        return session.quote(dv.Ranges("x", 0, values - 1, 1), spend=spend)


@pytest.mark.parametrize("epsilon", ["0.01", "1", "4", "8"])
@pytest.mark.parametrize("values", [2, 9, 99, 1500])
def test_no_other_number_of_levels_errs_less_at_the_price(tmp_path: Path, values: int, epsilon: str) -> None:
    """The error told is that of dense algebra's variances, which the trees' own tests compare with."""
    quote = quoted(tmp_path, values, dv.Budget.pure(epsilon))
    (asked,) = quote.asked
    widths = asked.question.measure.widths
    assert asked.noises == asked.noises[:1] * len(widths)
    assert quote.charge.epsilon <= dv.Budget.pure(epsilon).epsilon_limit
    errors = {}
    for shape in best_shapes(values):
        noise = Geometric(dv.Budget.pure(epsilon).epsilon_limit / len(shape.tree.widths))
        errors[shape.tree.widths] = sqrt(
            mean_range_variance(Tree(values, shape.tree.widths)) * noise.variance()
        )
    assert errors[widths] == min(errors.values())
    assert asked.ways[0].worst == pytest.approx(errors[widths], rel=1e-6)


def test_a_high_price_needs_no_blocks(tmp_path: Path) -> None:
    assert quoted(tmp_path, 99, dv.Budget.pure(8)).asked[0].question.measure.widths == (1,)
    assert len(quoted(tmp_path, 99, dv.Budget.pure(1)).asked[0].question.measure.widths) == 2


@pytest.mark.parametrize(("values", "most"), [(99, 6.9), (121, 7.3), (1500, 13.6), (1_500_000, 37)], ids=str)
def test_ranges_err_as_little_as_they_should(tmp_path: Path, values: int, most: float) -> None:
    quote = quoted(tmp_path, values, dv.Budget.pure(1))
    assert quote.asked[0].ways[0].worst <= most
    assert "a range of x" in str(quote)


def test_a_delta_is_used_where_it_gains_and_a_price_is_kept(tmp_path: Path) -> None:
    spend = dv.Budget.approximate(1, "1e-6")
    quote = quoted(tmp_path, 1_500_000, spend, budget=dv.Budget.approximate(2, "1e-5"))
    assert quote.affordable
    assert quote.asked[0].ways[0].worst < 35.9


@pytest.mark.parametrize("rule", ["add-remove", "replace"])
def test_persons_and_replaced_rows_keep_the_price(tmp_path: Path, rule: Any) -> None:
    spend = dv.Budget.pure(1)
    quote = quoted(tmp_path, 1500, spend, unit="p", max_rows=3, neighbours=rule)
    assert quote.charge.epsilon <= 1
    noise, levels = quote.asked[0].noises[0], len(quote.asked[0].noises)
    assert noise.rates[0] * levels * 3 * (2 if rule == "replace" else 1) <= 1
