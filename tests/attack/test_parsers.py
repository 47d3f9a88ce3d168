"""Any text or structure is understood or refused by name; no reader fails in another way."""

from __future__ import annotations

import json
import re
import tomllib
from contextlib import suppress
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dovetail as dv
from dovetail.check import MOST_DIGITS, rational
from dovetail.cli.budget_syntax import read_budget
from dovetail.cli.noise_syntax import read_noise
from dovetail.errors import DovetailError, InvalidParameter, InvalidQuery
from dovetail.ledger import Head
from dovetail.noise import from_dict
from dovetail.privacy import Budget, Charge
from dovetail.query.sql.where import read_where

numberish = st.text("0123456789.eE+-_/ １٣infnaxX\n", max_size=40) | st.text(max_size=20)
leaves: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | numberish
    | st.sampled_from(["pure", "approximate", "zeta", "geometric", "piecewise-geometric", "1", "1/3", "1e-6"])
)
anything = st.recursive(
    leaves,
    lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(max_size=8), x, max_size=4),
    max_leaves=8,
)
TABLE = dv.Schema([dv.Column("age", "integer"), dv.Column("sex", "text"), dv.Column("born", "date")]).table()


@given(numberish)
def test_a_number_is_a_bounded_rational_or_refused(text: str) -> None:
    try:
        number = rational("x", text)
    except InvalidParameter:
        return
    assert max(abs(number.numerator), number.denominator) <= 10**MOST_DIGITS
    assert text.isascii()
    assert "_" not in text
    assert number == Fraction(text.strip(" "))


words = st.sampled_from(
    [
        *"()=<>,;'\"-*/%",
        "age",
        "sex",
        "born",
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "IS",
        "NULL",
        "TRUE",
        "40",
        "1e9",
        "'F'",
        "'2024-01-31'",
        "DATE",
        "CAST",
        "LIKE",
        "--",
        "/*",
        "SELECT",
        "EXISTS",
        "pg_sleep(9)",
        "random()",
        "x",
    ]
)


@given(st.lists(words, max_size=14).map(" ".join) | st.text(max_size=60))
@settings(max_examples=300)
def test_a_where_is_a_condition_or_refused(text: str) -> None:
    with suppress(InvalidQuery):
        condition = read_where(text, TABLE)
        assert set(_columns(condition.to_dict())) <= {"age", "sex", "born"}


def _columns(part: Any) -> list[str]:
    if isinstance(part, dict):
        own = [part["column"][0]] if "column" in part else []
        return own + [name for value in part.values() for name in _columns(value)]
    return [name for value in part for name in _columns(value)] if isinstance(part, list) else []


lines = st.sampled_from(
    [
        "schema = 'dovetail.schema/1'",
        "[columns.age]",
        "[columns]",
        "[columns.'a b']",
        "type = 'integer'",
        "type = 'text'",
        "type = 5",
        "low = 0",
        "high = -1",
        "low = nan",
        "high = 1e999",
        "step = 0",
        "values = []",
        "values = ['a', 1]",
        "values = [1979-05-27]",
        "missing = true",
        "missing = 1",
        "reviewed = 'yes'",
        "other = 3",
        "other = 'x'",
        "x = 1",
        "[",
        "low = 1979-05-27T07:32:00Z",
        "values = ['a']",
        "type = 'date'",
    ]
)


@pytest.mark.parametrize("value", ["[" * 3000, "9" * 6000, "{a=" * 3000])
def test_a_schema_that_is_deep_or_long_is_refused(value: str) -> None:
    with pytest.raises(InvalidParameter, match="TOML"):
        dv.Schema.from_toml(f"schema = 'dovetail.schema/1'\n[columns.age]\nvalues = {value}")


@given(st.lists(lines, max_size=10).map("\n".join) | st.text(max_size=80))
@settings(max_examples=300)
def test_a_schema_text_is_a_schema_or_refused(text: str) -> None:
    try:
        schema = dv.Schema.from_toml(text)
    except InvalidParameter:
        return
    assert dv.Schema.from_toml(schema.to_toml()) == schema
    assert set(tomllib.loads(text)["columns"]) == {column.name for column in schema}


_PLAIN = re.compile(
    r" *[+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]{1,9})? *| *[+]?[0-9]+/[0-9]+ *", re.IGNORECASE
)
# How many numbers each form takes; "piecewise" takes breaks, too, which have a test of their own.
_NUMBERS = {"geometric:": (1,), "mixture:": (3,), "gaussian:": (1,), "staircase:": (1, 2), "": (0,)}


def _positive(text: str) -> bool:
    """Tell positive numbers without computing them: their exponents may be huge."""
    parts = re.split("[eE]", text)[0].split("/")
    return bool(_PLAIN.fullmatch(text)) and all(set(part) & set("123456789") for part in parts)


@given(
    st.sampled_from(list(_NUMBERS)),
    st.lists(
        st.sampled_from(["0.5", "1", "2e-1", "1/3", "5", "0", "-1", "nan", "inf", "", "1_0", "１"]),
        max_size=4,
    )
    | st.lists(numberish, max_size=3),
)
@example("geometric:", ["0.5"])
@example("mixture:", ["0.2", "1", "5"])
@example("staircase:", ["0.5", "0"])
def test_a_noise_on_the_command_line_is_a_noise_or_refused(form: str, numbers: list[str]) -> None:
    listed = ",".join(numbers).split(",") if ",".join(numbers) else []
    # The share of a staircase may be 0, which the noise rounds up to one value.
    shares = 1 if form == "staircase:" and listed[1:] == ["0"] else len(listed)
    meant = form and len(listed) in _NUMBERS[form] and all(map(_positive, listed[:shares]))
    try:
        noise = read_noise(form + ",".join(numbers))
    except InvalidParameter:
        # A break-point has to be whole, a gamma below 1, and there are limits to how large a number may be.
        tame = all(len(each) < 8 for each in listed) and (form != "staircase:" or len(listed) == 1)
        assert not (
            meant and tame and (form != "mixture:" or Fraction(listed[2].strip(" ")).denominator == 1)
        )
        return
    assert meant, "something else than as many numbers as the form takes was accepted"
    assert from_dict(noise.to_dict()) == noise


_BUDGETS = ({"epsilon"}, {"epsilon", "delta"}, {"zeta", "max-epsilon"})


@given(
    st.lists(st.sampled_from(["epsilon=", "delta=", "zeta=", "max-epsilon=", "1", "1e-6", ",", "=", "x"]))
    | st.permutations(["epsilon=1", "delta=1e-6", "zeta=1", "max-epsilon=1"]).flatmap(
        lambda all_: st.integers(0, 4).map(lambda n: [",".join(all_[:n])])
    )
)
@example(["epsilon=", "1"])
@example(["zeta=", "1", ",", "max-epsilon=", "1"])
def test_a_budget_on_the_command_line_is_a_budget_or_refused(parts: list[str]) -> None:
    text = "".join(parts)
    entries = [entry.partition("=")[::2] for entry in text.split(",")]
    numbers = [value for _, value in entries]
    meant = (
        {name for name, _ in entries} in _BUDGETS
        and len(dict(entries)) == len(entries)
        and all(map(_positive, numbers))
        and dict(entries).get("delta") != "1"
    )
    try:
        budget = read_budget(text)
    except InvalidParameter:
        assert not meant or any(len(number) > 4 for number in numbers)
        return
    assert meant
    assert budget.epsilon_limit == Fraction(dict(entries).get("max-epsilon") or dict(entries)["epsilon"])


@given(st.text("0123456789abcdef:\n ", max_size=80) | st.from_regex(r"\A[0-9]{1,4}:[0-9a-f]{63,65}\Z"))
@example("3:" + "ab" * 32)
def test_a_head_is_read_or_refused(text: str) -> None:
    meant = re.fullmatch(r"[0-9]+:[0-9a-f]{64}", text.strip())
    try:
        head = Head.parse(text)
    except InvalidParameter:
        assert not meant or len(text) > 80
        return
    assert meant
    assert str(head) == f"{int(text.strip().partition(':')[0])}:{head.hash}"


KEPT: list[tuple[Any, dict[str, Any]]] = [
    (from_dict, dv.GeometricMixture("0.2", 1, 5).to_dict()),
    (from_dict, dv.DiscreteGaussian(3).to_dict()),
    (from_dict, dv.Laplace(1).rounded().to_dict()),
    (Budget.from_dict, Budget.approximate(1, "1e-6").to_dict()),
    (Budget.from_dict, Budget.zeta(1, max_epsilon=2).to_dict()),
    (Charge.from_dict, dv.privacy_loss(dv.Geometric(1)).charge().to_dict()),
]


@pytest.mark.parametrize("number", range(len(KEPT)))
@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_what_is_kept_is_read_back_or_refused(number: int, data: st.DataObject) -> None:
    """Change, drop or add one entry of a stored noise, budget or charge."""
    read, whole = KEPT[number]
    changed = json.loads(json.dumps(whole))
    key = data.draw(st.sampled_from([*changed, "more"]))
    if data.draw(st.booleans()):
        changed.pop(key, None)
    else:
        changed[key] = data.draw(anything)
    try:
        result = read(changed)
    except DovetailError:
        assert changed != whole, "what was kept is readable"
        return
    assert changed.keys() == whole.keys(), "a missing or an unknown entry was accepted"
    again = result.to_dict()
    assert read(again) == result
    assert {name: again[name] for name in again if name != key} == {n: whole[n] for n in whole if n != key}


@pytest.mark.parametrize("read", [from_dict, Budget.from_dict, Charge.from_dict])
@given(given_=anything)
def test_anything_else_is_refused(read: Any, given_: Any) -> None:
    with pytest.raises(DovetailError):
        read(given_)
