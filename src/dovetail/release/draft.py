"""Propose a schema from the rows, for the curator's eyes only."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .engines import Engine, connect
from .field import Field
from .schema import Column, Schema, Stored
from .source import Source

MOST_VALUES = 100
_GUESSES = ("boolean", "integer", "number", "date", "timestamp")


def drafted(source: Any, table: str | None) -> Schema:
    """Return a schema whose columns are all marked unreviewed."""
    engine = connect(Source.of(source, name=None if isinstance(source, Source) else "draft", table=table))
    try:
        stored = engine.columns()
        return Schema([_column(engine, name, kept) for name, kept in stored.items() if kept.usable])
    finally:
        engine.close()


def _column(engine: Engine, name: str, stored: Stored) -> Column:
    kind = stored.kind or _guessed(engine, name)
    field = Field(name, kind, cast=stored.cast or kind != stored.kind)
    value = engine.value(field)
    if kind in ("integer", "number", "date", "timestamp"):
        low, high = engine.fetch(exp.select(exp.Min(this=value), exp.Max(this=value.copy())))[0]
        return Column(name, kind, low=low, high=high, reviewed=False)
    groups = exp.select(value).group_by(exp.Literal.number(1)).limit(MOST_VALUES + 1)
    values = [row[0] for row in engine.fetch(groups)]
    listed = sorted(item for item in values if item is not None)
    if not listed or len(values) > MOST_VALUES:
        return Column(name, kind, reviewed=False)
    return Column(name, kind, values=[*listed, None] if None in values else listed, reviewed=False)


def _guessed(engine: Engine, name: str) -> str:
    """Return the narrowest kind that reads every value of an untyped column."""
    text = engine.value(Field(name, "text", cast=True))
    counts = [exp.Count(this=engine.value(Field(name, kind, cast=True))) for kind in _GUESSES]
    whole, *read = engine.fetch(exp.select(exp.Count(this=text), *counts))[0]
    fractions = exp.Count(this=exp.case().when(_is_fraction(engine, name), exp.Literal.number(1)))
    fractional = engine.fetch(exp.select(fractions))[0][0]
    for kind, count in zip(_GUESSES, read, strict=True):
        if count == whole and whole and not (kind == "integer" and fractional):
            return kind
    return "text"


def _is_fraction(engine: Engine, name: str) -> Any:
    number = engine.value(Field(name, "number", cast=True))
    return exp.NEQ(this=number, expression=exp.Floor(this=number.copy()))
