"""The columns of an answer; ORDER BY and LIMIT, which act on its noisy values and cost nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dovetail.errors import shown

from .constants import spelled_node
from .formula import Aggregate, Formula
from .text import Text


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """One column of the answer: a key (which of the grouped columns), the value of a query, or a formula.

    `spelling` is how the item was written, without its alias. A `formula` computes the value from several
    answers, or reads it from one that tells more.
    """

    name: str
    spelling: str
    key: int | None = None
    query: int | None = None
    formula: Formula | None = None

    @property
    def noisy(self) -> Formula:
        """What the values of the column are made of."""
        if self.formula is not None:
            return self.formula
        assert self.query is not None
        return Aggregate(self.query)

    def titles(self) -> tuple[str, ...]:
        """Return the names that the column takes in a table, error bars included.

        >>> ResultColumn("n", "COUNT(*)", query=0).titles()
        ('n', 'n_low', 'n_high')
        """
        return (self.name,) if self.key is not None else (self.name, f"{self.name}_low", f"{self.name}_high")


@dataclass(frozen=True, slots=True)
class Direction:
    """One criterion of ORDER BY."""

    column: ResultColumn
    descending: bool


def read_order(
    source: Text, part: Any, columns: Sequence[ResultColumn], computed: Callable[[Any], Formula | None]
) -> tuple[Direction, ...]:
    """Return the criteria of an ORDER BY; `computed` reads what is no column of the answer, if it can."""
    if part is None:
        return ()
    if (at := source.at_word("NULLS")) is not None:
        raise source.refusal("NULLS FIRST and NULLS LAST cannot be chosen: missing keys come last.", at)
    return tuple(_direction(source, each, columns, computed) for each in part.expressions)


def named_column(node: Any, columns: Sequence[ResultColumn]) -> ResultColumn | None:
    """Return the column of the answer that a parsed part names or spells."""
    matches: list[ResultColumn] = []
    if isinstance(node, exp.Column):
        matches = [column for column in columns if column.name == node.name] or [
            column for column in columns if column.name.casefold() == node.name.casefold()
        ]
    if not matches:
        spelling = spelled_node(node)
        matches = [column for column in columns if column.spelling == spelling]
    return matches[0] if matches else None


def _direction(
    source: Text, part: Any, columns: Sequence[ResultColumn], computed: Callable[[Any], Formula | None]
) -> Direction:
    node = part.this if isinstance(part, exp.Ordered) and not part.args.get("with_fill") else part
    if (position := whole(node)) is not None:
        ordered_by = columns[position - 1] if 0 < position <= len(columns) else None
    else:
        ordered_by = named_column(node, columns)
        if ordered_by is None and (formula := computed(node)) is not None:
            ordered_by = ResultColumn(spelled_node(node), spelled_node(node), formula=formula)
    if ordered_by is None:
        named = ", ".join(column.name for column in columns)
        raise source.refusal(
            f"ORDER BY {shown(spelled_node(node))} must name a column of the answer: {named}.",
            source.at_node(node) or source.at_word("ORDER"),
        )
    return Direction(ordered_by, bool(part.args.get("desc")))


def read_limit(source: Text, part: Any) -> int | None:
    """Return the number of a LIMIT."""
    if part is None:
        return None
    number = whole(part.args.get("expression"))
    more = any(value for key, value in part.args.items() if key != "expression")
    if not isinstance(part, exp.Limit) or number is None or more:
        raise source.refusal(
            f"{shown(spelled_node(part).strip())} cannot be answered.",
            source.at_word("LIMIT") or source.at_word("FETCH") or source.at_node(part),
            "Write LIMIT and a whole number.",
        )
    return number


def whole(node: Any) -> int | None:
    """Return the number that a literal such as 5 spells, None for anything else."""
    if not isinstance(node, exp.Literal) or node.is_string or not re.fullmatch("[0-9]{1,18}", node.this):
        return None
    return int(node.this)
