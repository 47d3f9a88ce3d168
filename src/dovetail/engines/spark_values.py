"""Spell what a Spark column holds as the kind that a query expects, without ever failing on a row.

In Spark's order of doubles, NaN is above all numbers. TRY_CAST returns NULL where a value does not fit, but
reads more texts than other engines do, so a text must first match a shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dovetail.query.schema import Stored

from . import text_shapes as texts
from .sql_fragments import Templates


@dataclass(frozen=True, slots=True)
class Family:
    """A group of Spark's types that are read alike."""

    name: str
    stored: Stored


_NESTED = Family("nested", Stored(None, usable=False))
_TEXT = Family("text", Stored("text"))
_FAMILIES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Family("whole", Stored("integer"))),
    **dict.fromkeys(("float", "double"), Family("float", Stored("number"))),
    "decimal": Family("decimal", Stored("number")),
    **dict.fromkeys(("string", "varchar"), _TEXT),
    "char": Family("padded", Stored("text", cast=True)),
    "boolean": Family("boolean", Stored("boolean")),
    # A column of nothing but missing values: it says nothing about its type.
    "void": Family("void", Stored(None)),
    "date": Family("date", Stored("date")),
    "timestamp_ntz": Family("timestamp", Stored("timestamp")),
    "timestamp": Family("zoned", Stored("timestamp", cast=True)),
}
_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
_COLLATED = Family("collated", Stored("text", cast=True))
# Times that a Parquet file holds in milliseconds: of a clock, and instants.
MILLISECONDS = {
    zoned: Family("zoned milliseconds" if zoned else "milliseconds", Stored("timestamp", cast=True))
    for zoned in (False, True)
}


def family_of(field: Any) -> Family:
    """Return how a column of a Spark table is read; Spark notes beside its type that it is a CHAR."""
    word = field.metadata.get(_DECLARED) or str(field.dataType.simpleString())
    if word.startswith("string collate"):
        return _COLLATED
    return _FAMILIES.get(word.split("(")[0], _NESTED)


# In Java a "$" lets a line end follow; and Spark reads backslashes inside a text.
_NUMBER, _DATE = (
    (shape.removesuffix("$") + "\\z").replace("\\", "\\\\") for shape in (texts.NUMBER, texts.DATE)
)
# What may stand around a number or between its digits; TRY_CAST drops the spaces.
_TIDY = "REPLACE(x, '_', '')"
# Java's matcher goes one call deeper with every group that it repeats.
_SHORT = f"(CASE WHEN LENGTH(x) <= {texts.LONGEST} THEN x END)"
_READABLE = f"{_SHORT} RLIKE '{_NUMBER}'"
_FINITE = f"BETWEEN CAST('-{texts.LARGEST}' AS DOUBLE) AND CAST('{texts.LARGEST}' AS DOUBLE)"
_IS_DATE = f"{_SHORT} RLIKE '{_DATE}' AND x >= '{texts.FIRST_YEAR}'"


def _finite(double: str) -> str:
    return f"CASE WHEN {double} {_FINITE} THEN {double} END"


# What a time in microseconds can hold, in the session's time zone, which is UTC.
_OF_MILLISECONDS = (
    "CASE WHEN x BETWEEN -9223372036854775 AND 9223372036854775 "
    "THEN CAST(TIMESTAMP_MILLIS(x) AS TIMESTAMP_NTZ) END"
)
# Instants as the clock in UTC shows them.
_INSTANTS = {"zoned": "CAST(x AS TIMESTAMP_NTZ)", "zoned milliseconds": _OF_MILLISECONDS}
_SPELLED = {
    ("whole", "integer"): "x",
    ("whole", "number"): "CAST(x AS DOUBLE)",
    ("whole", "boolean"): "(x <> 0)",
    ("float", "number"): _finite("CAST(x AS DOUBLE)"),
    ("float", "integer"): (
        "CASE WHEN ABS(x) < 9.2e18D THEN CAST(TRY_CAST(RINT(x) AS BIGINT) AS DECIMAL(38, 0)) "
        "WHEN ABS(x) < 1.7e38D THEN TRY_CAST(RINT(x) AS DECIMAL(38, 0)) END"
    ),
    ("decimal", "number"): "CAST(x AS DOUBLE)",
    ("decimal", "integer"): "TRY_CAST(ROUND(x, 0) AS DECIMAL(38, 0))",
    ("boolean", "boolean"): "x",
    ("boolean", "integer"): "CAST(x AS INT)",
    ("boolean", "number"): "CAST(CAST(x AS INT) AS DOUBLE)",
    # Java would show what is not UTF-8 as a letter of its own.
    ("text", "text"): "TRY_VALIDATE_UTF8(x)",
    ("text", "number"): f"CASE WHEN {_READABLE} THEN {_finite(f'TRY_CAST({_TIDY} AS DOUBLE)')} END",
    ("text", "integer"): f"CASE WHEN {_READABLE} THEN TRY_CAST({_TIDY} AS DECIMAL(38, 0)) END",
    ("text", "boolean"): texts.truth(_SHORT),
    ("text", "date"): f"CASE WHEN {_IS_DATE} THEN TRY_CAST(SUBSTRING(x, 1, 10) AS DATE) END",
    ("text", "timestamp"): f"CASE WHEN {_IS_DATE} THEN TRY_CAST(x AS TIMESTAMP_NTZ) END",
    ("date", "date"): "x",
    # A timestamp ends some 290,000 years on and back, a date 5,000,000.
    ("date", "timestamp"): (
        "CASE WHEN x BETWEEN CAST('-290000-01-01' AS DATE) AND CAST('+290000-01-01' AS DATE) "
        "THEN CAST(x AS TIMESTAMP_NTZ) END"
    ),
    ("timestamp", "timestamp"): "x",
    ("timestamp", "date"): "CAST(x AS DATE)",
    # In the session's time zone, which is UTC.
    ("zoned", "timestamp"): _INSTANTS["zoned"],
    ("zoned", "date"): "CAST(x AS DATE)",
    # Spark fills a CHAR with spaces, and compares it as if it had filled the other side too, but not always.
    ("padded", "text"): "TRY_VALIDATE_UTF8(RTRIM(CAST(x AS STRING)))",
    # A plain STRING is compared byte by byte.
    ("collated", "text"): "TRY_VALIDATE_UTF8(CAST(x AS STRING))",
}
for _family in MILLISECONDS.values():
    _SPELLED[_family.name, "timestamp"] = _OF_MILLISECONDS
    _SPELLED[_family.name, "date"] = f"CAST({_OF_MILLISECONDS} AS DATE)"
    _SPELLED[_family.name, "text"] = f"CAST({_OF_MILLISECONDS} AS STRING)"
_templates = Templates("spark")


# In another zone, an instant at either end of what Spark can hold would be out of its range.
_LOCAL = (
    "CASE WHEN {utc} BETWEEN CAST('-290000-01-01 00:00:00' AS TIMESTAMP_NTZ) "
    "AND CAST('+290000-01-01 00:00:00' AS TIMESTAMP_NTZ) THEN {local} END"
)


def _in_zone(utc: str, kind: str, zone: str) -> str | None:
    """Spell an instant as a day or a time of a zone."""
    local = f"CONVERT_TIMEZONE('UTC', '{zone}', {utc})"
    kept = {"timestamp": local, "date": f"CAST({local} AS DATE)"}.get(kind)
    return None if kept is None else _LOCAL.format(utc=utc, local=kept)


def date_part(part: str, moment: Any) -> Any:
    """Spell a part of a day or a time."""
    return _templates.filled("(WEEKDAY(x) + 1)" if part == "weekday" else f"EXTRACT({part} FROM x)", moment)


def date_start(unit: str, moment: Any) -> Any:
    """Spell when a unit of time begins."""
    if unit == "hour":
        started = "CAST(DATE_TRUNC('HOUR', CAST(x AS TIMESTAMP)) AS TIMESTAMP_NTZ)"
    else:
        started = "CAST(x AS DATE)" if unit == "day" else f"TRUNC(CAST(x AS DATE), '{unit}')"
    return _templates.filled(started, moment)


def spelled_value(column: Any, family: Family, kind: str, zone: str | None = None) -> Any:
    """Return the column of a family of types as a kind; what has no direct way goes through its text.

    `zone` is the one that an instant is read in, UTC without it.
    """
    direct = _SPELLED.get((family.name, kind))
    if family.name in _INSTANTS and zone is not None:
        direct = _in_zone(_INSTANTS[family.name], kind, zone) or direct
    if direct is not None:
        return _templates.filled(direct, column)
    text = _templates.filled(_SPELLED.get((family.name, "text"), "CAST(x AS STRING)"), column)
    return text if kind == "text" else _templates.filled(_SPELLED["text", kind], text)
