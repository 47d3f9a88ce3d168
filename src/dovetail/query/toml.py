"""Write a schema as TOML and read it back."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.errors.remedies import DraftSchema
from dovetail.errors.values import exact_text

from .column import Column

FORMAT = "dovetail.schema/1"
_KEYS = ("type", "low", "high", "step", "values", "other", "reviewed", "decimal", "missing_words")
_ENCODING = "encoding"
_INTRO = "# What is public about this table. Values and bounds come from a code book, never from the rows.\n"


def columns_text(columns: Iterable[Column], encoding: str | None) -> str:
    """Return the columns of a schema as TOML text."""
    parts = [_INTRO, f"schema = {_written(FORMAT)}\n"]
    if encoding is not None:
        parts.append(f"{_ENCODING} = {_written(encoding)}\n")
    for column in columns:
        parts.append(f"\n[columns.{_written(column.name)}]\n")
        parts.append("".join(f"# {line}\n" for line in (column.note or "").splitlines()))
        for key in _KEYS:
            value = getattr(column, key)
            if value is None or value == () or (key == "reviewed" and value):
                continue
            if key == "values":
                # TOML has no null: rows without a value are declared apart.
                parts.append(_listed([item for item in value if item is not None]))
                parts.append("missing = true\n" if None in value else "")
            elif key == "missing_words":
                parts.append(_listed(list(value), key))
            else:
                parts.append(f"{key} = {_written(value)}\n")
    return "".join(parts)


def read_columns(text: str) -> tuple[list[Column], str | None]:
    """Read columns and encoding; unknown keys are refused, so that a misspelt `reviewed` cannot go unseen."""
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise InvalidParameter("schema", "the text given", "TOML that is not nested so deeply") from None
    except ValueError as error:  # also of an integer of thousands of digits
        raise InvalidParameter("schema", "the text given", f"TOML ({error})", DraftSchema()) from None
    columns = data.get("columns")
    known = set(data) - {_ENCODING} == {"schema", "columns"}
    if data.get("schema") != FORMAT or not known or not isinstance(columns, dict):
        raise InvalidParameter(
            "schema", sorted(data), f'a text with schema = "{FORMAT}" and one [columns.NAME] per column'
        )
    return [_column(name, entry) for name, entry in columns.items()], data.get(_ENCODING)


def _column(name: str, entry: Any) -> Column:
    if not isinstance(entry, dict) or set(entry) - {*_KEYS, "missing"} or "type" not in entry:
        given = sorted(entry) if isinstance(entry, dict) else entry
        raise InvalidParameter(f"columns.{name}", given, f"type and any of {', '.join(_KEYS[1:])}, missing")
    options = dict(entry)
    missing, reviewed = options.pop("missing", False), options.get("reviewed", True)
    if not isinstance(missing, bool) or not isinstance(reviewed, bool):
        raise InvalidParameter(f"columns.{name}", sorted(entry), "missing and reviewed as true or false")
    if missing:
        options["values"] = [*options.get("values", []), None]
    try:
        return Column(name, **options)
    except InvalidQuery as error:
        raise InvalidParameter(f"columns.{name}", options, "of its declared type", error.problem) from None


def _listed(values: list[Any], key: str = "values") -> str:
    line = f"{key} = [{', '.join(map(_written, values))}]\n"
    if len(line) <= 100:
        return line
    return f"{key} = [\n" + "".join(f"  {_written(value)},\n" for value in values) + "]\n"


def plain(value: Any) -> str:
    """Return a value as a curator would write it."""
    return exact_text(value, exponent=True) if isinstance(value, Fraction) else str(value)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Fraction):
        return text if "/" not in (text := plain(value)) else f'"{text}"'
    if isinstance(value, date | datetime):
        return value.isoformat()
    # JSON's escapes are TOML's too; only DEL is not escaped by json.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
