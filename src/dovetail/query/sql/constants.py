"""Read constants of a parsed text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dovetail.check import rational
from dovetail.errors import InvalidParameter, InvalidQuery, shown
from dovetail.query.field import Constant, Field


def constant_of(node: Any, possible: str = "") -> Constant:
    """Return the constant that a parsed part spells."""
    if node.comments:
        raise InvalidQuery("Comments are not allowed here.")
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Literal):
        return str(node.this) if node.is_string else _number(node.this)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and not node.this.is_string:
        return -_number(node.this.this)
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string:
        kind = {"DATE": "date", "TIMESTAMP": "timestamp"}.get(node.to.this.name)
        if kind and not node.args.get("format"):
            return Field("constant", kind).constant(str(node.this.this))
    if isinstance(node, exp.Null):
        raise InvalidQuery("A comparison with NULL is never true.", "Write: column IS NULL.")
    raise InvalidQuery(
        f"{shown(spelled_node(node))} must be a constant.",
        "Put text and dates in single quotes: 'Bern', '2025-01-31'. Put names with spaces "
        f"in double quotes. {possible}".rstrip(),
    )


def _number(digits: str) -> Fraction:
    try:
        return rational("constant", digits)
    except InvalidParameter:
        raise InvalidQuery(f"{shown(digits)} must be a plain decimal number such as 40 or 1.5.") from None


def positive_number(node: Any) -> Fraction | None:
    """Return the number above 0 that a literal spells, None for anything else."""
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    number = _number(node.this)
    return number if number > 0 else None


def spelled_node(node: Any) -> str:
    """Return a parsed part as SQL again, to be named in a message."""
    try:
        # Not a copy of it: that takes twice as long as the spelling, which changes nothing of what we read.
        return str(node.sql(unsupported_level=ErrorLevel.IGNORE, copy=False))
    except (SqlglotError, RecursionError, ValueError, AttributeError, TypeError):
        return type(node).__name__
