"""Queries as JSON and back: the one form that ledger, service, client and console exchange.

    {"ask": "histogram", "columns": ["sex", "age"], "bins": {"age": [0, 18, 65, 120]}, "where": "age >= 18"}

`ask` names the query, all other members are its parameters; what is left out has its usual value. Rationals
that no JSON number holds exactly are written {"exact": "1/3"}.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

from dovetail.check import rational
from dovetail.errors import InvalidParameter, InvalidQuery

from .canonical_form import read_condition
from .contributions import Contributions
from .distributions import Maximum, Median, Minimum, Quantiles, Ranges, Std, Variance
from .marginals import Marginals
from .queries import Count, CountDistinct, Histogram, Linear, Mean, Query, Sum

FORMAT = "dovetail.question/1"
_KINDS: tuple[Any, ...] = (
    *(Count, Histogram, CountDistinct, Sum, Mean, Linear, Variance, Std, Ranges, Quantiles, Median),
    *(Minimum, Maximum, Marginals, Contributions),
)
# These take their columns one by one.
_OF_COLUMNS = (Histogram, Marginals)
QUERIES: dict[str, Any] = {re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in _KINDS}
_WORDS = {kind: word for word, kind in QUERIES.items()}
_MOST_ITEMS = 100_000


def to_dict(query: Query) -> dict[str, Any]:
    """Return a query as JSON holds it.

    >>> to_dict(Histogram("sex", where="age >= 40"))
    {'ask': 'histogram', 'columns': ['sex'], 'where': 'age >= 40'}
    """
    word = _WORDS.get(type(query))
    if word is None:
        raise InvalidParameter("query", query, f"one of {', '.join(QUERIES)}")
    form: dict[str, Any] = {"ask": word}
    for each in fields(query):  # type: ignore[arg-type]
        value = getattr(query, each.name)
        if value is None or value == () or (each.default is not MISSING and value == each.default):
            continue
        pairs = each.name == "weights" and isinstance(value, Mapping)
        form[each.name] = json_ready([list(pair) for pair in value.items()] if pairs else value)
    return form


def from_dict(data: object) -> Query:
    """Read what `to_dict` wrote or somebody typed; whether it fits the data is checked when it is asked.

    >>> from_dict({"ask": "count", "where": "age >= 40"})
    Count(where='age >= 40')
    """
    word = data.get("ask") if isinstance(data, Mapping) else None
    if not isinstance(word, str) or word not in QUERIES:
        raise InvalidParameter("ask", word, f"one of {', '.join(QUERIES)}")
    assert isinstance(data, Mapping)
    kind = QUERIES[word]
    known = [each.name for each in fields(kind)]
    unknown = [str(name) for name in data if name != "ask" and name not in known]
    if unknown:
        raise InvalidQuery(
            f"A {word.replace('_', ' ')} has no {unknown[0][:100]!r}.", f"It has {', '.join(known)}."
        )
    given = {name: _parameter(name, value) for name, value in data.items() if name != "ask"}
    missing = [each.name for each in fields(kind) if each.name not in given and _needed(kind, each)]
    if missing:
        raise InvalidQuery(f"A {word.replace('_', ' ')} needs {' and '.join(missing)}.")
    if issubclass(kind, _OF_COLUMNS):
        made: Query = kind(*given.pop("columns", ()), **given)
        return made
    made = kind(**given)
    return made


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a question."""
    forms = []
    for word, kind in QUERIES.items():
        properties: dict[str, Any] = {"ask": {"const": word}}
        properties |= {each.name: _FORMS[each.name] for each in fields(kind)}
        needed = ["ask", *(each.name for each in fields(kind) if _needed(kind, each))]
        forms.append(
            {
                "title": word,
                "description": " ".join(str(kind.__doc__).split("\n")[0].split()),
                "type": "object",
                "properties": properties,
                "required": needed,
                "additionalProperties": False,
            }
        )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": FORMAT,
        "title": "A question",
        "oneOf": forms,
    }


def _needed(kind: Any, field: Any) -> bool:
    if issubclass(kind, _OF_COLUMNS):
        return bool(field.name == "columns" and kind is Histogram)
    return field.default is MISSING and field.default_factory is MISSING


_NUMBER = {"type": ["number", "string"]}
_LIST = {"type": "array", "items": {}, "maxItems": _MOST_ITEMS}
_NAMES = {"type": "array", "items": {"type": "string"}}
_BY_COLUMN = {"type": "object", "additionalProperties": _LIST}
_FORMS: dict[str, Any] = {
    "where": {"type": ["string", "object", "null"]},
    "columns": _NAMES,
    "by": _NAMES,
    "keys": {"anyOf": [_LIST, _BY_COLUMN, {"const": "discover"}, {"type": "null"}]},
    "bins": {"anyOf": [_LIST, _BY_COLUMN, {"type": "null"}]},
    "column": {"type": "string"},
    **{name: {"type": ["number", "string", "null"]} for name in ("low", "high", "step")},
    "sample": {"type": "boolean"},
    "qs": {"type": "array", "items": _NUMBER},
    "kind": {"enum": ["disc", "cont"]},
    "way": {"type": "integer", "minimum": 1},
    "most_rows": {"type": "integer", "minimum": 1},
    "most_cells": {"type": ["integer", "null"], "minimum": 1},
    "tables": {"type": ["array", "null"], "items": _NAMES},
    "strategy": {"enum": ["plain", "joint", "residuals", None]},
    "weights": {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}},
}


def _parameter(name: str, value: Any) -> Any:
    if name in ("columns", "by"):
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise InvalidParameter(name, value, "a list of columns")
        return tuple(value)
    if name == "column" and not isinstance(value, str):
        raise InvalidParameter(name, value, "the name of a column")
    if name == "where" and not isinstance(value, str | None):
        return read_condition(value)
    if name == "qs":
        return tuple(map(_read, value)) if isinstance(value, list) else (_read(value),)
    if name == "weights":
        return _weights(value)
    return _read(value)


def _weights(value: Any) -> dict[Any, Any]:
    pairs: list[Any] = value if isinstance(value, list) else [None]
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise InvalidParameter("weights", value, "a list of pairs of a value and its weight")
    return {_key(_read(key)): _read(weight) for key, weight in pairs}


def _key(value: Any) -> Any:
    if isinstance(value, list | dict):
        raise InvalidParameter("weights", value, "about single values of the column")
    return value


def _read(value: Any) -> Any:
    """Return a value with its exact numbers."""
    if isinstance(value, list):
        return [_read(each) for each in value]
    if isinstance(value, Mapping):
        if set(value) == {"exact"}:
            return rational("exact", value["exact"], "Give a fraction such as 1/3.")
        return {name: _read(each) for name, each in value.items()}
    return value


def json_ready(value: Any) -> Any:
    """Return a value of a query as JSON holds it; `from_dict` reads its exact numbers back."""
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else {"exact": str(value)}
    if isinstance(value, Decimal):
        return json_ready(Fraction(value))
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): json_ready(each) for name, each in value.items()}
    if hasattr(value, "to_dict") and not hasattr(value, "columns"):
        return value.to_dict()
    from .column import listed

    return [json_ready(each) for each in listed(value)]
