"""Hand Arrow columns to DuckDB in types that it reads on every row, and spell what they hold there.

DuckDB fails on a whole block where one time does not fit its microseconds or one text is not in UTF-8. So
times and days arrive as the whole numbers that they are stored as, texts as bytes, and SQL turns back what it
can; the rest is missing.
"""

from __future__ import annotations

from typing import Any

_TEXT, _OWN = "TRY(decode({x}))", "{x}"
_CHECKED = "TRY(decode(encode({x})))"
# DuckDB's own limits of a time in microseconds and, so that a day always has a time, of a day.
_FIRST, _LAST = -9_223_372_022_400_000_000, 9_223_372_036_854_775_806
_FURTHEST_DAY = 105_000_000
# DuckDB takes the numbers beyond for infinite.
_FIRST_NS, _LAST_NS = -(2**63) + 2, 2**63 - 2
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": None}
_MILLISECONDS = 86_400_000
# The digits of DuckDB's longest decimals.
WIDEST = 38


def readable(type_: Any, stored: str | None = None) -> tuple[Any, str] | None:
    """Return the Arrow type to hand over and the SQL that reads a column `{x}` of it; None for no such type.

    No cast to the returned type can fail on a row. `stored` is the type that DuckDB itself gives the column
    of a Parquet file, which knows more than Arrow about bytes.

    >>> import pyarrow
    >>> readable(pyarrow.string())[1]
    'TRY(decode({x}))'
    """
    import pyarrow
    from pyarrow import types

    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return _encoded(type_, stored)
    if isinstance(type_, pyarrow.BaseExtensionType):
        known = type_.extension_name in ("arrow.uuid", "arrow.bool8")
        return (type_, _OWN) if known else None
    texts = {
        pyarrow.string(): pyarrow.binary(),
        pyarrow.large_string(): pyarrow.large_binary(),
        pyarrow.string_view(): pyarrow.binary_view(),
    }
    if type_ in texts:
        return texts[type_], _TEXT
    if types.is_binary(type_) and stored == "VARCHAR":
        return type_, _TEXT
    if types.is_fixed_size_binary(type_) and stored == "UUID":
        return type_, "TRY_CAST(hex({x}) AS UUID)"
    if types.is_timestamp(type_):
        return pyarrow.int64(), _time(type_.unit)
    if types.is_date(type_):
        per_day = 1 if types.is_date32(type_) else _MILLISECONDS
        return (pyarrow.int32() if per_day == 1 else pyarrow.int64()), _day(per_day)
    return _number(type_)


def _number(type_: Any) -> tuple[Any, str] | None:
    import pyarrow
    from pyarrow import types

    if types.is_null(type_):
        return pyarrow.string(), "NULL"
    if types.is_duration(type_):
        return pyarrow.int64(), _OWN
    if types.is_float16(type_):
        return pyarrow.float32(), _OWN
    if types.is_decimal(type_):
        fits = type_.precision <= WIDEST and 0 <= type_.scale <= type_.precision
        # A number goes through its text, which is read to the nearest double; a cast of Arrow's is not exact.
        return (type_, _OWN) if fits else (pyarrow.string(), "TRY_CAST({x} AS DOUBLE)")
    plain = types.is_integer(type_) or types.is_floating(type_) or types.is_boolean(type_)
    return (type_, _OWN) if plain else None


def _encoded(type_: Any, stored: str | None) -> tuple[Any, str] | None:
    """Read values that are stored once; texts in memory stay, since Arrow would check them all."""
    from pyarrow import types

    inner = readable(type_.value_type)
    if inner is None:
        return None
    if inner[1] == _TEXT and stored is None:
        return type_, _CHECKED
    return inner if types.is_dictionary(type_) else None


def _time(unit: str) -> str:
    factor = _UNITS[unit]
    if factor is None:
        # Not rounded here, so that a Parquet file reads alike through Arrow and without it.
        return f"CASE WHEN {{x}} BETWEEN {_FIRST_NS} AND {_LAST_NS} THEN make_timestamp_ns({{x}}) END"
    low, high = -(-_FIRST // factor), _LAST // factor
    return f"CASE WHEN {{x}} BETWEEN {low} AND {high} THEN make_timestamp({{x}} * {factor}) END"


def _day(per_day: int) -> str:
    far = _FURTHEST_DAY * per_day
    # Whole days from the first one that could be: the division of a number below 0 would round up.
    days = "{x}" if per_day == 1 else f"CAST(({{x}} + {far}) // {per_day} - {_FURTHEST_DAY} AS INTEGER)"
    return f"CASE WHEN {{x}} BETWEEN {-far} AND {far} THEN DATE '1970-01-01' + {days} END"
