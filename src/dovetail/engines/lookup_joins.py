"""Join the public lookups that a question uses to the rows: LEFT JOIN (VALUES ...) ON column = key.

Each key stands once in a lookup, and two that differ are equal in no engine, as texts are compared byte by
byte. So every row keeps its one place, with a value or without.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from sqlglot import exp

from dovetail.query.checked_query import CheckedQuery
from dovetail.query.condition import Condition, Every, Some
from dovetail.query.derived_columns import Cases
from dovetail.query.field import Field
from dovetail.query.lookup import LookedUp

from .engine import Engine


def looked_up_value(engine: Engine, made: LookedUp) -> Any:
    """Spell the value that a joined lookup has for a row."""
    value = exp.column(f"{_name(made)}_value", quoted=True)
    if made.otherwise is None:
        return value
    return exp.Coalesce(this=value, expressions=[engine.constant(made.kind, made.otherwise)])


def with_lookups(engine: Engine, select: Any, question: CheckedQuery) -> Any:
    """Return a SELECT from the rows with the lookups that the question uses joined to them."""
    used = {_name(made): made for field in _fields(question) for made in _lookups(field)}
    for name, made in used.items():
        rows = [
            (engine.constant(made.field.kind, key), engine.constant(made.kind, value))
            for key, value in made.pairs
        ]
        columns = [f"{name}_key", f"{name}_value"]
        table = exp.Values(
            expressions=[exp.Tuple(expressions=list(row)) for row in rows],
            alias=exp.TableAlias(
                this=exp.to_identifier(name),
                columns=[exp.to_identifier(each, quoted=True) for each in columns],
            ),
        )
        same = exp.EQ(this=engine.value(made.field), expression=exp.column(columns[0], quoted=True))
        select = select.join(table, on=same, join_type="left", copy=False)
    return select


def _name(made: LookedUp) -> str:
    by = json.dumps([made.digest, made.field.written()])
    return f"lookup_{sha256(by.encode()).hexdigest()[:16]}"


def _fields(question: CheckedQuery) -> Iterator[Field]:
    lattice = question.measure.lattice()
    yield from (axis.field for axis in question.partition)
    yield from () if lattice is None else (lattice.field,)
    yield from () if question.where is None else _compared([question.where])


def _compared(conditions: Iterable[Condition]) -> Iterator[Field]:
    for condition in conditions:
        if isinstance(condition, Every | Some):
            yield from _compared(condition.parts)
        else:
            yield condition.field


def _lookups(field: Field) -> Iterator[LookedUp]:
    made = field.derivation
    if isinstance(made, LookedUp):
        yield made
    elif isinstance(made, Cases):
        for inner in _compared(condition for condition, _ in made.branches):
            yield from _lookups(inner)
