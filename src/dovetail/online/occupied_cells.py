"""The true counts of a run: the cells that rows are in, read by one aggregation and kept in memory only."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.engines import Engine
from dovetail.engines.aggregation import cell_reader, held_cells

from .domain import Domain
from .region import Region


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OccupiedCells:
    """Each occupied cell: its place on every axis, and how many rows are in it. Private."""

    shape: tuple[int, ...]
    places: tuple[NDArray[Any], ...]
    counts: NDArray[np.int64]

    @classmethod
    def read(cls, engine: Engine, domain: Domain, secret: bytes) -> OccupiedCells:
        """Read them from the data; of a person, no more rows than are used."""
        question = domain.whole
        cell_of = cell_reader(question)
        cells: list[Any] = []
        counts: list[int] = []
        # Closed when stopped on the way, too: a traceback that somebody keeps must not keep the engine busy.
        with closing(held_cells(engine, question, secret)) as batches:
            for rows in batches:
                for row in rows:
                    cell = cell_of(row)
                    if cell is not None:
                        cells.append(cell)
                        counts.append(int(row[-1]))
        smallest = np.min_scalar_type(max(domain.shape))
        listed = np.array(cells, smallest).reshape(len(cells), len(domain.shape))
        places = tuple(np.ascontiguousarray(column) for column in listed.T)
        return cls(domain.shape, places, np.array(counts, np.int64))

    def count(self, region: Region) -> int:
        """Return how many rows lie in a region."""
        kept = np.ones(len(self.counts), np.bool_)
        for axes, mask in region.factors:
            kept &= mask[tuple(self.places[axis] for axis in axes)]
        return int(self.counts[kept].sum())

    def table(self, axes: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the counts of the cells of some columns, the empty ones included."""
        made = np.zeros(tuple(self.shape[axis] for axis in axes), np.int64)
        np.add.at(made, tuple(self.places[axis] for axis in axes), self.counts)
        return made
