"""Hostile parameters against every public constructor, method and option: refused by name, nothing spent."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import dovetail as dv
from dovetail.errors import DovetailError, InvalidParameter, InvalidQuery
from dovetail.ledger import Ledger
from dovetail.query.condition import ColumnComparison, Every, Member, Missing
from dovetail.query.field import Field

PEOPLE = pyarrow.table({"age": [20, 30, 40], "sex": ["F", "M", "F"]})
NOISE = dv.Geometric("0.001")
# Not one of these is a number above 0 that Dovetail takes.
NUMBERS: dict[str, Any] = {
    "zero": 0,
    "negative": -1,
    "nan": float("nan"),
    "inf": float("inf"),
    "true": True,
    "underscore": "1_0",
    "full width": "１",
    "1e401": "1e401",
    "1e-401": "1e-401",
    "400 nines": "9" * 402,
    "5000 digits": 10**5000,
    "1e99999999": "1e99999999",
    "decimal 1e99999999": Decimal("1e99999999"),
    "decimal nan": Decimal("sNaN"),
    "ratio to 0": "1/0",
    "hexadecimal": "0x1",
    "empty": "",
    "bytes": b"1",
    "complex": 1j,
    "list": [],
    "array": np.array([1, 2]),
    "object": object(),
}


@contextmanager
def at_once(seconds: int = 10) -> Iterator[None]:
    """Fail where a hostile value keeps us busy."""

    def late(*_: object) -> None:
        raise TimeoutError("this hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dv.Session]:
    place = tmp_path_factory.mktemp("hostile") / "a.ledger"
    with dv.Session(PEOPLE, name="people", budget=dv.Budget.pure(10), ledger=place) as opened:
        yield opened


def refused(make: Callable[[], object], *kinds: type[DovetailError]) -> None:
    with at_once(), pytest.raises(kinds or (InvalidParameter, InvalidQuery)) as caught:
        make()
    assert len(str(caught.value)) < 700


MADE: dict[str, Callable[[Any], object]] = {
    "Geometric": dv.Geometric,
    "Laplace": dv.Laplace,
    "inner": lambda x: dv.GeometricMixture(x, 1, 5),
    "outer": lambda x: dv.LaplaceMixture(1, x, 5),
    "break_point": lambda x: dv.GeometricMixture(1, 2, x),
    "rates": lambda x: dv.PiecewiseGeometric([1, x], [3]),
    "breaks": lambda x: dv.PiecewiseGeometric([1, 2], [x]),
    "real breaks": lambda x: dv.PiecewiseLaplace([1, 2], [x]),
    "DiscreteGaussian": dv.DiscreteGaussian,
    "Staircase": dv.Staircase,
    "TruncatedLaplace": lambda x: dv.TruncatedLaplace(x, 5),
    "truncated bound": lambda x: dv.TruncatedGeometric(1, x),
    "Budget.pure": dv.Budget.pure,
    "Budget.approximate": lambda x: dv.Budget.approximate(x, "1e-6"),
    "delta": lambda x: dv.Budget.approximate(1, x),
    "Budget.zeta": lambda x: dv.Budget.zeta(x, max_epsilon=1),
    "max_epsilon": lambda x: dv.Budget.zeta(1, max_epsilon=x),
    "design epsilon": lambda x: dv.design(epsilon=x),
    "design queries": lambda x: dv.design(epsilon=1, queries=x),
    "design probability": lambda x: dv.design(within=5, probability=x),
    "goal probability": lambda x: dv.Goal(5, x),
    "goal cells": lambda x: dv.Goal(5, "0.9", x),
    "compose": dv.privacy_loss(NOISE).compose,
    "renyi": dv.privacy_loss(NOISE).renyi,
    "stretched": NOISE.stretched,
    "quantile_abs": NOISE.quantile_abs,
    "error_bound": NOISE.error_bound,
    "on_lattice": dv.Laplace(1).on_lattice,
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("value", NUMBERS)
def test_no_constructor_takes_a_hostile_number(made: str, value: str) -> None:
    refused(lambda: MADE[made](NUMBERS[value]), InvalidParameter)


ASKED: dict[str, Callable[[dv.Session, Any], object]] = {
    "within": lambda s, x: s.count(within=x),
    "probability": lambda s, x: s.count(within=5, probability=x),
    "noise": lambda s, x: s.count(noise=x),
    "spend": lambda s, x: s.count(spend=x),
    "plan": lambda s, x: s.count(plan=x),
    "where": lambda s, x: s.count(where=x, noise=NOISE),
    "column": lambda s, x: s.histogram(x, noise=NOISE),
    "keys": lambda s, x: s.histogram("sex", keys=x, noise=NOISE),
    "bins": lambda s, x: s.histogram("sex", bins=x, noise=NOISE),
    "low": lambda s, x: s.sum("age", low=x, high=-5, step=1, noise=NOISE),
    "high": lambda s, x: s.mean("age", low=5, high=x, step=1, noise=NOISE),
    "step": lambda s, x: s.sum("age", low=0, high=10, step=x, noise=NOISE),
    "summed": lambda s, x: s.sum(x, low=0, high=1, step=1, noise=NOISE),
    "weights": lambda s, x: s.linear("sex", x, step=1, noise=NOISE),
    "weight step": lambda s, x: s.linear("sex", {"F": 1}, step=x, noise=NOISE),
    "sql": lambda s, x: s.sql(x, noise=NOISE),
    "batch": lambda s, x: s.batch(x, noise=NOISE),
    "batch of one": lambda s, x: s.batch([x], noise=NOISE),
    "price": lambda s, x: s.price(x, noise=NOISE),
    "plan queries": lambda s, x: s.plan(NOISE, queries=x),
    "plan noise": lambda s, x: s.plan(x, queries=1),
    "delta": lambda s, x: s.histogram("sex", keys="discover", noise=NOISE, delta=x),
    "keys by column": lambda s, x: s.histogram("sex", keys={"sex": x}, noise=NOISE),
    "count_distinct": lambda s, x: s.count_distinct(x, noise=NOISE),
    "clamp": lambda s, x: s.count(noise=NOISE, clamp=x if x is not True else 1),
    "fresh": lambda s, x: s.count(noise=NOISE, fresh=x if x is not True else 1),
}


@pytest.mark.parametrize("word", ["seed", "sensitivity", "account", "standing"])
def test_no_question_takes_a_word_that_would_weaken_it(session: dv.Session, word: str) -> None:
    before = session._account.standing()
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{word}'"):
        session.count(noise=NOISE, **{word: 1})  # type: ignore[arg-type]
    assert session._account.standing() == before


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("value", NUMBERS)
def test_no_question_takes_a_hostile_value_or_spends_on_it(
    session: dv.Session, asked: str, value: str
) -> None:
    before = session._account.standing()
    refused(lambda: ASKED[asked](session, NUMBERS[value]))
    assert session._account.standing() == before


ONE = dv.Budget.pure(1)
OPENED: dict[str, Callable[[Path, Any], object]] = {
    "source": lambda p, x: dv.Session(x, name="x", budget=dv.Budget.pure(1), ledger=p),
    "budget": lambda p, x: dv.Session(PEOPLE, name="x", budget=x, ledger=p),
    "schema": lambda p, x: dv.Session(PEOPLE, name="x", budget=dv.Budget.pure(1), ledger=p, schema=x),
    "neighbours": lambda p, x: dv.Session(PEOPLE, name="x", budget=dv.Budget.pure(1), ledger=p, neighbours=x),
    "queries": lambda p, x: dv.Session(PEOPLE, name="x", budget=dv.Budget.pure(1), ledger=p, queries=x),
    "unit": lambda p, x: dv.Session(PEOPLE, name="x", budget=ONE, ledger=p, unit=x, max_rows=1),
    "max_rows": lambda p, x: dv.Session(PEOPLE, name="x", budget=ONE, ledger=p, unit="sex", max_rows=x),
    "max_cells": lambda p, x: dv.Session(
        PEOPLE, name="x", budget=ONE, ledger=p, unit="sex", max_rows=1, max_cells=x
    ),
    "table": lambda p, x: dv.Session(PEOPLE, budget=ONE, ledger=p, table=x),
    "Schema": lambda _, x: dv.Schema([x]),
    "column type": lambda _, x: dv.Column("a", x),
    "values": lambda _, x: dv.Column("a", "text", values=x),
}


@pytest.mark.parametrize("opened", OPENED)
@pytest.mark.parametrize("value", NUMBERS)
def test_no_session_opens_with_a_hostile_value(opened: str, value: str, tmp_path: Path) -> None:
    refused(lambda: OPENED[opened](tmp_path / "a.ledger", NUMBERS[value]), DovetailError)


@pytest.mark.parametrize("value", ["zero", "true", "nan", "empty", "bytes", "list", "object", "5000 digits"])
def test_a_ledger_is_a_path_or_an_address(value: str) -> None:
    refused(lambda: Ledger.open(NUMBERS[value]), InvalidParameter)


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.histogram("age", keys=count(), noise=NOISE),
        lambda s: s.histogram("age", bins=count(), noise=NOISE),
        lambda s: s.histogram("age", keys=range(10**30), noise=NOISE),
        lambda s: s.histogram("age", bins=range(10**30), noise=NOISE),
        lambda s: s.batch((dv.Count() for _ in count()), noise=NOISE),
        lambda s: s.histogram("age", "sex", keys={"age": range(60_000), "sex": ["F", "M"]}, noise=NOISE),
    ],
)  # fmt: skip
def test_what_never_ends_is_refused_at_once(session: dv.Session, ask: Callable[[dv.Session], object]) -> None:
    refused(lambda: ask(session))


@pytest.mark.parametrize("edges", [[5, 3], [5, 5], [0, 10, 5], [0], [], [0, "x"], [0, float("nan")]])
def test_bins_rise(session: dv.Session, edges: list[object]) -> None:
    refused(lambda: session.histogram("age", bins=edges, noise=NOISE))


@pytest.mark.parametrize(
    ("low", "high"), [(5, 5), (7, 5), (0, 2**63), (0, "1e308"), (None, 5), (0, None), (0, "0.5")]
)
def test_bounds_are_apart_and_on_the_lattice(session: dv.Session, low: object, high: object) -> None:
    refused(lambda: session.sum("age", low=low, high=high, step=1, noise=NOISE))
    refused(lambda: session.mean("age", low=low, high=high, step=1, noise=NOISE))


@pytest.mark.parametrize(
    "where",
    [
        ColumnComparison(Field("nobody", "integer"), "=", 5),
        ColumnComparison(Field('age" = 1 OR 1=1 --', "integer"), "=", 5),
        ColumnComparison(Field("age", "integer"), "LIKE", 5),
        ColumnComparison(Field("age", "json"), "=", 5),
        ColumnComparison(Field("sex", "integer"), "=", 5),  # would fail on rows that are no numbers
        ColumnComparison("age", "=", 5),  # type: ignore[arg-type]
        Member(Field("age", "integer"), ()),
        Every(()),
        Every((Missing(Field("age", "integer")), "1=1")),  # type: ignore[arg-type]
        0,
        False,
    ],
)
def test_a_typed_condition_is_checked_like_a_text(session: dv.Session, where: object) -> None:
    before = session._account.standing()
    refused(lambda: session.count(where=where, noise=NOISE), InvalidQuery)  # type: ignore[arg-type]
    assert session._account.standing() == before


def test_a_typed_condition_that_is_right_is_the_question_that_its_text_spells(session: dv.Session) -> None:
    typed = Every((ColumnComparison(Field("AGE", "number"), ">=", 30), Member(Field("sex", "text"), ("F",))))
    first = session.count(where=typed, noise=NOISE)  # type: ignore[arg-type]
    assert session.count(where="sex = 'F' AND age >= 30", noise=NOISE).value == first.value


HUGE: dict[str, Callable[[], object]] = {
    "within": lambda: dv.design(within="1e400"),
    "sensitivity": lambda: dv.privacy_loss(NOISE, sensitivity="1e20"),
    "real sensitivity": lambda: dv.privacy_loss(dv.Laplace(1), sensitivity="1e400"),
    "order": lambda: dv.privacy_loss(NOISE).renyi("1e400"),
    "tail": lambda: dv.privacy_loss(NOISE).tail("1e400"),
    "size": lambda: NOISE.sample(10**17),
    "shape": lambda: NOISE.sample((10**9, 10**9)),
    "no noise": lambda: dv.privacy_loss([]),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("made", HUGE)
def test_a_number_that_is_readable_but_too_large_is_refused_too(made: str) -> None:
    refused(HUGE[made], InvalidParameter)


def test_a_goal_beyond_all_numbers_is_refused(session: dv.Session) -> None:
    refused(lambda: session.count(within="1e400"), InvalidParameter)


def test_a_tiny_epsilon_is_refused_or_costs_a_whole_unit(session: dv.Session) -> None:
    for rate in ("1e-10", "1e-12"):
        assert session.price(dv.Count(), noise=dv.Geometric(rate)).epsilon_units == 1
    refused(lambda: session.count(noise=dv.Geometric("1e-30")))
    refused(lambda: dv.Geometric("1e-400"))
    for spend in (dv.Budget.pure("9.9e-10"), dv.Budget.zeta("1e-10", max_epsilon=1)):
        with pytest.raises(dv.InvalidParameter, match=r"spend=.*must be at least 1e-9"):
            session.count(spend=spend)
