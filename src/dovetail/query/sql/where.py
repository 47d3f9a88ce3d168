"""Read the text of a `where` into a condition; whatever lies outside the closed language is refused.

The text is parsed, checked against the columns and rebuilt from our own values. It is never run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sqlglot import exp

from dovetail.errors import InvalidQuery, shown
from dovetail.query.condition import (
    ColumnComparison,
    Condition,
    Missing,
    compared,
    every,
    known_to,
    member,
    negated,
    some,
)
from dovetail.query.field import Constant, Field, kind_of
from dovetail.query.schema import Table

from .constants import constant_of, spelled_node
from .derived_columns import derives, field_of, read_field
from .tokens import LONGEST_TEXT, Unparsable, tokens_of, trees_of

_POSSIBLE = (
    "You can use comparisons of a column with constants (=, <>, <, <=, >, >=), AND, OR, NOT, IN (...), "
    "BETWEEN ... AND ... and IS NULL."
)
OPERATORS = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
_FLIPPED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
# Short conditions are asked again and again; each session keeps its own.
_LONGEST_KEPT, _MOST_KEPT = 500, 64
_Join = Callable[[Iterable[Condition]], Condition]
_JOINS: dict[type, _Join] = {exp.And: every, exp.Or: some}
_DENIED: dict[type, _Join] = {exp.And: some, exp.Or: every}


class Unreadable(InvalidQuery):
    """A part of a parsed `where` that is outside the closed language, with its place in the tree."""

    def __init__(self, error: InvalidQuery, node: Any) -> None:
        super().__init__(error.problem, *error.remedies)
        self.node = node


def read_where(text: str, table: Table) -> Condition:
    """Return the condition that `text` spells.

    >>> from dovetail.query import Column, Schema
    >>> table = Schema([Column("age", "integer")]).table()
    >>> read_where("NOT 40 > age", table) == read_where("age >= 40", table)
    True
    """
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise InvalidQuery(f"A condition must be a text of at most {LONGEST_TEXT} characters.", _POSSIBLE)
    # Looked up once: another thread of the session may forget it meanwhile.
    known: Condition | None = table.conditions.get(text)
    if known is not None:
        return known
    try:
        statements = trees_of(text, tokens_of(text))
    except Unparsable as error:
        raise InvalidQuery(f"The condition {shown(text)} cannot be read.", error.problem, _POSSIBLE) from None
    if len(statements) != 1 or statements[0] is None:
        raise InvalidQuery(f"The condition {shown(text)} must be one expression.", _POSSIBLE)
    made = known_to(table, condition_of(statements[0], table))
    if len(text) <= _LONGEST_KEPT:
        if len(table.conditions) >= _MOST_KEPT:
            table.conditions.clear()
        table.conditions[text] = made
    return made


def read_derived(text: str, table: Table) -> Field:
    """Return the column that an expression such as `admitted.month` derives.

    >>> from dovetail.query import Column, Schema
    >>> table = Schema([Column("admitted", "date")]).table()
    >>> read_derived("EXTRACT(MONTH FROM admitted)", table).name
    'admitted.month'
    """
    return read_field(text, table, condition_of)


def condition_of(node: Any, table: Table, *, denied: bool = False) -> Condition:
    """Return the condition that a parsed expression spells (also the WHERE of a whole statement).

    It is `denied` within a NOT: a negation is taken to the single comparisons at once, however many enclose
    them.
    """
    node, denied = _bare(node, denied)
    join = _join_of(node, denied)
    if join is not None:
        return join(condition_of(part, table, denied=no) for part, no in _operands(node, denied))
    try:
        return negated(_single(node, table)) if denied else _single(node, table)
    except InvalidQuery as error:
        raise Unreadable(error, node) from None


def _single(node: Any, table: Table) -> Condition:
    """Return the condition on one column."""
    if node.comments:
        raise InvalidQuery("A condition may not contain a comment.", _POSSIBLE)
    if type(node) in OPERATORS:
        return _comparison(node, table)
    if isinstance(node, exp.In) and not (node.args.keys() - {"this", "expressions"}):
        return _member(node, table)
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low, high = (constant_of(node.args[side], _POSSIBLE) for side in ("low", "high"))
        field = _column(node.this, table, [low, high])
        return every([compared(field, ">=", low, table), compared(field, "<=", high, table)])
    if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
        return Missing(_column(node.this, table, []))
    if isinstance(node, exp.Column) or derives(node):
        field = _column(node, table, [True])
        if field.kind == "boolean":
            return ColumnComparison(field, "=", True)
    raise InvalidQuery(f"A condition cannot contain {shown(spelled_node(node))}.", _POSSIBLE)


def _bare(node: Any, denied: bool) -> tuple[Any, bool]:
    """Return a part without the parentheses and negations around it, and whether it is denied then."""
    while isinstance(node, exp.Paren | exp.Not) and not node.comments:
        denied ^= isinstance(node, exp.Not)
        node = node.this
    return node, denied


def _join_of(node: Any, denied: bool) -> _Join | None:
    return None if node.comments else (_DENIED if denied else _JOINS).get(type(node))


def _operands(node: Any, denied: bool) -> list[tuple[Any, bool]]:
    """Return what a join joins, and whether each part is denied; NOT (a OR b) AND c joins three.

    Without recursion: a long list is not a deep one, and joined once, its parts are not sorted on each level.
    """
    join = _join_of(node, denied)
    parts: list[tuple[Any, bool]] = []
    waiting = [(node, denied)]
    while waiting:
        part = _bare(*waiting.pop())
        if _join_of(*part) is join:
            waiting += [(part[0].this, part[1]), (part[0].expression, part[1])]
        else:
            parts.append(part)
    return parts


def chain(node: Any) -> list[Any]:
    """Return the operands of a AND b AND c ... without recursion: a long list is not a deep one."""
    parts: list[Any] = []
    waiting = [node]
    while waiting:
        top = waiting.pop()
        if type(top) is type(node) and not top.comments:
            waiting += [top.this, top.expression]
        else:
            parts.append(top)
    return parts


def _comparison(node: Any, table: Table) -> Condition:
    operator = OPERATORS[type(node)]
    left, right = node.this, node.expression
    if not isinstance(left, exp.Column) and not derives(left):
        left, right, operator = right, left, _FLIPPED[operator]
    value = constant_of(right, _POSSIBLE)
    field = _column(left, table, [value])
    return compared(field, operator, value, table)


def _member(node: Any, table: Table) -> Condition:
    values = [constant_of(item, _POSSIBLE) for item in node.expressions]
    if not values:
        raise InvalidQuery("IN () needs at least one value.", _POSSIBLE)
    field = _column(node.this, table, values)
    return member(field, [table.constant(field, value) for value in values])


def _column(node: Any, table: Table, values: list[Constant]) -> Field:
    if derives(node):
        return field_of(node, table, condition_of)
    if not isinstance(node, exp.Column) or node.args.keys() - {"this"} or node.comments:
        raise InvalidQuery(
            f"{shown(spelled_node(node))} must be a column, and the other side a constant.", _POSSIBLE
        )
    return table.field(node.name, asked=kind_of(values[0]) if values else "text")
