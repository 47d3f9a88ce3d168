"""Propose a schema from the rows, for the curator's eyes only."""

from __future__ import annotations

from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from sqlglot import exp

from dovetail.errors import InvalidQuery
from dovetail.query import Column
from dovetail.query.encoding import UTF_8, UTF_16
from dovetail.query.field import Field
from dovetail.query.protection import named_for_persons
from dovetail.query.schema import Schema, Stored

from .conditions import between
from .connection import connect
from .engine import Engine
from .source import Source

MOST_VALUES = 100
_GUESSES = ("boolean", "integer", "number", "date", "timestamp")
_USUAL = ("na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "..", "missing", "unknown", "")
_WORDS = "These words seem to stand for no value; check them"
_MIXED = {
    "number": "Numbers and other words mix here. Declare a type, decimal, missing_words, or keep it a text.",
    "date": "Days and other words mix here. Declare a type and missing_words, or keep it a text.",
}
_WINDOWS = "windows-1252"
_BLOCK = 1 << 20


def drafted(source: Any, table: str | None) -> Schema:
    """Return a schema whose columns are all marked unreviewed."""
    rows = Source.of(source, name=None if isinstance(source, Source) else "draft", table=table)
    encoding = rows.schema.encoding if rows.schema is not None else _encoding(rows)
    engine = connect(replace(rows, schema=Schema(encoding=encoding)))
    try:
        stored = engine.columns()
        columns = [_column(engine, name, kept) for name, kept in stored.items() if kept.usable]
        return Schema(columns, encoding=encoding)
    finally:
        engine.close()


def _encoding(source: Source) -> str | None:
    """Return the likely encoding of CSV files that are not in UTF-8: the bytes decide, so it is a guess."""
    if source.format != "csv":
        return None
    for file in source.files():
        with file.open("rb") as opened:
            decoder = getincrementaldecoder(UTF_8)()
            for number, block in enumerate(iter(lambda: opened.read(_BLOCK), b"")):
                if number == 0 and block.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
                    return UTF_16
                try:
                    decoder.decode(block)
                except UnicodeDecodeError:
                    return _WINDOWS
    return None


def _column(engine: Engine, name: str, stored: Stored) -> Column:
    guess = Guess(stored.kind) if stored.kind else _guessed(engine, name)
    reading: dict[str, Any] = {
        "decimal": guess.decimal,
        "missing_words": guess.words,
        "note": guess.note,
        "reviewed": False,
    }
    cast = stored.cast or guess.kind != stored.kind
    field = Field(name, guess.kind, cast, guess.decimal or ".", guess.words)
    if guess.kind in ("integer", "text") and named_for_persons(name):
        # Whom it tells apart is nobody's business: neither bounds nor values are proposed.
        return Column(name, guess.kind, kind="id", **reading)
    value = engine.value(field)
    if guess.kind in ("integer", "number", "date", "timestamp"):
        kept = _within_python(engine, field, value)
        low, high = engine.fetch(exp.select(exp.Min(this=kept), exp.Max(this=kept.copy())))[0]
        return Column(name, guess.kind, low=low, high=high, **reading)
    groups = exp.select(value).group_by(exp.Literal.number(1)).limit(MOST_VALUES + 1)
    values = [row[0] for row in engine.fetch(groups)]
    listed = sorted(item for item in values if item is not None and _nameable(field, item))
    if not listed or len(values) > MOST_VALUES:
        return Column(name, guess.kind, **reading)
    return Column(name, guess.kind, values=[*listed, None] if None in values else listed, **reading)


def _within_python(engine: Engine, field: Field, value: Any) -> Any:
    """Spell a value that this process can hold: Python's days end with the year 9999."""
    if field.kind not in ("date", "timestamp"):
        return value
    ends = (date.min, date.max) if field.kind == "date" else (datetime.min, datetime.max)
    low, high = (engine.constant(field.kind, end) for end in ends)
    return exp.case().when(between(value, low, high), value, copy=False)


def _nameable(field: Field, value: Any) -> bool:
    try:
        field.constant(value)
    except InvalidQuery:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Guess:
    """What a column of texts seems to hold, and how."""

    kind: str
    decimal: str | None = None
    words: tuple[str, ...] = ()
    note: str | None = None


def _guessed(engine: Engine, name: str) -> Guess:
    """Return the narrowest kind that reads every value of an untyped column, words for no value aside."""
    words = _words(engine, name)
    for decimal in (".", ","):
        for kind in _GUESSES:
            field = Field(name, kind, True, decimal if kind == "number" else ".", words)
            if (decimal == "." or kind == "number") and _reads_all(engine, field):
                note = f"{_WORDS}: {', '.join(words)}" if words else None
                return Guess(kind, "," if decimal == "," else None, words, note)
    return Guess("text", note=_mixed(engine, name))


def _words(engine: Engine, name: str) -> tuple[str, ...]:
    """Return the words that often stand for no value, as this column spells them."""
    text = exp.Trim(this=engine.value(Field(name, "text", cast=True)))
    known = exp.In(this=exp.Lower(this=text), expressions=[exp.Literal.string(word) for word in _USUAL])
    distinct = exp.select(text.copy()).where(known).group_by(exp.Literal.number(1)).limit(MOST_VALUES)
    return tuple(sorted(str(row[0]) for row in engine.fetch(distinct)))


def _reads_all(engine: Engine, field: Field) -> bool:
    text = engine.value(replace(field, kind="text"))
    read = engine.value(field)
    whole, counted = engine.fetch(exp.select(exp.Count(this=text), exp.Count(this=read)))[0]
    if not whole or counted != whole or field.kind != "integer":
        return bool(whole) and counted == whole
    number = engine.value(replace(field, kind="number"))
    fraction = exp.NEQ(this=number, expression=exp.Floor(this=number.copy()))
    one = exp.case().when(fraction, exp.Literal.number(1))
    return not engine.fetch(exp.select(exp.Count(this=one)))[0][0]


def _mixed(engine: Engine, name: str) -> str | None:
    """Return what to say of a text that is a number or a day in some rows, in whatever spelling."""
    for kind, decimal in (("number", "."), ("number", ","), ("date", ".")):
        value = engine.value(Field(name, kind, True, decimal))
        if engine.fetch(exp.select(exp.Count(this=value)))[0][0]:
            return _MIXED[kind]
    return None
