"""Spell what a PostgreSQL column holds as the kind that a query expects, without ever failing on a row.

PostgreSQL has no cast that returns NULL, so every conversion that could fail stands behind a CASE that lets
only convertible values through. An infinite day or time is missing, like an infinite number. In its order of
doubles and of numerics, NaN is above all numbers.
"""

from __future__ import annotations

from typing import Any

from dovetail.query.schema import Stored

from . import text_shapes as texts
from .sql_fragments import Templates

_WHOLE, _FLOAT, _DECIMAL, _TEXT, _OTHER_TEXT = "whole", "float", "decimal", "text", "other text"
_ZONED = "zoned"
# What is stored, and how a query sees it.
TYPES = {
    **dict.fromkeys(("int2", "int4", "int8"), (_WHOLE, Stored("integer"))),
    **dict.fromkeys(("float4", "float8"), (_FLOAT, Stored("number"))),
    "numeric": (_DECIMAL, Stored("number")),
    **dict.fromkeys(("text", "varchar"), (_TEXT, Stored("text"))),
    **dict.fromkeys(("bpchar", "name", "citext", "enum", "uuid"), (_OTHER_TEXT, Stored("text", cast=True))),
    "bool": ("boolean", Stored("boolean")),
    "date": ("date", Stored("date")),
    "timestamp": ("timestamp", Stored("timestamp")),
    "timestamptz": (_ZONED, Stored("timestamp", cast=True)),
}

_DOUBLE = "DOUBLE PRECISION"
# Half a unit in the last place above the largest double; at half of the smallest, a text reads as an error.
_TOO_LARGE = "1.797693134862315807e308"
_TOO_SMALL = "2.4703282292062328e-324"
_MOST = "170141183460469231731687303715884105727"
# The server cannot match a text of some hundred megabytes: one row would make a question fail.
_SHORT = f'(CASE WHEN OCTET_LENGTH(x) <= {texts.LONGEST} THEN x END) COLLATE "C"'
_READABLE = f"{_SHORT} ~ '{texts.NUMBER}'"
_NUMERIC = "CAST(REPLACE(x, '_', '') AS DECIMAL)"
_DAY = "CAST(SUBSTR(x, 1, 8) || '01' AS DATE) + (CAST(SUBSTR(x, 9, 2) AS INT) - 1)"
_IS_DATE = f"{_SHORT} ~ '{texts.DATE}' AND x COLLATE \"C\" >= '{texts.FIRST_YEAR}'"


def _as_double(number: str) -> str:
    """Spell a numeric as a double: too large is missing, too small is zero."""
    return (
        f"CASE WHEN ABS({number}) < {_TOO_SMALL} THEN CAST(0 AS {_DOUBLE}) "
        f"WHEN ABS({number}) < {_TOO_LARGE} THEN CAST({number} AS {_DOUBLE}) END"
    )


def _as_whole(number: str) -> str:
    return f"CASE WHEN ABS({number}) <= {_MOST} THEN ROUND({number}) END"


def _on_its_day(value: str) -> str:
    """Keep a value of a text in the shape of a date only where that month has such a day."""
    inner = f"CASE WHEN EXTRACT(DAY FROM {_DAY}) = CAST(SUBSTR(x, 9, 2) AS INT) THEN {value} END"
    return f"CASE WHEN {_IS_DATE} THEN {inner} END"


_SPELLED = {
    (_WHOLE, "integer"): "x",
    (_WHOLE, "number"): f"CAST(x AS {_DOUBLE})",
    (_WHOLE, "boolean"): "(x <> 0)",
    (_FLOAT, "number"): (
        f"CASE WHEN x BETWEEN CAST('-{texts.LARGEST}' AS {_DOUBLE}) AND CAST('{texts.LARGEST}' AS {_DOUBLE}) "
        f"THEN CAST(x AS {_DOUBLE}) END"
    ),
    # Through 64 bits where they hold it: from a double, numeric keeps only 15 digits.
    (_FLOAT, "integer"): (
        "CASE WHEN x >= -9223372036854775808.0 AND x < 9223372036854775808.0 "
        "THEN CAST(CAST(x AS BIGINT) AS DECIMAL) "
        f"WHEN ABS(x) < CAST('1.7014118346046923e38' AS {_DOUBLE}) THEN CAST(x AS DECIMAL) END"
    ),
    (_DECIMAL, "number"): _as_double("x"),
    (_DECIMAL, "integer"): _as_whole("x"),
    ("boolean", "boolean"): "x",
    ("boolean", "integer"): "CAST(x AS INT)",
    ("boolean", "number"): f"CAST(CAST(x AS INT) AS {_DOUBLE})",
    (_TEXT, "text"): 'x COLLATE "C"',
    (_TEXT, "number"): f"CASE WHEN {_READABLE} THEN {_as_double(_NUMERIC)} END",
    (_TEXT, "integer"): f"CASE WHEN {_READABLE} THEN {_as_whole(_NUMERIC)} END",
    (_TEXT, "boolean"): texts.truth(_SHORT),
    (_TEXT, "date"): _on_its_day(_DAY),
    (_TEXT, "timestamp"): _on_its_day(
        f"CAST({_DAY} AS TIMESTAMP) + CAST(COALESCE(NULLIF(SUBSTR(x, 12), ''), '00:00') AS INTERVAL)"
    ),
    ("date", "date"): "CASE WHEN ISFINITE(x) THEN x END",
    # A timestamp ends some 300,000 years on, a date 5,000,000.
    ("date", "timestamp"): (
        "CASE WHEN x < CAST('290000-01-01' AS DATE) AND ISFINITE(x) THEN CAST(x AS TIMESTAMP) END"
    ),
    ("timestamp", "timestamp"): "CASE WHEN ISFINITE(x) THEN x END",
    ("timestamp", "date"): "CASE WHEN ISFINITE(x) THEN CAST(x AS DATE) END",
    (_ZONED, "timestamp"): "CASE WHEN ISFINITE(x) THEN x AT TIME ZONE 'UTC' END",
    (_ZONED, "date"): "CASE WHEN ISFINITE(x) THEN CAST(x AT TIME ZONE 'UTC' AS DATE) END",
}
_AS_TEXT = 'CAST(x AS TEXT) COLLATE "C"'
_templates = Templates("postgres")


# In another zone, an instant at either end of what the server can hold would be out of its range.
_LOCAL = (
    "CASE WHEN x > CAST('4000-01-01 00:00:00+00 BC' AS TIMESTAMPTZ) "
    "AND x < CAST('290000-01-01 00:00:00+00' AS TIMESTAMPTZ) THEN {local} END"
)


def _in_zone(kind: str, zone: str) -> str | None:
    """Spell an instant as a day or a time of a zone."""
    local = f"x AT TIME ZONE '{zone}'"
    kept = {"timestamp": local, "date": f"CAST({local} AS DATE)"}.get(kind)
    return None if kept is None else _LOCAL.format(local=kept)


def date_part(part: str, moment: Any) -> Any:
    """Spell a part of a day or a time."""
    word = "ISODOW" if part == "weekday" else part
    return _templates.filled(f"CAST(EXTRACT({word} FROM x) AS BIGINT)", moment)


def date_start(unit: str, moment: Any) -> Any:
    """Spell when a unit of time begins."""
    # Of a day, the server would make a time in its own zone.
    started = f"DATE_TRUNC('{unit}', CAST(x AS TIMESTAMP))"
    return _templates.filled(started if unit == "hour" else f"CAST({started} AS DATE)", moment)


def spelled_value(column: Any, type_: str, kind: str, zone: str | None = None) -> Any:
    """Return the column of a PostgreSQL type as a kind; what has no direct way goes through its text.

    `zone` is the one that an instant is read in, UTC without it.
    """
    family = TYPES[type_][0]
    direct = _SPELLED.get((family, kind))
    if family == _ZONED and zone is not None:
        direct = _in_zone(kind, zone) or direct
    if direct is not None:
        return _templates.filled(direct, column)
    text = _templates.filled(_AS_TEXT, column)
    return text if kind == "text" else _templates.filled(_SPELLED[_TEXT, kind], text)
