"""A table as outsiders see it: what was declared and reviewed, and what is made of that alone."""

from __future__ import annotations

from dataclasses import replace

from dovetail.errors import DovetailError

from .schema import Table


def public_table(table: Table) -> Table:
    """Return the table without columns that nobody has declared and reviewed.

    Derived columns and lookups that rest on others are left out, too: to list them, or to say why one cannot
    be asked about, would name what nobody may see.
    """
    schema = table.schema
    shown = [column for column in schema if column.reviewed]
    names = {column.name for column in shown}
    stored = {name: each for name, each in table.stored.items() if name in names}
    seen = Table(schema, stored)
    lookups = [each for each in schema.lookups if each.on is None or _can_be_asked(seen, each.on)]
    derived = {name: text for name, text in schema.derived if _can_be_asked(seen, name)}
    return Table(replace(schema, columns=shown, derived=derived, lookups=lookups), stored)


def _can_be_asked(table: Table, name: str) -> bool:
    try:
        table.field(name)
    except DovetailError:
        return False
    return True
