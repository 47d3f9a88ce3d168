"""Say in words what a ledger keeps as JSON: questions, their conditions, plans."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dovetail.errors import DovetailError

from .noise_syntax import spelled

if TYPE_CHECKING:
    from dovetail.query.checked_query import CheckedQuery
    from dovetail.query.neighbours import Persons


_LONGEST = 2000


_ROW = {"add-remove": "whether one row is in the data", "replace": "what one row contains"}
_PERSON = {
    "add-remove": "whether one person ({unit}) is in the data, with all their rows",
    "replace": "what all rows of one person ({unit}) contain",
}


def protected_in_words(neighbours: str, persons: Persons | None) -> str:
    """Return what a budget protects.

    >>> protected_in_words("replace", None)
    'what one row contains'
    """
    if persons is None:
        return _ROW[neighbours]
    return _PERSON[neighbours].format(unit=persons.unit.name)


def question_in_words(question: CheckedQuery) -> str:
    """Return a checked question as a short phrase.

    >>> from dovetail.query.canonical_form import read_question
    >>> axis = {"column": ["sex", "text"], "keys": ["F", "M"], "other": None}
    >>> question_in_words(read_question({"measure": {"count": "rows"}, "axes": [axis], "where": None}))
    'count by sex'
    """
    parts = [question.measure.words()]
    if question.axes:
        parts.append("by " + ", ".join(axis.field.name for axis in question.axes))
    if question.where is not None:
        parts.append("where " + condition_in_words(question.where.to_dict()))
    return " ".join(parts)


def condition_in_words(condition: dict[str, Any]) -> str:
    """Return a condition much as it was written.

    >>> condition_in_words({"compare": ">=", "column": ["age", "integer"], "value": 40})
    'age >= 40'
    """
    for join, word in (("all", " and "), ("any", " or ")):
        if join in condition:
            inner = [condition_in_words(part) for part in condition[join]]
            return word.join(f"({part})" if " or " in part else part for part in inner)
    name, operator = condition["column"][0], condition["compare"]
    if "value" not in condition:
        return f"{name} {operator}"
    value, kind = condition["value"], condition["column"][1]
    if isinstance(value, list):
        return f"{name} {operator} ({', '.join(_constant(each, kind) for each in value)})"
    return f"{name} {operator} {_constant(value, kind)}"


def body_in_words(text: str) -> str:
    """Return what the body of a request or of a plan says; of other writers, it stays as it is.

    >>> body_in_words('{"online": {"asked": {"axes": [{"column": ["sex", "text"]}]}}}')
    'online run over sex'
    """
    try:
        body = json.loads(text[:1_000_000])
        if "asked" in body:
            from dovetail.query.canonical_form import read_question

            asked = (question_in_words(read_question(each["question"])) for each in body["asked"])
            return "; ".join(asked)[:_LONGEST]
        if "online" in body:
            columns = ", ".join(axis["column"][0] for axis in body["online"]["asked"]["axes"])
            return f"online run over {columns}"[:_LONGEST]
        if body.get("opening") is True:
            return f"opening measurement of online run {body['run']}"
        if "plan" in body:
            from dovetail.noise import from_dict

            return f"plan of answers with {spelled(from_dict(body['plan']))}"
    except (DovetailError, ValueError, KeyError, TypeError, IndexError):
        pass  # bodies of other versions
    return text[:_LONGEST]


def _constant(value: Any, kind: str) -> str:
    # Numbers that are no integers are kept as text, to be exact.
    return (
        str(value) if kind in ("integer", "number", "boolean") else "'" + str(value).replace("'", "''") + "'"
    )
