"""Nested blocks over the cells of one column: estimates of every range from few noisy levels.

Level 0 counts single cells, level l blocks of `widths[l]` cells; each width divides the next. All levels
carry noise of one variance. The best linear unbiased estimate passes up the tree (own count and sum of
children, weighed by their variances) and down again (what is left over is shared by the variances of the
children). The last block of a level may be short: its children are fewer and its variance is its own, so
nothing is padded.

Variances here are in units of the noise's variance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail import check
from dovetail.errors import InvalidParameter

from .cutoff import Floats

MOST_CELLS = 10**7
_WIDTHS = "Start at 1 and let each width divide the next, as in (1, 10)."


@dataclass(frozen=True, slots=True)
class Level:
    """One level as the estimate sees it: a count's variance given all below it, `last` for the last block.

    `below` is the sum of the variances of a block's children, 0 at level 0.
    """

    blocks: int
    fan: int  # children of a whole block; 1 at level 0
    own: float
    last: float
    below: float
    last_below: float


@dataclass(frozen=True)
class Tree:
    """The shape of a tree over `cells` cells.

    >>> Tree(5, (1, 2)).blocks
    (5, 3)
    """

    cells: int
    widths: tuple[int, ...] = (1,)

    def __post_init__(self) -> None:
        check.integer("cells", self.cells, 1, MOST_CELLS, "Use a larger step or narrower bounds.")
        whole = all(isinstance(width, int) for width in self.widths)
        if not whole or self.widths[:1] != (1,) or any(b % a or b <= a for a, b in pairwise(self.widths)):
            raise InvalidParameter("widths", self.widths, "whole widths that grow from 1", _WIDTHS)
        if self.widths[-1] > self.cells:
            raise InvalidParameter("widths", self.widths, f"at most the {self.cells} cells wide", _WIDTHS)

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """How many counts each level has."""
        return tuple(-(-self.cells // width) for width in self.widths)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The variances of partial estimates, level by level."""
        levels = [Level(self.cells, 1, 1.0, 1.0, 0.0, 0.0)]
        for (narrow, wide), blocks in zip(pairwise(self.widths), self.blocks[1:], strict=True):
            child, fan = levels[-1], wide // narrow
            below = fan * child.own
            last_below = (child.blocks - (blocks - 1) * fan - 1) * child.own + child.last
            own, last = (1 / (1 + 1 / each) for each in (below, last_below))
            levels.append(Level(blocks, fan, own, last, below, last_below))
        return tuple(levels)

    def counts(self, cells: NDArray[Any]) -> list[NDArray[Any]]:
        """Return what every level counts, given the cells.

        >>> [level.tolist() for level in Tree(5, (1, 2)).counts(np.array([1, 2, 3, 4, 5]))]
        [[1, 2, 3, 4, 5], [3, 7, 5]]
        """
        counts = [np.asarray(cells)]
        for level in self.levels[1:]:
            counts.append(_summed(counts[-1], level.fan))
        return counts

    def estimate(self, measured: Sequence[NDArray[Any]]) -> Floats:
        """Return the best linear unbiased estimate of every cell from the noisy counts of all levels."""
        if [len(level) for level in measured] != list(self.blocks):
            given = [len(level) for level in measured]
            raise InvalidParameter("measured", given, f"counts of {list(self.blocks)} blocks")
        partial = [np.array(measured[0], np.float64)]
        sums: list[Floats] = []
        for level, counts in zip(self.levels[1:], measured[1:], strict=True):
            sums.append(_summed(partial[-1], level.fan))
            joined = level.own * (counts + sums[-1] / level.below)
            joined[-1] = level.last * (counts[-1] + sums[-1][-1] / level.last_below)
            partial.append(joined)
        for number in range(len(self.levels) - 1, 0, -1):
            self._share(number, partial, sums)
        return partial[0]

    def _share(self, number: int, partial: list[Floats], sums: list[Floats]) -> None:
        """Give what a level knows beyond the sum of its children to them, in place."""
        level, child = self.levels[number], self.levels[number - 1]
        rest = partial[number] - sums[number - 1]
        children, whole = partial[number - 1], level.blocks - 1
        inner = children[: whole * level.fan].reshape(whole, level.fan)
        inner += (child.own / level.below * rest[:-1])[:, None]
        children[whole * level.fan : -1] += child.own / level.last_below * rest[-1]
        children[-1] += child.last / level.last_below * rest[-1]


def _summed(values: NDArray[Any], fan: int) -> NDArray[Any]:
    return np.asarray(np.add.reduceat(values, np.arange(0, len(values), fan)))
