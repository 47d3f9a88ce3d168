"""Say of which table each column of a SELECT is: the data, or a lookup that was joined."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from dovetail.errors import UnsupportedSQL, shown
from dovetail.query.schema import Table

from .joins import Join
from .text import Text


def resolved(source: Text, tree: Any, table: Table, names: set[str]) -> None:
    """Rewrite columns with a table before them: those of the data stand alone, others become LOOKUP(...).

    `names` are what the data are called; an alias after FROM is one more.
    """
    called = names | {_alias(tree).casefold()}
    known = {name.casefold() for name in (*table.stored, *dict(table.schema.derived))}
    owners = {}
    for join in source.joins:
        owners[join.alias.casefold()] = (join.lookup, _column(source, join, table, called, known))
    for node in list(tree.find_all(exp.Column)):
        owner = node.args.get("table")
        if owner is None:
            continue
        if owner.name.casefold() in owners:
            lookup, column = owners[owner.name.casefold()]
            value = exp.column(node.name, table=lookup, quoted=True)
            node.replace(exp.Anonymous(this="LOOKUP", expressions=[exp.column(column, quoted=True), value]))
        elif owner.name.casefold() in called and not node.args.get("db") and node.name.casefold() in known:
            node.set("table", None)


def _alias(tree: Any) -> str:
    named = tree.args["from_"].this if tree.args.get("from_") else None
    return str(named.alias) if isinstance(named, exp.Table) else ""


def _column(source: Text, join: Join, table: Table, called: set[str], known: set[str]) -> str:
    """Return the column of the data that holds the keys of a joined lookup."""
    lookup = table.schema.lookup(join.lookup)
    if lookup is None:
        declared = ", ".join(each.name for each in table.schema.lookups) or "none"
        raise source.refusal(
            f"There is no lookup {shown(join.lookup)}.",
            join.at,
            f"The schema declares {declared}. Join other tables with the data beforehand.",
        )
    own = {join.alias.casefold()}
    keys = [column for owner, column in join.sides if owner is not None and owner.casefold() in own]
    others = [column for owner, column in join.sides if owner is None or owner.casefold() in called]
    if [key.casefold() for key in keys] != [lookup.key.casefold()] or len(others) != 1:
        raise _refused(source, join, lookup.key)
    if others[0].casefold() not in known:
        raise _refused(source, join, lookup.key)
    return table.resolve(others[0])


def _refused(source: Text, join: Join, key: str) -> UnsupportedSQL:
    return source.refusal(
        f"Lookup {join.lookup} is joined by its key {key}.",
        join.at,
        f"Write LEFT JOIN {join.lookup} ON column = {join.alias}.{key}, with a column of the data.",
    )
