"""Queries survive JSON, and what is no query is refused in words."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import dovetail as dv
from dovetail.errors import DovetailError, InvalidParameter, InvalidQuery
from dovetail.query import (
    Column,
    Contributions,
    Count,
    CountDistinct,
    Histogram,
    Linear,
    Marginals,
    Mean,
    Median,
    Quantiles,
    Query,
    Ranges,
    Schema,
    Std,
    Sum,
    Variance,
)
from dovetail.query.query_json import QUERIES, from_dict, json_schema, to_dict

TABLE = Schema(
    [
        Column("age", "integer", low=0, high=120),
        Column("sex", "text", values=["F", "M"]),
        Column("height", "number", low=0, high=3, step="1/100"),
        Column("born", "date"),
    ]
).table()
ASKED: list[Query] = [
    Count(),
    Count("age >= 40 AND sex = 'F'"),
    Count(Count("age >= 40 OR height < 1.5 AND born <> '1990-01-01'").checked(TABLE).where),
    Histogram("sex"),
    Histogram("sex", "age", bins={"age": [0, 18, 65]}, where="height > 1"),
    Histogram("height", bins=[0, 1.5, Fraction(7, 3)]),
    Histogram("born", keys=[date(1990, 5, 1)]),
    Histogram("sex", keys="discover"),
    CountDistinct(),
    CountDistinct("sex"),
    Sum("age", 0, 100, 1),
    Sum("age", by=("sex",)),
    Mean("height", 0, 2, Fraction(1, 3)),
    Linear("sex", {"F": 1, "M": Fraction(-1, 2)}, "1/4"),
    Variance("age", sample=True),
    Std("age"),
    Ranges("age"),
    Contributions(("sex",), most_rows=20, where="age > 3"),
    Marginals("sex", "age", way=1, bins={"age": [0, 18, 65]}),
    Marginals(tables=[["sex", "born"], ["sex"]], keys={"born": [date(1990, 5, 1)]}, strategy="joint"),
    Quantiles("age", (0.25, 0.5), kind="cont"),
    Median("age", by=("sex",)),
]


@pytest.mark.parametrize("query", ASKED, ids=repr)
def test_a_query_read_back_asks_the_same(query: Query) -> None:
    sent = json.loads(json.dumps(to_dict(query)))
    assert from_dict(sent).checked(TABLE).to_dict() == query.checked(TABLE).to_dict()


def test_every_query_of_the_package_has_a_form() -> None:
    public = {getattr(dv, name) for name in dv.__all__}
    asked = {kind for kind in public if isinstance(kind, type) and hasattr(kind, "checked")}
    assert asked <= set(QUERIES.values())


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "count",
        {},
        {"ask": "drop"},
        {"ask": ["count"]},
        {"ask": "count", "epsilon": 0},
        {"ask": "sum"},
        {"ask": "histogram"},
        {"ask": "histogram", "columns": "sex"},
        {"ask": "histogram", "columns": [{}]},
        {"ask": "count", "where": {"all": [{}]}},
        {"ask": "count", "where": {"column": ["age"], "compare": "<", "value": 3}},
        {"ask": "count", "where": {"column": ["age", "bytes"], "compare": "<", "value": 3}},
        {"ask": "count", "where": {"column": ["age", "integer"], "compare": "; DROP", "value": 3}},
        {"ask": "count", "where": {"column": ["age", "integer"], "compare": "="}},
        {"ask": "count", "where": {"column": ["age", "integer"], "compare": "<", "value": [3]}},
        {"ask": "count", "where": {"column": ["age", "integer"], "compare": "in", "value": 3}},
        {"ask": "count", "where": {"column": ["age", "integer"], "compare": "is null", "value": 3}},
        {"ask": "count", "where": {"column": ["age", "integer"], "compare": ["in"], "value": [3]}},
        {"ask": "count", "where": 3},
        {"ask": "linear", "column": "sex", "weights": {"F": 1}, "step": 1},
        {"ask": "linear", "column": "sex", "weights": [[["F"], 1]], "step": 1},
        {"ask": "histogram", "columns": ["height"], "bins": [{"exact": "1/0"}, 2]},
        {"ask": "quantiles", "column": "age", "qs": "median"},
        {"ask": "histogram", "columns": ["sex"], "keys": [{"a": 1}]},
    ],
    ids=repr,
)
def test_what_is_no_query_is_refused(data: Any) -> None:
    with pytest.raises(DovetailError):
        from_dict(data).checked(TABLE)


@pytest.mark.parametrize("text", ["1e99999", "-1e99999", "1e-99999", "9" * 900, "1/" + "9" * 900])
def test_a_number_is_not_built_before_its_size_is_known(text: str) -> None:
    """A few letters more, and to build it would take hours and fill the memory."""
    with pytest.raises(InvalidParameter, match=r"^exact="):
        from_dict({"ask": "sum", "column": "age", "low": {"exact": text}, "high": 99})
    for value in (text, Decimal(text)) if "/" not in text else (text,):
        compared = {"column": ["height", "number"], "compare": "<", "value": value}
        with pytest.raises(InvalidQuery, match="This condition is not known"):
            from_dict({"ask": "count", "where": compared})


def test_the_schema_has_a_form_for_every_query() -> None:
    titles = [form["title"] for form in json_schema()["oneOf"]]
    assert titles == list(QUERIES)
    assert json.dumps(json_schema())
