"""Build the SQL of a question with sqlglot and gather the true numbers of its cells.

Only aggregates come back. What comes back is private: nothing here may reach an analyst without noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from dovetail.errors import InvalidQuery
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Cells, HeldParts, RowCount
from dovetail.query.partitions import Axis, Cell, Discovered, Keys, Steps, listed_axes, public_cells

from .cell_places import NOWHERE, Places, Values, whole_numbers
from .conditions import spelled, value_of
from .contribution_bounding import bounded_statement, tally_statement
from .engine import Batches, Column, Engine
from .lookup_joins import with_lookups
from .row_expressions import aggregates, cell_columns, in_some_cell, needs_flag, on_lattice
from .sql_fragments import placed, text_of

# More counts than these are read as arrays; for fewer, it would take longer to load what makes them.
_FEW = 1000
_MOST_KEPT, _LONGEST_KEPT = 200, 2000


def true_cells(engine: Engine, question: CheckedQuery, secret: bytes = b"") -> Cells:
    """Return the true components of every cell, the last axis running fastest.

    `secret` keys the choice among the rows of a person who has more than the question may use.
    """
    measure = question.measure
    if measure.tallies_persons:
        groups = engine.fetch(tally_statement(engine, question))
        return [measure.released([[int(number) for number in group] for group in groups])]
    if measure.sparse:
        return [measure.released_sparsely(held_places(engine, question, secret))]
    many = public_cells(question.partition) > _FEW and measure.aggregates() == (RowCount(),)
    read: Any = _counts if many else _totals
    parts: Cells = read(engine, question, secret)
    each = public_cells(measure.partition())
    return [measure.released(parts[start : start + each]) for start in range(0, len(parts), each)]


def _counts(engine: Engine, question: CheckedQuery, secret: bytes) -> NDArray[np.int64]:
    """Return the number of rows of every part of every cell, one a line."""
    axes = listed_axes(question.partition)
    takers = [Places(axis) for axis in axes]
    counts = np.zeros(public_cells(axes), np.int64)
    with closing(engine.column_batches(_statement(engine, question, secret))) as batches:
        for batch in batches:
            columns = iter(batch)
            at, inside = _flat(takers, columns)
            np.add.at(counts, at[inside], whole_numbers(next(columns))[inside])
    return counts[:, None]


def _flat(takers: Sequence[Places], columns: Iterator[Column]) -> tuple[NDArray[Any], Any]:
    """Return the number of each group's cell, and which groups have one; without axes all are in cell 0."""
    at, inside = np.zeros(1, np.int64), np.ones(1, np.bool_)
    for taker in takers:
        places = taker.take_all(columns)
        at, inside = at * taker.cells + places, inside & (places != NOWHERE)
    return at, inside


def _totals(engine: Engine, question: CheckedQuery, secret: bytes) -> list[list[int]]:
    """Return the aggregates of every part of every cell, sums of any size among them."""
    axes = listed_axes(question.partition)
    places = [Places(axis) for axis in axes]
    empty = [0] * len(question.measure.aggregates())
    parts = [empty] * public_cells(axes)
    for row in _fetched(engine, question, secret):
        items = iter(row)
        at: int | None = 0
        for place in places:
            number = place.take(items)
            at = None if at is None or number is None else at * place.cells + number
        if at is not None:
            parts[at] = [have + int(more or 0) for have, more in zip(parts[at], items, strict=True)]
    return parts


def _fetched(engine: Engine, question: CheckedQuery, secret: bytes) -> list[tuple[Any, ...]]:
    """Run the statement of a question; where it is asked again and again, a short one is built only once.

    Equal questions have the same cells, though what is kept may have been built for keys that were listed
    and serve those of the schema. Where persons are bounded, a statement also depends on the secret.
    """
    if question.persons is not None:
        return engine.fetch(_statement(engine, question, secret))
    made = engine.statements.get(question)
    if made is None:
        made = _statement(engine, question, secret)
    rows = engine.fetch(made)
    if len(text_of(made) or "") in range(1, _LONGEST_KEPT):
        if len(engine.statements) >= _MOST_KEPT:
            engine.statements.clear()
        # After it was run: to spell it changes it, which no two threads may do at once.
        engine.statements[question] = made
    return rows


def held_cells(engine: Engine, question: CheckedQuery, secret: bytes = b"") -> Batches:
    """Yield the cells that rows are in, some at a time and in no particular order, as the engine gives them.

    The true count stands last; `cell_reader` reads the rest.
    """
    return engine.batches(_statement(engine, question, secret))


def held_places(engine: Engine, question: CheckedQuery, secret: bytes = b"") -> Iterator[HeldParts]:
    """Yield the parts that rows are in, some at a time: their places on every axis, and their true counts.

    For public axes only; what an engine let pass but has no cell is left out.
    """
    takers = [Places(axis) for axis in listed_axes(question.partition)]
    # Closed when stopped on the way, too: a traceback that somebody keeps must not keep the engine busy.
    with closing(engine.column_batches(_statement(engine, question, secret))) as batches:
        for batch in batches:
            columns = iter(batch)
            places = np.array([taker.take_all(columns) for taker in takers], np.int64)
            counts, inside = whole_numbers(next(columns)), (places != NOWHERE).all(axis=0)
            yield (places, counts) if inside.all() else (places[:, inside], counts[inside])


def cell_reader(question: CheckedQuery) -> Callable[[tuple[Any, ...]], Cell | None]:
    """Return what reads the cell of a row of `held_cells`.

    None for a text with NUL, which none can name, and for what an engine let pass but has no cell.
    """
    takers = [Values(axis) if isinstance(axis, Discovered) else Places(axis) for axis in question.axes]

    def read(row: tuple[Any, ...]) -> Cell | None:
        items = iter(row)
        try:
            cell = tuple(taker.take(items) for taker in takers)
        except InvalidQuery:
            return None
        placed = all(at is not None or isinstance(by, Values) for at, by in zip(cell, takers, strict=True))
        return cell if placed else None

    return read


def _statement(engine: Engine, question: CheckedQuery, secret: bytes) -> Any:
    bounded = question.persons is not None
    return bounded_statement(engine, question, secret) if bounded else statement(engine, question)


def statement(engine: Engine, question: CheckedQuery) -> Any:
    """Return the aggregation as a sqlglot SELECT, without its FROM where that is the whole relation."""
    columns: list[Any] = []
    filters: list[Any] = [] if question.where is None else [spelled(engine, question.where)]
    kept: list[Any] = []
    counts = question.measure.aggregates() == (RowCount(),)
    single = [axis for axis in question.partition if counts and _counted_singly(axis)]
    for axis in question.partition:
        columns += [value_of(engine, axis.field)] if axis in single else cell_columns(engine, axis)
        # Values without a place on a lattice are one group, which no cell takes.
        if axis.other is None and not isinstance(axis, Steps):
            late = isinstance(axis, Keys) and axis.declared
            (kept if late else filters).append(in_some_cell(engine, axis))
    lattice = question.measure.lattice()
    value = None if lattice is None else on_lattice(engine, lattice)
    select = exp.select(*columns, *aggregates(engine, question.measure, value), copy=False)
    select = with_lookups(engine, select, question)
    for condition in filters:
        select = select.where(condition, copy=False)
    select = _grouped(select, len(columns))
    if kept:
        # Naming the count keeps the engine from filtering each row; most rows have a declared value.
        counted = exp.GT(this=exp.Count(this=exp.Star()), expression=exp.Literal.number(0))
        both = exp.and_(*kept, copy=False)
        inside = exp.case().when(counted, both, copy=False).else_(exp.false(), copy=False)
        select = select.having(inside, copy=False)
    return _put_in_places(engine, question, select) if single else select


def _counted_singly(axis: Axis) -> TypeGuard[Steps]:
    """Tell whether the values of an axis are counted one by one before they get their places on its lattice.

    That is faster where there are not many more values than places: whole numbers in steps of 1, and days.
    """
    return isinstance(axis, Steps) and (
        axis.field.kind == "date" or (axis.field.kind == "integer" and axis.lattice.step == 1)
    )


def _put_in_places(engine: Engine, question: CheckedQuery, select: Any) -> Any:
    """Return a SELECT of the groups of another: values that were counted singly get their places."""
    *names, number = (f"c{place}" for place in range(len(select.expressions)))
    aliased = zip(select.expressions, [*names, number], strict=True)
    select.set("expressions", [exp.alias_(each, name, copy=False) for each, name in aliased])
    columns, places = map(exp.column, names), []
    for axis in question.partition:
        column = next(columns)
        places.append(on_lattice(engine, axis.lattice, column) if _counted_singly(axis) else column)
        if needs_flag(axis):
            places.append(next(columns))
    added = exp.cast(exp.Sum(this=exp.column(number)), "BIGINT")
    groups = placed(select, engine.relation).subquery("groups_", copy=False)
    return _grouped(exp.select(*places, added, copy=False).from_(groups, copy=False), len(places))


def _grouped(select: Any, columns: int) -> Any:
    if not columns:
        return select
    return select.group_by(*(exp.Literal.number(place + 1) for place in range(columns)), copy=False)
