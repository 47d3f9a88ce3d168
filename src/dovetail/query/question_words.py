"""Say in words what a question asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .checked_query import CheckedQuery


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


def _constant(value: Any, kind: str) -> str:
    # Numbers that are no integers are kept as text, to be exact.
    return (
        str(value) if kind in ("integer", "number", "boolean") else "'" + str(value).replace("'", "''") + "'"
    )
