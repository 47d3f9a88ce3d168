"""Values that bodies hold, at the edges of what is allowed."""

from __future__ import annotations

import json
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError
from starlette.requests import Request

from dovetail.errors import InvalidParameter, MissingPrice
from dovetail.noise import (
    DiscreteGaussian,
    Geometric,
    Laplace,
    Noise,
    PiecewiseGeometric,
    PiecewiseLaplace,
    RoundedLaplace,
    StaircaseNoise,
    TruncatedGeometric,
    TruncatedLaplace,
)
from dovetail.privacy import Budget, Charge
from dovetail.release.account import PlanState
from dovetail.service import bodies
from dovetail.service.bodies import (
    QuoteBody,
    check_sql,
    find_plan,
    idempotency_key,
    one_of,
    read_budget,
    read_noise,
    read_pacing,
    read_payment,
    read_queries,
)
from dovetail.service.endpoints.curation import Columns, DraftBody
from dovetail.service.endpoints.runs import RunBody, RunQuestion
from dovetail.service.problems import Refused
from dovetail.service.settings import Limits

NOISE = {"kind": "piecewise-geometric", "rates": ["0.5"], "breaks": []}


def test_limits_themselves_are_allowed() -> None:
    limits = Limits(batch=2, sql=10)
    assert len(read_queries([{"ask": "count"}] * 2, limits)) == 2
    assert check_sql("x" * 10, limits) == "x" * 10
    for refused in (
        lambda: read_queries([{"ask": "count"}] * 3, limits),
        lambda: check_sql("x" * 11, limits),
    ):
        with pytest.raises(Refused) as caught:
            refused()
        assert caught.value.status == 413


@pytest.mark.parametrize(
    "asked",
    [
        {"ask": "count", "where": "n = 1234567"},
        {"ask": "histogram", "columns": ["month", "city", "zz"]},
        {"ask": "sum", "column": "visits", "by": ["city", "z"]},
        {"ask": "count", "where": {"compare": "=", "column": ["n", "integer"], "value": 42}},
    ],
)
def test_the_conditions_and_columns_of_all_questions_together_have_one_limit(asked: Any) -> None:
    """Each had it alone: a body of a hundred long conditions took seven seconds of a processor."""
    assert len(read_queries([asked] * 2, Limits(sql=22))) == 2
    with pytest.raises(Refused) as caught:
        read_queries([asked] * 2, Limits(sql=21))
    assert caught.value.status == 413
    assert "all questions together are longer than 21 characters" in caught.value.detail


@pytest.mark.parametrize(
    "asked",
    [
        {"ask": "histogram", "columns": ["a"], "bins": {"abcdefghij": [1, 2]}},
        {"ask": "histogram", "columns": ["a"], "keys": {"abcdefghij": ["a long word that is no column"]}},
        {"ask": "marginals", "tables": [["abcde", "fghijk"], ["abcde", "fghijk"], "abcde"]},
    ],
)
def test_columns_that_bins_keys_and_tables_name_are_limited_too(asked: Any) -> None:
    """They are expressions as well: a body of them took eight seconds of a processor."""
    assert len(read_queries([asked], Limits(sql=11))) == 1
    with pytest.raises(Refused):
        read_queries([asked], Limits(sql=10))


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (QuoteBody, {"question": [1] * 1000}),
        (QuoteBody, {"sql": "", "vintages": [1] * 1000}),
        (RunBody, {"queries": 1, "columns": [1] * 1000}),
        (RunQuestion, {"question": [1] * 1000}),
        (DraftBody, {"source": {}, "show": [1] * 1000}),
        (Columns, {"columns": [1] * 1000}),
    ],
)
def test_of_many_wrong_items_the_first_is_described(kind: Any, said: Any) -> None:
    """To describe each of those that a body can hold took two seconds of a processor."""
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(said)
    assert caught.value.error_count() <= 2


@pytest.mark.parametrize(
    ("said", "budget"),
    [
        ({"epsilon": 1}, Budget.pure(1)),
        ({"epsilon": 1, "delta": 0}, Budget.pure(1)),
        ({"epsilon": "1", "delta": "0", "currency": "pure"}, Budget.pure(1)),
        ({"epsilon": 1, "delta": "1e-6"}, Budget.approximate(1, "1e-6")),
        ({"epsilon": 1, "zeta": "0.5"}, Budget.zeta("0.5", max_epsilon=1)),
        ({"epsilon": 1, "delta": "1e-6", "zeta": "0.5"}, None),
        ({"epsilon": 1, "delta": "1e-6", "currency": "pure"}, None),
        ({"epsilon": 1, "rows": 5}, None),
        ({"delta": "1e-6"}, None),
        ([1], None),
    ],
)
def test_a_budget_is_what_its_members_say(said: Any, budget: Budget | None) -> None:
    if budget is not None:
        assert read_budget("budget", said) == budget
    else:
        with pytest.raises(InvalidParameter):
            read_budget("budget", said)


@pytest.mark.parametrize("said", [5, None, {}, {"kind": []}, {**NOISE, "rates": 5}, {**NOISE, "more": 1}])
def test_what_describes_no_noise_is_refused(said: Any) -> None:
    assert read_noise(NOISE) == Geometric("0.5")
    with pytest.raises(InvalidParameter):
        read_noise(said)


@pytest.mark.parametrize(
    "noise",
    [
        PiecewiseGeometric(("0.2", 1), (5,)),
        PiecewiseLaplace(("0.2", 1), (5,)),
        RoundedLaplace(Laplace(1)),
        DiscreteGaussian(3),
        StaircaseNoise(1),
        TruncatedGeometric(1, 5),
        TruncatedLaplace(1, 5),
    ],
    ids=lambda noise: noise.kind,
)
def test_whatever_a_body_says_of_a_noise_is_one_or_is_refused(noise: Noise) -> None:
    described = noise.to_dict()
    assert read_noise(described) == noise
    junk = (
        None,
        True,
        0,
        -1,
        1e400,
        float("nan"),
        "",
        "x",
        "9" * 500,
        [],
        [[]],
        [None],
        ["1", "1"],
        {},
        {"a": 1},
    )
    for name in described:
        for value in junk:
            with suppress(InvalidParameter):
                assert isinstance(read_noise(described | {name: value}), Noise)


def test_a_plan_is_found_by_its_public_name_among_those_that_the_caller_may_use() -> None:
    said = {"plan": Geometric("0.5").to_dict(), "neighbours": "add-remove", "session": False}
    plan, run = json.dumps(said), json.dumps({"guard": {}})
    bodies_by_name = {"seven": plan, "eight": plan, "run": run}
    plans = [
        PlanState(number, body, Charge.zero(), 3, 3, public=public)
        for number, (public, body) in enumerate(bodies_by_name.items(), 7)
    ]
    paid = read_payment({"plan": "eight"}, plans, None).plan
    assert paid is not None
    assert paid.id == 8
    for wrong in ("nine", 8, None, "run"):
        with pytest.raises(InvalidParameter, match="plan"):
            find_plan(wrong, plans)


def test_a_body_asks_one_thing() -> None:
    for question, sql, fits in ((None, "x", True), ({}, None, True), (None, None, False), ({}, "x", False)):
        if fits:
            one_of(QuoteBody(question=question, sql=sql))
        else:
            with pytest.raises(Refused):
                one_of(QuoteBody(question=question, sql=sql))


def test_the_same_words_are_the_same_noise_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known noises are few, however many are described."""
    monkeypatch.setattr(bodies, "_noises", {})
    monkeypatch.setattr(bodies, "_MOST_NOISES", 3)
    known = read_noise(dict(NOISE))
    read_noise({**NOISE, "rates": ["1/7"]})
    assert read_noise(dict(NOISE)) is known
    for number in range(1, 20):
        assert read_noise({**NOISE, "rates": [f"1/{number}"]}) == Geometric(Fraction(1, number))
        assert len(bodies._noises) <= 3
    kept = dict(bodies._noises)
    monkeypatch.setattr(bodies, "_LONGEST_WORDS", 10)
    assert read_noise({**NOISE, "rates": ["1/33"]}) == Geometric(Fraction(1, 33))
    assert bodies._noises.items() <= kept.items()


def test_a_pace_is_at_most_a_minute() -> None:
    assert [read_pacing(said) for said in (None, 0, "0.5", 60)] == [None, 0.0, 0.5, 60.0]
    for wrong in (61, -1, True, False, "soon"):
        with pytest.raises(InvalidParameter):
            read_pacing(wrong)


def test_a_sensitivity_goes_with_a_noise_and_is_at_least_1() -> None:
    assert read_payment({"noise": NOISE, "sensitivity": 3}, [], None).sensitivity == 3
    assert read_payment({"noise": NOISE}, [], None).sensitivity == 1
    assert read_payment({"noise": NOISE, "sensitivity": 2**52}, [], None).sensitivity == 2**52
    for wrong in (0, -1, 2**52 + 1, "1.5"):
        with pytest.raises(InvalidParameter, match="sensitivity"):
            read_payment({"noise": NOISE, "sensitivity": wrong}, [], None)


def test_how_an_answer_is_paid_is_one_of_the_known_ways() -> None:
    assert read_payment({"within": 5, "spend": None}, [], "k").within == Fraction(5)
    assert read_payment({"queries": 3, "within": 5}, [], None).queries == 3
    assert read_payment({"queries": 3, "noise": NOISE}, [], None).queries == 3
    with pytest.raises(MissingPrice):
        read_payment({"queries": 3, "spend": {"epsilon": 1}}, [], None)
    with pytest.raises(InvalidParameter):
        read_payment({"within": 5, "seed": 1}, [], None)


@pytest.mark.parametrize(
    ("key", "fits"),
    [("k", True), ("k" * 200, True), ("k" * 201, False), ("", False), ("é", False), ("a\tb", False)],
)
def test_an_idempotency_key_has_1_to_200_printable_characters(key: str, fits: bool) -> None:
    request = Request({"type": "http", "headers": [(b"idempotency-key", key.encode("latin-1"))]})
    if fits:
        assert idempotency_key(request) == key
    else:
        with pytest.raises(Refused) as caught:
            idempotency_key(request)
        assert caught.value.status == 400


def test_a_request_that_changes_something_needs_an_idempotency_key() -> None:
    with pytest.raises(Refused) as caught:
        idempotency_key(Request({"type": "http", "headers": []}))
    assert (caught.value.status, caught.value.code) == (400, "missing-idempotency-key")


def test_a_budget_without_an_epsilon_is_said_to_need_one() -> None:
    with pytest.raises(InvalidParameter, match="with an epsilon") as refused:
        read_budget("budget", {"delta": "1e-6"})
    assert refused.value.parameter == "budget"
