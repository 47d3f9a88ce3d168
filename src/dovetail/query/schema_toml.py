"""Write a schema as TOML and read it back."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.errors.remedies import DraftSchema
from dovetail.errors.values import exact_text

from .column import Column
from .lookup import Lookup

FORMAT = "dovetail.schema/1"
_KEYS = ("type", "kind", "low", "high", "step", "values", "other", "reviewed", "decimal", "missing_words")
# Strings, which may be parts of keys, and comments. No letter is tried twice, so the end may be missing.
_QUOTED = re.compile(
    r'''#[^\n]*+|"""(?:[^"\\]++|\\.|"(?!""))*+(?:""")?|"(?:[^"\\\n]++|\\.)*+"?'''
    r"""|'''(?:[^']++|'(?!''))*+(?:''')?|'[^'\n]*+'?""",
    re.DOTALL,
)
# Time and memory that the library takes for a key grow with the square of its parts; a schema needs three.
_DEEP_KEY = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){16}")
_INTRO = "# What is public about this table. Values and bounds come from a code book, never from the rows.\n"


def schema_text(
    columns: Iterable[Column],
    said: Mapping[str, str | None],
    derived: Iterable[tuple[str, str]],
    lookups: Iterable[Lookup],
) -> str:
    """Return a schema as TOML text; `said` is what is said of the whole file: its encoding, its zone."""
    parts = [_INTRO, f"schema = {_written(FORMAT)}\n"]
    parts += [f"{key} = {_written(value)}\n" for key, value in said.items() if value is not None]
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
    named = [f"{_written(name)} = {_written(text)}\n" for name, text in derived]
    parts += ["\n[derived]\n", *named] if named else []
    return "".join([*parts, *map(_lookup_text, lookups)])


def _lookup_text(lookup: Lookup) -> str:
    """Return a lookup by its file where the schema's own file names one, else with all its rows."""
    options = {"file": lookup.file, "key": lookup.key, "on": lookup.on}
    lines = [f"{key} = {_written(value)}\n" for key, value in options.items() if value is not None]
    if lookup.file is None:
        columns = lookup.columns()
        rows = [
            "  {" + ", ".join(f"{_written(n)} = {_written(v)}" for n, v in pairs if v is not None) + "},\n"
            for pairs in (list(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        ]
        lines += ["rows = [\n", *rows, "]\n"]
    return "".join([f"\n[lookups.{_written(lookup.name)}]\n", *lines])


def read_schema(text: str, folder: Path | None) -> dict[str, Any]:
    """Read the parts of a schema; unknown keys are refused: a misspelt `reviewed` must not go unseen."""
    deep = InvalidParameter("schema", "the text given", "TOML that is not nested so deeply")
    if _DEEP_KEY.search(_QUOTED.sub("q", text)):
        raise deep
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise deep from None
    except ValueError as error:  # also of an integer of thousands of digits
        raise InvalidParameter("schema", "the text given", f"TOML ({error})", DraftSchema()) from None
    columns, lookups, derived = data.get("columns", {}), data.get("lookups", {}), data.get("derived", {})
    if data.get("schema") != FORMAT:
        allowed = f'"{FORMAT}", said in its first line: schema = "{FORMAT}"'
        raise InvalidParameter("schema", data.get("schema"), allowed, DraftSchema())
    known = ("columns", "derived", "lookups", "encoding", "zone", "schema")
    for key in data:
        if key not in known:
            raise InvalidParameter("key", key, f"one of {', '.join(known)}")
    if not {"columns", "derived", "lookups"} & set(data):
        raise InvalidParameter("columns", None, "given, one [columns.NAME] for each column", DraftSchema())
    for name, table in (("columns", columns), ("derived", derived), ("lookups", lookups)):
        if not isinstance(table, dict):
            raise InvalidParameter(name, table, f"a table of TOML, such as [{name}]")
    return {
        "columns": [_column(name, entry) for name, entry in columns.items()],
        "encoding": data.get("encoding"),
        "zone": data.get("zone"),
        "derived": derived,
        "lookups": [_lookup(name, entry, folder) for name, entry in lookups.items()],
    }


def _lookup(name: str, entry: Any, folder: Path | None) -> Lookup:
    if (
        not isinstance(entry, dict)
        or set(entry) - {"file", "rows", "key", "on"}
        or ("file" in entry) == ("rows" in entry)
        or "key" not in entry
    ):
        given = sorted(entry) if isinstance(entry, dict) else entry
        raise InvalidParameter(f"lookups.{name}", given, "a file or rows, its key, and on")
    file, rows = entry.get("file"), entry.get("rows", [])
    if not isinstance(file, str | None) or not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise InvalidParameter(f"lookups.{name}", sorted(entry), "a file by its name, or rows")
    if file is not None:
        if folder is None:
            raise InvalidParameter(
                f"lookups.{name}",
                "a file",
                "given with its rows",
                "A schema that is sent as text must not name files.",
            )
        return Lookup(name, folder / file, entry["key"], entry.get("on"), file)
    columns = dict.fromkeys(column for row in rows for column in row)
    table = {column: [row.get(column) for row in rows] for column in columns}
    return Lookup(name, table, entry["key"], entry.get("on"))


def _is_row(row: object) -> bool:
    return isinstance(row, dict)


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


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Fraction):
        return text if "/" not in (text := exact_text(value, exponent=True)) else f'"{text}"'
    if isinstance(value, date | datetime):
        return value.isoformat()
    # JSON's escapes are TOML's too; only DEL is not escaped by json.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
