"""Pieces of SQL that several engines spell alike."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlglot import exp, parse_one

from dovetail.query.field import Constant

if TYPE_CHECKING:
    from .engine import Engine

_TEXT = "dovetail.text"


def scaled(engine: Engine, number: Any, step: Fraction) -> Any:
    """Spell a double in steps, for engines in which a double too large becomes an infinity."""
    if step.denominator != 1:
        number = exp.Mul(this=number, expression=engine.constant("number", step.denominator))
    if step.numerator != 1:
        share = engine.constant("number", step.numerator)
        number = exp.Div(this=number, expression=share, typed=False, safe=False)
    return number


def placed(statement: Any, relation: Any) -> Any:
    """Return a statement with its FROM, the whole relation where it has none yet; it is used up by this."""
    return statement if statement.args.get("from_") else statement.from_(relation, copy=False)


def text_of(statement: Any) -> str | None:
    """Return how a statement was spelled when it was run, None where no engine has kept that."""
    text: str | None = statement.meta.get(_TEXT)
    return text


def keep_text(statement: Any, text: str) -> None:
    """Let a statement that is run again be spelled as it was."""
    statement.meta[_TEXT] = text


def typed_constant(kind: str, value: Constant) -> Any:
    """Spell a constant with its type, so that no engine computes in 32 bits or compares with a guess."""
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if kind == "number" and isinstance(value, int | Fraction):
        return exp.cast(exp.Literal.string(repr(float(value))), "DOUBLE")
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat(sep=" ")), "TIMESTAMPNTZ")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    if isinstance(value, int):
        return exp.cast(exp.Literal.number(value), "BIGINT")
    return exp.Literal.string(str(value))


class Templates:
    """Hold expressions written in an engine's own dialect, parsed once, with a column put in for `x`."""

    def __init__(self, dialect: str) -> None:
        self._parsed: Callable[[str], Any] = lru_cache(maxsize=200)(
            lambda text: parse_one(text, dialect=dialect)
        )

    def filled(self, text: str, column: Any) -> Any:
        """Return the expression `text` with every `x` replaced.

        >>> Templates("postgres").filled("CAST(x AS BIGINT)", exp.column("age", quoted=True)).sql("postgres")
        'CAST("age" AS BIGINT)'
        """
        tree = self._parsed(text).copy()
        if isinstance(tree, exp.Column):
            return column
        for place in list(tree.find_all(exp.Column)):
            place.replace(column.copy())
        return tree
