"""The true counts of a run: the cells that rows are in, read by one aggregation and kept in memory only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.engines import Engine
from dovetail.engines.aggregation import held_places

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
        places: list[list[NDArray[Any]]] = [[] for _ in domain.shape]
        counts = [np.empty(0, np.int64)]
        smallest = np.min_scalar_type(max(domain.shape))
        for columns, numbers in held_places(engine, domain.whole, secret):
            for listed, column in zip(places, columns, strict=True):
                listed.append(column.astype(smallest))
            counts.append(numbers)
        joined = tuple(np.concatenate([np.empty(0, smallest), *listed]) for listed in places)
        return cls(domain.shape, joined, np.concatenate(counts))

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
