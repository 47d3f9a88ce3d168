"""What several aggregates of one SELECT are made of is measured, and paid, once."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow
import pytest
from scipy.stats import binom

import dovetail as dv
from dovetail.query import Column, Count, Histogram, Mean, Median, Query, Schema, Sum, Variance
from dovetail.query.measures import read_measure
from dovetail.query.shared_components import components_read, shared
from dovetail.query.sql import read_select

SCHEMA = Schema(
    [
        Column("age", "integer", low=0, high=120),
        Column("pay", "number", low=-5, high=10, step="0.5"),
        Column("sex", "text", values=["F", "M"]),
    ]
)
TABLE = SCHEMA.table()
NOISE = dv.Geometric("0.5")
MANY = "AVG(age), COUNT(age), SUM(age), VAR_POP(age), STDDEV_SAMP(age)"


@pytest.mark.parametrize(
    ("text", "paid"),
    [
        ("AVG(age), COUNT(age)", [Mean("age")]),
        ("SUM(age), AVG(age)", [Mean("age")]),
        ("COUNT(age), SUM(age)", [Count("age IS NOT NULL"), Sum("age")]),
        (MANY, [Variance("age")]),
        ("AVG(age), COUNT(*)", [Mean("age"), Count()]),
        ("AVG(age), AVG(pay), SUM(pay)", [Mean("age"), Mean("pay")]),
        ("AVG(age), COUNT(pay)", [Mean("age"), Count("pay IS NOT NULL")]),
        ("MEDIAN(age), MIN(age), MAX(age), AVG(age)", [Median("age", kind="cont"), Mean("age")]),
        ("STDDEV(pay), VARIANCE(pay)", [dv.Std("pay", sample=True)]),
    ],
)
def test_what_is_shared_is_asked_once(text: str, paid: list[Query]) -> None:
    found = [
        query.checked(TABLE).to_dict() for query in read_select(f"SELECT {text} FROM data", TABLE).queries
    ]
    assert found == [query.checked(TABLE).to_dict() for query in paid]


@pytest.mark.parametrize(
    ("where", "shares"),
    [
        ("age IS NOT NULL", True),
        ("age >= 40 AND sex = 'F'", True),
        ("age NOT IN (1, 2)", True),
        ("age IS NULL OR age > 3", False),
        ("sex = 'F'", False),
        ("age > 3 OR sex = 'F'", False),
    ],
)
def test_rows_are_counted_by_the_mean_only_where_none_lacks_a_value(where: str, shares: bool) -> None:
    selection = read_select(f"SELECT sex, AVG(age), COUNT(*) FROM data WHERE {where} GROUP BY sex", TABLE)
    assert len(selection.queries) == 2 - shares


def test_other_rows_and_other_groups_share_nothing() -> None:
    queries = [
        Mean("age"), Mean("age", where="sex = 'F'"), Mean("age", by=("sex",)), Mean("age", high=100),
        Histogram("sex"), Count("age IS NOT NULL"),
    ]  # fmt: skip
    found = shared([query.checked(TABLE) for query in queries])
    assert [place for place, _ in found] == [0, 1, 2, 3, 4, 0]


@pytest.fixture
def session(tmp_path: Path) -> dv.Session:
    rows = pyarrow.table({"age": [20, 30, None, 40] * 50, "pay": [1.0] * 200, "sex": ["F", "M"] * 100})
    return dv.Session(rows, name="rows", schema=SCHEMA, budget=dv.Budget.pure(10**4), ledger=tmp_path / "l")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_charge_is_that_of_the_shared_components(tmp_path: Path, neighbours: str) -> None:
    rows = pyarrow.table({"age": [20, None], "pay": [1.0, 2.0], "sex": ["F", "M"]})
    with dv.Session(
        rows, name="r", schema=SCHEMA, budget=dv.Budget.pure(99), ledger=tmp_path / "l", neighbours=neighbours
    ) as session:
        for noise in (NOISE, dv.GeometricMixture("0.1", "0.3", 4)):
            text = f"SELECT sex, {MANY} FROM data GROUP BY sex"
            alone = session.price(Variance("age", by=("sex",)), noise=noise)
            assert session.price(text, noise=noise) == alone
            apart = session.price([Mean("age", by=("sex",)), Variance("age", by=("sex",))], noise=noise)
            assert alone.epsilon_units < apart.epsilon_units
            assert session.sql(text, noise=noise).charge == alone


def test_numbers_of_one_release_agree(session: dv.Session) -> None:
    with session:
        answer = session.sql(f"SELECT {MANY} FROM data", noise=dv.Geometric(50))
    value = answer.value
    assert value["count_age"] == pytest.approx(150, abs=1)
    assert (
        value["sum_age"] / value["count_age"] == pytest.approx(value["avg_age"]) == pytest.approx(30, abs=0.5)
    )
    assert value["var_pop_age"] == pytest.approx(200 / 3, abs=3)
    assert value["stddev_samp_age"] ** 2 * 149 / 150 == pytest.approx(value["var_pop_age"], abs=1)


def test_a_sum_that_is_read_from_a_mean_has_an_interval_that_holds() -> None:
    whole = Mean("age").checked(TABLE).measure
    total = Sum("age").checked(TABLE).measure.forms()[1]
    assert components_read(total, whole) == (0, 1)
    noises = tuple(NOISE.stretched(component.reach.up) for component in whole.components())
    runs, true = 2000, whole.released([(4500, 150)])
    drawn = zip(*(noise.sample(runs) + value for noise, value in zip(noises, true, strict=True)), strict=True)
    cells = [tuple(map(int, cell)) for cell in drawn]
    found = total.intervals(cells, noises, Fraction(1, 10), False)
    held = sum(bar.low <= 4500 <= bar.high for bar in found)
    assert binom.ppf(1e-9, runs, 0.9) <= held <= binom.ppf(1 - 1e-9, runs, 0.92)
    # A bar that looks at the noise of the sum alone is too short, and is found out.
    short = noises[0].error_bound("0.1") * Fraction(1, 2)
    estimates = total.estimates(cells, noises)
    assert sum(abs(value - 4500) <= short for value in estimates) < binom.ppf(1e-9, runs, 0.9)
    assert total.to_dict() != Sum("age").checked(TABLE).measure.to_dict()
    assert read_measure(total.to_dict()) == total
    # At the same price of each part it errs no more than a sum by itself.
    width = found[0].high - found[0].low
    assert width <= 2 * NOISE.stretched(120).error_bound("0.1")
