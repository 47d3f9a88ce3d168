"""The public cells of a run, and the questions that can be asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from dovetail import check
from dovetail.answers.contribution_bounds import bounded
from dovetail.errors import InvalidParameter, InvalidQuery, MissingKeys
from dovetail.errors.remedies import Declare, DraftSchema, Give
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.condition import Condition, Every, Some
from dovetail.query.neighbours import Persons
from dovetail.query.partitions import Axis, Bins, Keys, axes_of
from dovetail.query.protection import check_chosen
from dovetail.query.queries import Count, Histogram, condition, limited, row_counts
from dovetail.query.schema import Table

from .conditions import holds
from .hypothesis import MOST_CELLS
from .region import Mask, Region

Groups = list[tuple[set[int], list[Condition]]]
Factors: TypeAlias = list[tuple[tuple[int, ...], Mask]]
_MOST_KNOWN = 4096


@dataclass(frozen=True)
class Domain:
    """Columns with public cells: declared values or bins. A row counts if it has a cell in each of them.

    Rows without a value, and rows with any other, have a cell where the schema declares one.
    """

    axes: tuple[Keys | Bins, ...]
    persons: Persons | None = None

    @classmethod
    def of(
        cls, columns: tuple[str, ...], bins: Any, table: Table, persons: Persons | None, most_cells: int
    ) -> Domain:
        """Return the cells of the named columns, as the schema or `bins` declare them."""
        if not columns:
            raise InvalidQuery("A run needs at least one column.")
        try:
            axes = axes_of(columns, None, bins, table)
        except MissingKeys as error:
            # A run takes no keys in the question, and finds none in the rows.
            declare = (each for each in error.remedies if isinstance(each, Declare | DraftSchema))
            raise MissingKeys(error.problem, Give("bins"), *declare) from None
        check_chosen(persons)
        made = cls(tuple(axis for axis in axes if isinstance(axis, Keys | Bins)), persons)
        cells, most = prod(made.shape), check.integer("most_cells", most_cells, 1, MOST_CELLS)
        if cells > most:
            raise InvalidParameter(
                "columns",
                ", ".join(columns),
                f"of {most:,} cells together at most; these have {cells:,}",
                "Use fewer columns or coarser bins.",
            )
        return made

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many cells each column has."""
        return tuple(axis.cells for axis in self.axes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(axis.field.name for axis in self.axes)

    @property
    def whole(self) -> CheckedQuery:
        """The question after the rows of every cell, from which all others are answered."""
        return row_counts(self.axes, persons=self.persons)

    @cached_property
    def left_out(self) -> str | None:
        """What no answer counts: rows without a cell in some column, and what is not used of persons."""
        partial = ", ".join(axis.field.name for axis in self.axes if axis.other is None)
        beyond = f"rows beyond the cells of {partial} are left out" if partial else None
        return "; ".join(filter(None, (bounded(self.whole), beyond))) or None

    def question(self, query: object, table: Table) -> CheckedQuery:
        """Return what a count or a histogram asks, checked against the table and against these cells."""
        if isinstance(query, Count):
            asked = query.checked(table)
        elif type(query) is Histogram:
            asked = row_counts(self._asked_axes(query, table), condition(query.where, table))
        else:
            raise InvalidQuery(
                f"A run answers counts and histograms of rows, not {type(query).__name__}.",
                "Ask the session, which charges it separately.",
            )
        self._factors(asked.where)
        return replace(asked, persons=self.persons)

    def regions(self, question: CheckedQuery) -> Iterator[Region]:
        """Yield which cells each number of a question is over, in the order of its answer."""
        within = Region.of(self.shape, *self._factors(question.where))
        places = [self._place(axis.field.name) for axis in question.axes]
        if not places:
            yield within
            return
        for cell in product(*(range(self.shape[place]) for place in places)):
            yield _fixed(within, dict(zip(places, cell, strict=True)))

    def _asked_axes(self, query: Histogram, table: Table) -> tuple[Axis, ...]:
        if not query.columns:
            raise InvalidQuery("A histogram needs at least one column.")
        own = tuple(self.axes[self._place(table.resolve(name))] for name in query.columns)
        if len(set(own)) != len(own):
            raise InvalidQuery(f"A column is named twice: {', '.join(query.columns)}.")
        given = {"keys": query.keys, "bins": query.bins}
        if any(value is not None for value in given.values()):
            other = axes_of(query.columns, query.keys, query.bins, table)
            if other != own:
                raise InvalidParameter(
                    "keys" if query.keys is not None else "bins",
                    query.keys if query.keys is not None else query.bins,
                    "left out: the cells are those of the run",
                )
        return limited(own)

    def _place(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        raise InvalidQuery(
            f"{name} is not a column of this run.", f"Its columns are {', '.join(self.names)}."
        )

    @cached_property
    def _known(self) -> dict[Condition, Factors]:
        return {}

    def _factors(self, where: Condition | None) -> Factors:
        """Return a condition as factors; a question is checked by them and then answered by the same."""
        if where is None:
            return []
        # Looked up once: another thread that asks the run may forget it meanwhile.
        known = self._known.get(where)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[where] = self._masks(where)
        return known

    def _masks(self, where: Condition) -> Factors:
        """Return a condition as factors: parts that share no column are apart."""
        groups: Groups = []
        for part in where.parts if isinstance(where, Every) else (where,):
            axes, parts = self._columns(part), [part]
            sharing = [group for group in groups if group[0] & axes]
            for group in sharing:
                groups.remove(group)
                axes, parts = axes | group[0], group[1] + parts
            groups.append((axes, parts))
        return [
            (tuple(sorted(axes)), np.logical_and.reduce([self._mask(part, sorted(axes)) for part in parts]))
            for axes, parts in groups
        ]

    def _columns(self, part: Condition) -> set[int]:
        if isinstance(part, Every | Some):
            return set().union(*map(self._columns, part.parts))
        return {self._place(part.field.name)}

    def _mask(self, part: Condition, axes: list[int]) -> Mask:
        shape = tuple(self.shape[axis] for axis in axes)
        if isinstance(part, Every | Some):
            join = np.logical_and if isinstance(part, Every) else np.logical_or
            return reduce(join, [self._mask(each, axes) for each in part.parts])
        own = self._place(part.field.name)
        aligned = tuple(self.shape[axis] if axis == own else 1 for axis in axes)
        return np.broadcast_to(holds(self.axes[own], part).reshape(aligned), shape)


def _fixed(region: Region, places: Mapping[int, int]) -> Region:
    """Return the part of a region that lies in one cell of some columns."""
    factors: list[tuple[tuple[int, ...], Mask]] = []
    for own, mask in region.factors:
        chosen = tuple(places.get(axis, slice(None)) for axis in own)
        kept = np.zeros_like(mask)
        kept[chosen] = mask[chosen]
        factors.append((own, kept))
    for axis in places.keys() - set(region.axes):
        factors.append(((axis,), np.arange(region.shape[axis]) == places[axis]))
    return Region.of(region.shape, *factors)
