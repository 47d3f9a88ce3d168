"""Read the name of a table in a database: its parts, however it is quoted."""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase

_DIALECTS = {"duckdb": "duckdb", "postgresql": "postgres", "spark": "spark"}
_QUOTES = {"duckdb": '"', "postgresql": '"', "spark": "`"}
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)


def table_parts(table: str, kind: str) -> tuple[str, ...]:
    """Return database, schema and table, as far as they are named; alike where the database takes them alike.

    PostgreSQL's letters keep their case, quoted or not. A name that cannot be split is one part.

    >>> table_parts('main."Visits"', "duckdb"), table_parts("Clinic.Visits", "postgresql")
    (('main', 'visits'), ('Clinic', 'Visits'))
    """
    parts = _quoted(table, kind) if _QUOTES[kind] in table else tuple(table.split("."))
    return tuple(as_compared(part, kind) for part in parts)


def as_compared(part: str, kind: str) -> str:
    """Return a part of a name such that equal parts name the same thing.

    >>> as_compared("Visits", "duckdb"), as_compared("Visits", "postgresql")
    ('visits', 'Visits')
    """
    return part if kind == "postgresql" else part.translate(_LOWER)


def _quoted(table: str, kind: str) -> tuple[str, ...]:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        read = exp.to_table(table, dialect=_DIALECTS[kind])
        if all(isinstance(part, exp.Identifier) for part in read.parts):
            return tuple(part.name for part in read.parts)
    except SqlglotError:
        pass
    return (table,)
