"""Spell what a DuckDB column holds as the kind that a query expects, without ever failing on a row.

TRY_CAST returns NULL where a value does not fit, except between times: those that a time in microseconds
cannot hold stop DuckDB, so a time is compared with its limits first. An infinite day or time is missing, like
an infinite number.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from dovetail.query.field import Field
from dovetail.query.schema import Stored

from .sql_fragments import Templates

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_WIDE = ("UBIGINT", "HUGEINT", "UHUGEINT")
_FLOATS = ("FLOAT", "DOUBLE")
# Down to the microsecond, as texts are read; DuckDB's own cast rounds, and may reach the next day.
_FLOOR = "make_timestamp(EPOCH_NS(x) // 1000 - CASE WHEN EPOCH_NS(x) % 1000 < 0 THEN 1 ELSE 0 END)"
_TIMES = {
    "TIMESTAMP": "x",
    "TIMESTAMP_NS": _FLOOR,
    # The zone of the connection, which may be the user's, must not matter.
    "TIMESTAMP WITH TIME ZONE": "TIMEZONE('UTC', x)",
    "TIMESTAMPTZ_NS": _FLOOR,
}
_KINDS = {
    **dict.fromkeys(_WHOLE, Stored("integer")),
    **dict.fromkeys(_WIDE, Stored("integer", cast=True)),
    **dict.fromkeys((*_FLOATS, "DECIMAL"), Stored("number")),
    "VARCHAR": Stored("text"),
    **dict.fromkeys(("ENUM", "UUID"), Stored("text", cast=True)),
    "BOOLEAN": Stored("boolean"),
    # A column of nothing but missing values: it says nothing about its type.
    '"NULL"': Stored(None),
    "DATE": Stored("date"),
    "TIMESTAMP": Stored("timestamp"),
    **dict.fromkeys([*_TIMES, "TIMESTAMP_S", "TIMESTAMP_MS"][1:], Stored("timestamp", cast=True)),
}
_CASTS = {
    "integer": "INT128",
    "text": "VARCHAR",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_templates = Templates("duckdb")


def word_of(type_: str) -> str:
    """Return the word by which a type of DuckDB's is known here, without its width.

    >>> word_of("DECIMAL(5,2)"), word_of("VARCHAR[]")
    ('DECIMAL', '')
    """
    return "" if type_.endswith("]") else type_.split("(")[0]


def stored_as(word: str) -> Stored:
    """Return how queries see a column of a type."""
    return _KINDS.get(word, Stored(None, usable=False))


def _within(value: str, type_: str, kept: str) -> str:
    """Keep what lies between the limits that days and times share."""
    low, high = (f"CAST('290000-01-01{era}' AS {type_})" for era in (" (BC)", ""))
    return f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {kept} END"


def _time(word: str) -> str:
    if word in ("TIMESTAMP_S", "TIMESTAMP_MS"):
        return _within("x", word, "CAST(x AS TIMESTAMP)")
    return _TIMES.get(word, "TRY_CAST(x AS TIMESTAMP)")


def _spelled(word: str, kind: str, cast: bool, zone: str | None = None) -> str:
    timed = stored_as(word).kind == "timestamp"
    if kind == "number":
        return "CASE WHEN ISFINITE(TRY_CAST(x AS DOUBLE)) THEN TRY_CAST(x AS DOUBLE) END"
    if timed or (kind == "timestamp" and word != "DATE"):
        time = _time(word)
        local = time if zone is None else f"TIMEZONE('{zone}', TIMEZONE('UTC', {time}))"
        kept = {"timestamp": local, "date": f"CAST({local} AS DATE)"}.get(
            kind, f"TRY_CAST(x AS {_CASTS[kind]})"
        )
        return _within(time, "TIMESTAMP", kept)
    if kind in ("date", "timestamp") or word == "DATE":
        day = "x" if word == "DATE" else "TRY_CAST(x AS DATE)"
        return _within(day, "DATE", day if kind == "date" else f"TRY_CAST(x AS {_CASTS[kind]})")
    return f"TRY_CAST(x AS {_CASTS[kind]})" if cast else "x"


def _guessed_text(word: str) -> str:
    """Spell the text of a value whose type pandas guessed: 40 and 40.0 are the same number there."""
    if word not in _FLOATS:
        return _spelled(word, "text", cast=True)
    whole = "x = FLOOR(x) AND ABS(x) < 9007199254740992"
    return f"CASE WHEN {whole} THEN CAST(TRY_CAST(x AS BIGINT) AS TEXT) ELSE CAST(x AS TEXT) END"


def spelled_value(column: Any, word: str, field: Field, *, guessed: bool = False, zoned: bool = False) -> Any:
    """Return the column of a type as the kind of a field; `zoned` times are instants.

    Of a column whose type was `guessed` from its values, every type has to read alike: what is neither the
    kind itself nor a number goes through its text.
    """
    kind = field.kind
    if field.missing_words:
        text = _templates.filled(_guessed_text(word), column)
        words = [exp.Literal.string(str(each)) for each in field.missing_words]
        listed = exp.In(this=exp.Trim(this=text), expressions=words)
        column = exp.case().when(listed, exp.Null()).else_(column)
    if field.decimal == "," and word == "VARCHAR" and kind == "number":
        # A point would be a sign between thousands, or a number in another form: nobody said which.
        column = _templates.filled("CASE WHEN NOT CONTAINS(x, '.') THEN REPLACE(x, ',', '.') END", column)
    alike = kind == stored_as(word).kind or (kind == "number" and word != "BOOLEAN")
    if not guessed or word == "VARCHAR" or alike:
        zone = field.zone if zoned or "WITH TIME ZONE" in word or "TIMESTAMPTZ" in word else None
        return _templates.filled(_spelled(word, kind, field.cast, zone), column)
    text = _templates.filled(_guessed_text(word), column)
    return text if kind == "text" else _templates.filled(_spelled("VARCHAR", kind, True), text)


def date_part(part: str, moment: Any) -> Any:
    """Spell a part of a day or a time."""
    return _templates.filled(f"EXTRACT({'ISODOW' if part == 'weekday' else part} FROM x)", moment)


def date_start(unit: str, moment: Any) -> Any:
    """Spell when a unit of time begins."""
    started = f"DATE_TRUNC('{unit}', x)"
    return _templates.filled(started if unit == "hour" else f"CAST({started} AS DATE)", moment)
