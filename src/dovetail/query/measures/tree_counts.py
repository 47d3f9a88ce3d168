"""Counts in nested blocks of a column's points: what ranges and quantiles are made of.

Level 0 counts the points of the lattice, the others blocks of them. One row moves one count of each level.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from math import inf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.query.partitions import Axis, Steps

from .component_contents import named
from .measure import Calibration, Cells, Measure, RowCount, Way
from .sensitivity import COUNTED, Component

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise
    from dovetail.privacy import Budget
    from dovetail.workloads.ranges import RangeEstimates
    from dovetail.workloads.trees import Tree

# Levels beyond the best number only add to the error, slowly.
_WORSE = 1.2
# So many ways are told, the best first.
_TOLD = 4
# Trees of no more counts than this are small.
_SHORT = 20_000


@dataclass(frozen=True, slots=True)
class TreeCounts(Measure, ABC):
    """Noisy counts of the points of a lattice in blocks of each of `widths`."""

    steps: Steps
    widths: tuple[int, ...]

    def tree(self) -> Tree:
        """Return the shape of the tree."""
        from dovetail.workloads.trees import Tree

        return Tree(self.steps.cells, self.widths)

    def partition(self) -> tuple[Steps, ...]:
        return (self.steps,)

    def aggregates(self) -> tuple[RowCount, ...]:
        return (RowCount(),)

    def released(self, parts: Cells) -> Any:
        return np.concatenate(self.tree().counts(np.asarray(parts, np.int64)[:, 0]))

    def components(self) -> tuple[Component, ...]:
        named = (f"blocks of {width}" for width in self.widths)
        return tuple(
            Component(name, COUNTED, blocks) for name, blocks in zip(named, self.tree().blocks, strict=True)
        )

    def ways(self, budget: Budget, task: Calibration) -> list[Way]:
        """Return trees of one, two, ... levels; more levels are looked at until they are of no use."""
        from dovetail.workloads.cutoff import variance
        from dovetail.workloads.tree_shapes import best_shapes

        tried: list[Way] = []
        for shape in best_shapes(self.steps.cells):
            widths = shape.tree.widths
            measure = replace(self, widths=widths)
            noises = {name: noise for name in task.shapes if (noise := task.noise(measure, name)) is not None}
            here = [
                Way(
                    measure,
                    (noise,) * len(widths),
                    f"tree of blocks of {', '.join(map(str, widths))}, {name}",
                    {f"a range of {self.steps.field.name}": sqrt(shape.variance * variance(noise))},
                )
                for name, noise in noises.items()
            ]
            least = min((way.worst for way in tried), default=inf)
            tried += here
            if min((way.worst for way in here), default=inf) > _WORSE * least:
                break
        return sorted(tried, key=lambda way: way.worst)[:_TOLD]

    def alternatives(self, neighbours: str) -> list[tuple[Measure, tuple[float, ...]]]:
        from dovetail.workloads.tree_shapes import best_shapes

        trees = [shape.tree.widths for shape in best_shapes(self.steps.cells)]
        return [(replace(self, widths=widths), (1.0,) * len(widths)) for widths in trees]

    def contents(self) -> tuple[str, ...]:
        return tuple(named(f"counts in blocks of {width}", self.steps) for width in self.widths)

    def ranges(self, cell: Sequence[int], noises: Sequence[IntegerNoise]) -> RangeEstimates:
        """Return what the released counts of one cell say; asked for again, it is the same object."""
        kept = _ranges if len(cell) <= _SHORT else _long_ranges
        return kept(self.tree(), noises[0], tuple(cell))

    def written_tree(self) -> dict[str, Any]:
        """Return what `read_tree` reads."""
        return {"widths": list(self.widths)}


def read_tree(data: Mapping[str, Any], axes: tuple[Axis, ...]) -> tuple[Steps, tuple[int, ...]]:
    """Read the points, which stand last among the axes, and the widths of the blocks."""
    steps = axes[-1]
    assert isinstance(steps, Steps)
    return steps, tuple(data["widths"])


def _estimates(tree: Tree, noise: IntegerNoise, cell: tuple[int, ...]) -> RangeEstimates:
    from dovetail.workloads.ranges import RangeEstimates

    ends = list(accumulate(tree.blocks))
    return RangeEstimates(tree, noise, np.split(np.array(cell, np.int64), ends[:-1]))


# Estimates, bars and pictures ask for the same few answers; a million values take 70 MB, so of long ones only
# the last are kept.
_ranges, _long_ranges = lru_cache(maxsize=64)(_estimates), lru_cache(maxsize=2)(_estimates)
