"""Read a parsed SELECT into typed queries; every part that is not expected is refused by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dovetail.query.queries import Query
from dovetail.query.schema import Table
from dovetail.query.shared_components import shared

from .aggregates import Aggregates
from .constants import spelled_node
from .formula import Aggregate, Test, Tests, replaced
from .lookup_joins import resolved
from .order import Direction, ResultColumn, read_limit, read_order
from .text import POSSIBLE, Text, read_text

_USED = ("expressions", "from_", "where", "group", "having", "order", "limit")
# What people try most, and how to get there.
_INSTEAD = {
    "with_": "Name the columns of the data directly, without WITH.",
    "joins": "Join the tables beforehand, so that each person's rows lie in one table.",
    "distinct": "Groups are distinct already, and COUNT(DISTINCT person) counts persons.",
    "offset": "All rows of the answer come at once: leave them out of the table that comes back.",
    "windows": "Use COUNT, SUM or AVG with GROUP BY.",
}


@dataclass(frozen=True, slots=True)
class Selection:
    """What a SELECT asks: queries to pay for together, and how to lay out their answers afterwards."""

    queries: tuple[Query, ...]
    columns: tuple[ResultColumn, ...]
    order: tuple[Direction, ...]
    limit: int | None
    having: Test | Tests | None = None


def read_select(text: object, table: Table, names: Sequence[str] = (), unit: str | None = None) -> Selection:
    """Return what a text asks of a table, which it calls `data` or by one of `names`; `unit` names persons.

    >>> from dovetail.query import Column, Schema
    >>> table = Schema([Column("sex", "text", values=["F", "M"])]).table()
    >>> read_select("SELECT sex, COUNT(*) AS n FROM data GROUP BY sex ORDER BY n", table).queries
    (Histogram(columns=('sex',), keys=None, bins=None, where=None),)
    """
    source, tree = read_text(text)
    called = {"data", *(name.casefold() for name in names)}
    resolved(source, tree, table, called)
    for clause, part in tree.args.items():
        if part and clause not in _USED:
            word = {"with_": "WITH", "joins": "JOIN"}.get(clause, clause.strip("_").upper())
            nodes = part if isinstance(part, list) else [part]
            at = source.at_word(word) or next((source.at_node(n) for n in nodes if hasattr(n, "walk")), None)
            raise source.refusal(f"{word} cannot be answered.", at, _INSTEAD.get(clause, POSSIBLE))
    reader = Aggregates(source, table, unit)
    reader.check_from(tree.args.get("from_"), called)
    reader.read_rows(tree.args.get("where"), tree.args.get("group"), tree.expressions)
    columns = tuple(reader.column(item, place) for place, item in enumerate(tree.expressions))
    if not reader.queries:
        raise source.refusal("Nothing is counted or summed.", None, POSSIBLE)
    _check_names(source, columns, tree.expressions)
    having = reader.having(tree.args.get("having"), columns)
    order = read_order(
        source, tree.args.get("order"), columns, lambda node: reader.computed(node, columns, order=True)
    )
    limit = read_limit(source, tree.args.get("limit"))
    return _shared(reader, Selection((), columns, order, limit, having))


def _shared(reader: Aggregates, found: Selection) -> Selection:
    """Return a selection whose queries release once what several of its numbers are made of."""
    queries = list(reader.queries)
    ways = shared(reader.questions)
    asked = sorted({place for place, _ in ways})
    new = {number: Aggregate(asked.index(place), measure) for number, (place, measure) in enumerate(ways)}

    def renewed(column: ResultColumn) -> ResultColumn:
        if column.key is not None:
            return column
        formula = replaced(column.noisy, new)
        plain = isinstance(formula, Aggregate) and formula.measure is None
        return replace(column, query=formula.answer if plain else None, formula=None if plain else formula)

    return replace(
        found,
        queries=tuple(queries[place] for place in asked),
        columns=tuple(map(renewed, found.columns)),
        order=tuple(replace(each, column=renewed(each.column)) for each in found.order),
        having=replaced(found.having, new),
    )


def _check_names(source: Text, columns: Sequence[ResultColumn], items: Sequence[Any]) -> None:
    """Each column of the answer needs a name of its own, error bars included."""
    taken: set[str] = set()
    for column, item in zip(columns, items, strict=True):
        if not taken.isdisjoint(column.titles()):
            raise source.refusal(
                f"Two columns would be called {column.name}.",
                source.at_node(item),
                f"Give one another name: {spelled_node(item.unalias())} AS other.",
            )
        taken.update(column.titles())
