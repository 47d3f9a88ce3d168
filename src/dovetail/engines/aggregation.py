"""Build the SQL of a question with sqlglot and gather the true numbers of its cells.

Only aggregates come back. What comes back is private: nothing here may reach an analyst without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from sqlglot import exp

from dovetail.errors import InvalidQuery
from dovetail.query.canonical import Question
from dovetail.query.field import Constant
from dovetail.query.measures import HeldParts
from dovetail.query.partitions import (
    Cell,
    Discovered,
    Keys,
    ListedAxis,
    Steps,
    listed_axes,
    public_cells,
)

from .contribution_bounding import bounded_statement
from .engine import Batches, Engine
from .row_expressions import aggregates, cell_columns, in_some_cell, needs_flag, on_lattice, spelled


def true_cells(engine: Engine, question: Question, secret: bytes = b"") -> list[tuple[int, ...]]:
    """Return the true components of every cell, the last axis running fastest.

    `secret` keys the choice among the rows of a person who has more than the question may use.
    """
    axes, measure = listed_axes(question.partition), question.measure
    if measure.sparse:
        return [measure.released_sparsely(held_places(engine, question, secret))]
    places = [_Places(axis) for axis in axes]
    empty = [0] * len(measure.aggregates())
    parts = [empty] * public_cells(axes)
    for row in engine.fetch(_statement(engine, question, secret)):
        items = iter(row)
        at: int | None = 0
        for place in places:
            number = place.take(items)
            at = None if at is None or number is None else at * place.cells + number
        if at is not None:
            parts[at] = [have + int(more or 0) for have, more in zip(parts[at], items, strict=True)]
    each = public_cells(measure.partition())
    return [measure.released(parts[start : start + each]) for start in range(0, len(parts), each)]


def held_cells(engine: Engine, question: Question, secret: bytes = b"") -> Batches:
    """Yield the cells that rows are in, some at a time and in no particular order, as the engine gives them.

    The true count stands last; `cell_reader` reads the rest.
    """
    return engine.batches(_statement(engine, question, secret))


def held_places(engine: Engine, question: Question, secret: bytes = b"") -> Iterator[HeldParts]:
    """Yield the parts that rows are in, some at a time: their places on every axis, and their true counts.

    For public axes only; what an engine let pass but has no cell is left out.
    """
    takers = [_Places(axis) for axis in listed_axes(question.partition)]
    # Closed when stopped on the way, too: a traceback that somebody keeps must not keep the engine busy.
    with closing(held_cells(engine, question, secret)) as batches:
        for rows in batches:
            columns = zip(*rows, strict=True)
            places = np.array([taker.take_all(columns) for taker in takers], np.int64)
            counts = np.array([int(count) for count in next(columns)], np.int64)
            inside = (places >= 0).all(axis=0)
            yield places[:, inside], counts[inside]


def cell_reader(question: Question) -> Callable[[tuple[Any, ...]], Cell | None]:
    """Return what reads the cell of a row of `held_cells`.

    None for a text with NUL, which none can name, and for what an engine let pass but has no cell.
    """
    takers = [_Values(axis) if isinstance(axis, Discovered) else _Places(axis) for axis in question.axes]

    def read(row: tuple[Any, ...]) -> Cell | None:
        items = iter(row)
        try:
            cell = tuple(taker.take(items) for taker in takers)
        except InvalidQuery:
            return None
        placed = all(at is not None or isinstance(by, _Values) for at, by in zip(cell, takers, strict=True))
        return cell if placed else None

    return read


def _statement(engine: Engine, question: Question, secret: bytes) -> Any:
    bounded = question.persons is not None
    return bounded_statement(engine, question, secret) if bounded else statement(engine, question)


class _Values:
    """Read the value by which a group was made."""

    def __init__(self, axis: Discovered) -> None:
        self._field = axis.field

    def take(self, items: Iterator[Any]) -> Constant | None:
        value = next(items)
        return None if value is None else self._field.constant(value)


class _Places:
    """Find the number of the cell that a group belongs to, None for no cell."""

    def __init__(self, axis: ListedAxis) -> None:
        self._flagged = needs_flag(axis)
        self.cells = axis.cells
        self._other = None if axis.other is None else axis.cells - 1
        values: Sequence[Any] = range(axis.cells if axis.other is None else axis.cells - 1)
        if isinstance(axis, Keys):
            values = axis.values
        elif isinstance(axis, Steps):
            values = range(axis.lattice.low, axis.lattice.high + 1)
        self._numbers = {value: number for number, value in enumerate(values)}
        self._missing = self._numbers.get(None, self._other)

    def take(self, items: Iterator[Any]) -> int | None:
        value = next(items)
        missing = next(items) if self._flagged else value is None
        if value is None:
            return self._missing if missing else self._other
        return self._numbers.get(value, self._other)

    def take_all(self, columns: Iterator[Sequence[Any]]) -> list[int]:
        """Find the cells of many groups, column by column; -1 for no cell."""
        other, missing = (-1 if place is None else place for place in (self._other, self._missing))
        values, numbers = next(columns), self._numbers
        if not self._flagged:
            numbers = numbers | {None: missing}
            return [numbers.get(value, other) for value in values]
        flags = next(columns)
        return [
            numbers.get(value, other) if value is not None else missing if flag else other
            for value, flag in zip(values, flags, strict=True)
        ]


def statement(engine: Engine, question: Question) -> Any:
    """Return the aggregation as a sqlglot SELECT without its FROM."""
    columns: list[Any] = []
    filters: list[Any] = [] if question.where is None else [spelled(engine, question.where)]
    kept: list[Any] = []
    for axis in question.partition:
        columns += cell_columns(engine, axis)
        if axis.other is None:
            late = isinstance(axis, Keys) and axis.declared
            (kept if late else filters).append(in_some_cell(engine, axis))
    lattice = question.measure.lattice()
    value = None if lattice is None else on_lattice(engine, lattice)
    select = exp.select(*columns, *aggregates(engine, question.measure, value), copy=False)
    for condition in filters:
        select = select.where(condition, copy=False)
    if columns:
        select = select.group_by(*(exp.Literal.number(i + 1) for i in range(len(columns))), copy=False)
    if kept:
        # Naming the count keeps the engine from filtering each row; most rows have a declared value.
        counted = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        both = exp.and_(*kept, copy=False)
        inside = exp.case().when(counted, both, copy=False).else_(exp.false(), copy=False)
        select = select.having(inside, copy=False)
    return select
