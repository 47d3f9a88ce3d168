"""Keys that are found out: the threshold's delta by enumeration, whole mechanisms, and what is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dv
from dovetail.errors import BudgetExceeded, InvalidParameter, InvalidQuery, MissingKeys, MissingPrice
from dovetail.noise import DiscreteGaussian, Geometric, GeometricMixture, IntegerNoise, PiecewiseGeometric
from dovetail.pricing.composition import charge_of
from dovetail.pricing.partition_selection import threshold_for
from dovetail.privacy import partitions
from dovetail.query import CountDistinct, Histogram, Mean, Sum
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import Field
from dovetail.query.measures import Distinct, Measure, Rows
from dovetail.query.neighbours import Neighbours, Persons
from dovetail.query.partitions import Discovered
from strategies import narrow_integers

UNIT = Fraction(1, 10**18)
Held = tuple[int, ...]
Moved = tuple[tuple[int, int], ...]
NOISES = [
    Geometric(1),
    Geometric("0.1"),
    GeometricMixture("0.3", "1.2", 4),
    PiecewiseGeometric(["1.5", "0.2"], [3]),
    PiecewiseGeometric(["0.2", 2, "0.4"], [2, 5]),
    dv.LaplaceMixture("0.3", "1.1", "2.5").rounded(),
    DiscreteGaussian(3),
]


def question(rows: int = 0, cells: int = 1, measure: Measure | None = None) -> CheckedQuery:
    """Return a histogram of unknown words, of persons with so many rows in so many cells where asked."""
    persons = Persons(Field("who", "text"), rows, cells) if rows else None
    return CheckedQuery(measure or Rows(), (Discovered(Field("word", "text")),), persons=persons)


def spreads(asked: CheckedQuery) -> Iterator[tuple[int, ...]]:
    """Yield every way of one neighbour to be in cells, without thinking which is the worst."""
    if asked.persons is None:
        yield (1,)
    elif isinstance(asked.measure, Distinct):
        yield from ((1,) * cells for cells in range(1, asked.persons.max_cells + 1))
    else:
        for rows in range(1, asked.persons.max_rows + 1):
            yield from partitions(rows, asked.persons.max_cells, rows)


def chance(noise: IntegerNoise, least: int, spread: tuple[int, ...]) -> float:
    """Return the chance that a neighbour alone in their cells is seen, from the noise's own tail."""
    return 1 - prod(1 - float(noise.sf(least - rows - 1)) for rows in spread)


@pytest.mark.parametrize("noise", NOISES, ids=str)
@pytest.mark.parametrize("delta", ["0.01", "1e-4", "1e-6"])
@pytest.mark.parametrize(
    "asked",
    [question(), question(1, 1), question(3, 1), question(4, 2), question(6, 3), question(7, 7)]
    + [question(2, cells, Distinct()) for cells in (1, 2, 5)],
    ids=lambda asked: str(asked.persons and (asked.persons.max_rows, asked.persons.max_cells)),
)
def test_the_threshold_is_the_least_whose_delta_is_paid(
    noise: IntegerNoise, delta: str, asked: CheckedQuery
) -> None:
    found = threshold_for(asked, noise, int(Fraction(delta) / UNIT))
    worst = max(chance(noise, found.least, spread) for spread in spreads(asked))
    assert worst <= Fraction(found.delta) * (1 + Fraction(1, 10**9))
    assert float(found.delta) == pytest.approx(worst, rel=1e-9)
    assert found.delta <= Fraction(delta)
    below = max(chance(noise, found.least - 1, spread) for spread in spreads(asked))
    assert below > float(delta) * (1 - 1e-9)


@pytest.mark.parametrize(("rows", "cells"), [(1, 1), (3, 1), (4, 2)])
def test_however_much_delta_is_paid_a_threshold_lies_above_the_rows_of_one_person(
    rows: int, cells: int
) -> None:
    assert threshold_for(question(rows, cells), Geometric(1), int(Fraction("0.95") / UNIT)).least == rows + 1


@settings(max_examples=60, deadline=None)
@given(
    noise=narrow_integers,
    rows=st.integers(1, 9),
    cells=st.integers(1, 9),
    digits=st.integers(1, 12),
)
def test_no_spread_of_any_person_is_seen_more_often_than_charged(
    noise: IntegerNoise, rows: int, cells: int, digits: int
) -> None:
    asked = question(rows, cells)
    found = threshold_for(asked, noise, 10 ** (18 - digits))
    slack = 1 + 1e-9
    assert all(
        chance(noise, found.least, each) <= float(found.delta) * slack + 1e-15 for each in spreads(asked)
    )


@cache
def outcomes(noise: IntegerNoise, least: int, rows: int, top: int) -> list[float]:
    """Return the distribution of what one cell shows: nothing, each noisy count up to `top`, and beyond."""
    if rows == 0:
        return [1.0] + [0.0] * (top - least + 2)
    shown = [float(noise.pmf(count - rows)) for count in range(least, top + 1)]
    return [float(noise.cdf(least - 1 - rows)), *shown, float(noise.sf(top - rows))]


def excess(noise: IntegerNoise, least: int, moved: Moved, epsilon: float) -> float:
    """Return the delta by which two tables differ at `epsilon`, cells that are alike left out."""
    p, q = np.ones(1), np.ones(1)
    for mine, yours in moved:
        shown = [outcomes(noise, least, rows, least + 25) for rows in (mine, yours)]
        p, q = np.outer(p, shown[0]).ravel(), np.outer(q, shown[1]).ravel()
    return float(np.maximum(p - exp(epsilon) * q, 0).sum())


def tables(asked: CheckedQuery, kind: Neighbours) -> Iterator[tuple[Held, Held]]:
    """Yield pairs of neighbours over three cells: what others have in each, and what one neighbour adds."""
    most = asked.persons.max_rows if asked.persons else 1
    cells = asked.persons.max_cells if asked.persons else 1
    ceiling = 1 if isinstance(asked.measure, Distinct) else most
    adds = [
        add
        for add in product(range(ceiling + 1), repeat=3)
        if sum(map(bool, add)) <= cells and (ceiling == 1 or sum(add) <= most)
    ]
    if asked.persons is None:
        adds = [add for add in adds if sum(add) <= 1]
    for others in product((0, 1, 2), repeat=3):
        for add in adds:
            with_one = tuple(map(sum, zip(others, add, strict=True)))
            if kind == "add-remove":
                yield others, with_one
                continue
            for instead in adds:
                yield with_one, tuple(map(sum, zip(others, instead, strict=True)))


@pytest.mark.parametrize("kind", ["add-remove", "replace"])
@pytest.mark.parametrize("noise", [Geometric("0.7"), GeometricMixture("0.4", "1.1", 3)], ids=str)
@pytest.mark.parametrize(
    "asked",
    [question(), question(2, 1), question(2, 2), question(3, 2, Distinct())],
    ids=["rows", "2 in 1", "2 in 2", "persons"],
)
def test_every_pair_of_small_tables_is_within_the_charge(
    asked: CheckedQuery, noise: IntegerNoise, kind: Neighbours
) -> None:
    found = threshold_for(asked, noise, int(Fraction(1, 100) / UNIT))
    charged = charge_of([asked], [[noise]], kind)
    assert charged.epsilon_units is not None
    epsilon = charged.epsilon_units * 1e-9
    pairs = moved_pairs(asked, kind)
    assert len(pairs) > 5
    gaps = [excess(noise, found.least, pair, epsilon) for pair in pairs]
    assert max(gaps) <= float(found.delta) * (1 + 1e-9) + 1e-12
    # It is tight, and one less would not do: the check can fail.
    assert max(gaps) == pytest.approx(float(found.delta), rel=0.02)
    lower = [excess(noise, found.least - 1, pair, epsilon) for pair in pairs]
    assert max(lower) > float(found.delta) * 1.05


def moved_pairs(asked: CheckedQuery, kind: Neighbours) -> set[Moved]:
    """Return, both ways, how cells of neighbours differ; cells that are alike and their order say nothing."""
    pairs = {
        tuple(sorted(pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]))
        for one, other in tables(asked, kind)
    }
    return pairs | {tuple(sorted((b, a) for a, b in pair)) for pair in pairs}


def session(rows: Any, folder: Path, budget: Any = None, **rest: Any) -> dv.Session:
    table = rows if isinstance(rows, pyarrow.Table) else pyarrow.table({"word": rows})
    budget = budget or dv.Budget.approximate(10**6, "0.2")
    return dv.Session(table, name="words", budget=budget, ledger=folder / "words.ledger", **rest)


def test_frequent_keys_are_shown_and_rare_ones_are_not(tmp_path: Path) -> None:
    words = ["often"] * 500 + ["also"] * 300 + [f"rare{n}" for n in range(200)] + [None] * 100
    with session(words, tmp_path) as asked:
        answer = asked.histogram("word", keys="discover", noise=Geometric(1), delta="1e-9")
        assert answer.keys == [("also",), ("often",), (None,)]
        assert answer.table.column_names == ["word", "value", "low", "high"]
        assert answer.table["word"].to_pylist() == ["also", "often", None]
        assert answer.threshold is not None
        assert 0 < answer.charge.delta_units <= 10**9
        assert answer.threshold == threshold_for(answer.query, Geometric(1), 10**9)
        assert "rarer ones are left out by design" in str(answer)
        assert f"at least {answer.threshold.least}" in str(answer)
        assert "left out by design" in answer._repr_html_()
        told = json.loads(answer.to_json())
        assert told["threshold"] == {"least": answer.threshold.least, "delta": f"{answer.threshold.delta:f}"}
        assert [row["keys"] for row in told["rows"]] == [{"word": "also"}, {"word": "often"}, {"word": None}]
        assert answer.consistent().value == answer.value
        answer.plot()


def test_the_same_question_gives_the_stored_keys_for_free(tmp_path: Path) -> None:
    days = ["2024-02-03", "2024-01-05"]
    table = pyarrow.table({"day": pyarrow.array(days * 100).cast(pyarrow.date32()), "n": [1, 2] * 100})
    with session(table, tmp_path) as asked:

        def ask(**more: Any) -> Any:
            return asked.histogram(
                "day",
                "n",
                keys={"day": "discover"},
                bins={"n": [0, 2, 9]},
                noise=Geometric(1),
                delta="1e-8",
                **more,
            )

        first, again, fresh = ask(), ask(), ask(fresh=True)
        assert first.keys == again.keys == fresh.keys
        assert [[str(key) for key in keys] for keys in first.keys] == [
            ["2024-01-05", "[2, 9)"],
            ["2024-02-03", "[0, 2)"],
        ]
        assert (again.stored, again.value) == (True, first.value)
        assert not fresh.stored
        other = asked.histogram(
            "day", "n", keys={"day": "discover"}, bins={"n": [0, 2, 9]}, noise=Geometric(1), delta="1e-9"
        )
        assert not other.stored, "another threshold is another question"


def test_the_order_of_keys_says_nothing_about_the_rows(tmp_path: Path) -> None:
    words = [f"word{n % 40}" for n in range(4000)]
    orders = set()
    for attempt in range(3):
        random.Random(attempt).shuffle(words)
        (tmp_path / str(attempt)).mkdir()
        with session(words, tmp_path / str(attempt)) as asked:
            answer = asked.histogram("word", keys="discover", noise=Geometric(1), delta="1e-8")
            orders.add(tuple(answer.keys))
    assert orders == {tuple((word,) for word in sorted(set(words)))}


@pytest.mark.parametrize("budget", [dv.Budget.pure(1), dv.Budget.zeta(1, max_epsilon=2)], ids=str)
def test_a_budget_without_delta_cannot_pay(tmp_path: Path, budget: dv.Budget) -> None:
    with session(["a"] * 100, tmp_path, budget) as asked:
        before = asked.remaining
        with pytest.raises(InvalidParameter, match=r"\(epsilon, delta\) budget.*List the keys"):
            asked.histogram("word", keys="discover", noise=Geometric("0.1"), delta="1e-8")
        assert asked.remaining == before


@pytest.mark.parametrize(
    ("pay", "error", "says"),
    [
        ({"noise": Geometric(1)}, MissingPrice, "costs a delta"),
        ({"within": 5}, MissingPrice, "costs a delta"),
        ({"spend": dv.Budget.pure("0.1")}, MissingPrice, "costs a delta"),
        ({"noise": Geometric(1), "delta": 0}, InvalidParameter, "from 1e-18 to 0.1"),
        ({"noise": Geometric(1), "delta": "nan"}, InvalidParameter, "delta"),
        ({"noise": Geometric(1), "delta": -1}, InvalidParameter, "from 1e-18"),
        ({"noise": Geometric(1), "delta": 0.5}, InvalidParameter, "from 1e-18"),
        ({"spend": dv.Budget.approximate(1, "1e-9"), "delta": "1e-9"}, InvalidParameter, "Leave delta= out"),
        ({"delta": "1e-9"}, InvalidParameter, "beside a noise or an accuracy"),
    ],
    ids=str,
)
def test_what_is_not_paid_for_is_refused_and_spends_nothing(
    tmp_path: Path, pay: dict[str, Any], error: type[Exception], says: str
) -> None:
    with session(["a"] * 100, tmp_path) as asked:
        before = asked.remaining
        with pytest.raises(error, match=says):
            asked.histogram("word", keys="discover", **pay)
        assert asked.remaining == before


def test_what_cannot_be_discovered_is_refused(tmp_path: Path) -> None:
    table = pyarrow.table({"word": ["a"] * 50, "x": [1.5] * 50})
    price: dict[str, Any] = {"noise": Geometric(1), "delta": "1e-9"}
    with session(table, tmp_path) as asked:
        plan = asked.plan(Geometric(1), queries=3)
        with pytest.raises(InvalidParameter, match="A plan has no delta"):
            asked.histogram("word", keys="discover", plan=plan)
        for sums in (Sum, Mean):
            with pytest.raises(InvalidQuery, match="by histograms and counts of persons"):
                asked.batch([sums("x", 0, 2, 1, by=("word",), keys="discover")], **price)
        with pytest.raises(InvalidQuery, match="Give bins"):
            asked.histogram("x", keys="discover", **price)
        with pytest.raises(InvalidParameter, match='or keys="discover"'):
            asked.histogram("word", keys="all", **price)
        with pytest.raises(InvalidParameter, match=r"where no keys are found in the rows"):
            asked.histogram("word", keys=["a"], **price)
        with pytest.raises(MissingKeys, match='keys="discover"'):
            asked.histogram("word", noise=Geometric(1))
        answer = asked.histogram("word", keys="discover", **price)
        with pytest.raises(InvalidQuery, match="How many keys there are is secret"):
            answer.interval(simultaneous=True)


def test_a_price_is_split_between_noise_and_threshold(tmp_path: Path) -> None:
    with session(["a"] * 200, tmp_path, dv.Budget.approximate(1, "1e-6")) as asked:
        answer = asked.histogram("word", keys="discover", spend=dv.Budget.approximate("0.5", "1e-7"))
        assert answer.noise == Geometric("0.5")
        assert answer.charge.epsilon_units == 5 * 10**8
        assert 0 < answer.charge.delta_units <= 10**11
        with pytest.raises(BudgetExceeded):
            asked.histogram("word", keys="discover", noise=Geometric("0.1"), delta="0.01", fresh=True)


def test_a_batch_shares_one_delta(tmp_path: Path) -> None:
    table = pyarrow.table({"word": ["a", "b"] * 200, "n": [1, 2] * 200})
    queries = [
        Histogram("word", keys="discover"),
        Histogram("n", keys="discover"),
        Histogram("n", keys=[1, 2]),
    ]
    with session(table, tmp_path) as asked:
        price = asked.price(queries, noise=Geometric(1), delta="1e-8")
        answers = asked.batch(queries, noise=Geometric(1), delta="1e-8")
        assert price == answers[0].charge
        assert price.delta_units <= 10**10
        assert [answer.keys for answer in answers] == [[("a",), ("b",)], [(1,), (2,)], [(1,), (2,)]]
        shares = [answer.threshold.units for answer in answers[:2] if answer.threshold]
        assert price.delta_units == sum(shares)
        assert answers[2].threshold is None


def test_persons_are_told_apart_from_rows(tmp_path: Path) -> None:
    # One person writes a word a thousand times; forty persons write another once each.
    rows = {"who": ["loud"] * 1000 + [f"p{n}" for n in range(60)], "word": ["mine"] * 1000 + ["ours"] * 60}
    with session(pyarrow.table(rows), tmp_path, unit="who", max_rows=2, max_cells=1) as asked:
        answer = asked.histogram("word", keys="discover", noise=Geometric(1), delta="1e-9")
        assert answer.keys == [("ours",)]
        distinct = asked.count_distinct("word", keys="discover", noise=Geometric(1), delta="1e-9")
        assert distinct.keys == [("ours",)]
        assert "only one person has" in str(distinct)


def test_no_key_at_all_is_an_answer_too(tmp_path: Path) -> None:
    with session(["a", "b"], tmp_path) as asked:
        answer = asked.histogram("word", keys="discover", noise=Geometric(2), delta="1e-12")
        assert answer.value == []
        assert answer.keys == []
        assert "left out by design" in str(answer)
        assert answer.table.num_rows == 0
        assert json.loads(answer.to_json())["rows"] == []
        answer._repr_html_()
        answer.plot()
        again = asked.histogram("word", keys="discover", noise=Geometric(2), delta="1e-12")
        assert again.stored
        assert again.keys == []


def test_hostile_values_neither_fail_nor_steer_a_terminal(tmp_path: Path) -> None:
    words = ["\x1b[31mred", "a\nb", "nul\0", "<script>", "$x_$", "w" * 5000, "", "=1+1", "\u202egnp"]
    with session(words * 100, tmp_path) as asked:
        answer = asked.histogram("word", keys="discover", noise=Geometric(1), delta="1e-9")
        assert {key for (key,) in answer.keys} == set(words) - {"nul\0"}
        assert "\x1b" not in str(answer)
        assert "\u202e" not in str(answer)
        assert "<script>" not in answer._repr_html_()
        assert max(map(len, str(answer).split("\n"))) < 400
        answer.plot()
        assert asked.histogram("word", keys="discover", noise=Geometric(1), delta="1e-9").keys == answer.keys


def test_found_keys_can_be_listed_in_the_next_question(tmp_path: Path) -> None:
    table = pyarrow.table({"word": ["a", "b"] * 100, "x": [1, 2] * 100})
    with session(table, tmp_path) as asked:
        found = asked.histogram("word", keys="discover", noise=Geometric(1), delta="1e-9")
        keys = [key for (key,) in found.keys]
        sums = asked.batch([Sum("x", 0, 5, 1, by=("word",), keys=keys)], noise=Geometric(1))[0]
        assert sums.keys == [("a",), ("b",)]


def test_queries_are_values_and_count_distinct_needs_persons(tmp_path: Path) -> None:
    with session(["a"], tmp_path) as asked, pytest.raises(InvalidQuery, match="which column identifies them"):
        asked.batch([CountDistinct("word", keys="discover")], noise=Geometric(1), delta="1e-9")
