"""Read a question back from its canonical form, as a ledger or an answer keeps it.

How a text of the source is cast is no part of that form, so such a question is for looking at: it is priced
and shown like the original, and asked of an engine only through the schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.check import rational
from dovetail.errors import InvalidQuery

from .checked_query import CheckedQuery
from .condition import OPERATORS, ColumnComparison, Condition, Every, Member, Missing, Some
from .field import Constant, Field, read_column
from .lattice import Lattice
from .measures import read_measure
from .neighbours import Persons
from .partitions import DISCOVER, Axis, Bins, Discovered, Keys, Steps

_NOTHING: Any = object()


def read_question(data: Mapping[str, Any]) -> CheckedQuery:
    """Read what `CheckedQuery.to_dict` wrote.

    >>> read_question({"measure": {"count": "rows"}, "axes": [], "where": None}).measure.words()
    'count'
    """
    axes = tuple(map(read_axis, data["axes"]))
    measure = read_measure(data["measure"], axes)
    own = len(axes) - len(measure.partition())
    where = None if data["where"] is None else read_condition(data["where"])
    persons = None if "persons" not in data else _persons(data["persons"])
    return CheckedQuery(measure, axes[:own], where, persons)


def read_axis(data: Mapping[str, Any]) -> Axis:
    """Read what an axis wrote."""
    field = read_column(data["column"])
    if data.get("keys") == DISCOVER:
        return Discovered(field)
    if "step" in data:
        return Steps(Lattice.from_dict(data))
    if "bins" in data:
        return Bins(field, tuple(_constant(field, edge) for edge in data["bins"]), data["other"])
    values = (None if key is None else _constant(field, key) for key in data["keys"])
    return Keys(field, tuple(values), data["other"])


def read_condition(data: object) -> Condition:
    """Read what a condition wrote; what is none is refused."""
    try:
        return _condition(data)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        raise InvalidQuery(
            "This condition is not known.", "Write it as text, for example age >= 40."
        ) from None


def _condition(data: Any) -> Condition:
    for word, join in (("all", Every), ("any", Some)):
        if word in data:
            return join(tuple(map(_condition, data[word])))
    field = read_column(data["column"])
    match data["compare"], data.get("value", _NOTHING):
        case ("is null" | "is not null") as word, value if value is _NOTHING:
            return Missing(field, word == "is not null")
        case ("in" | "not in") as word, list() as values:
            return Member(field, tuple(_constant(field, each) for each in values), word == "not in")
        case str() as sign, value if sign in OPERATORS and value is not _NOTHING:
            return ColumnComparison(field, sign, _constant(field, value))
    raise ValueError("no comparison has this form")


def _persons(data: Mapping[str, Any]) -> Persons:
    return Persons(read_column(data["unit"]), data["max_rows"], data["max_cells"])


def _constant(field: Field, value: Any) -> Constant:
    # Rationals are written as text.
    return field.constant(rational("value", value) if field.kind == "number" else value)
