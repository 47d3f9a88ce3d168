"""How a tree's estimate of a range, or of any step function of the cells, errs: variances and weights.

A query gives every cell a value g. Up the tree a block's g is the mean of its children's, weighed by their
variances. Down the tree, h of a child is g(child) - g(block) + h(block)·own(block)/below(block); the noise of
a block enters the answer with weight h·own. A block whose cells share one g adds h²·own to the variance, with
all that is below it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.noise import IntegerNoise

from .cutoff import Floats
from .noise_sums import NoiseSum, Term
from .trees import Level, Tree

# Of so many cells all are looked at, of more those around so many.
_LOOKED_AT, _AROUND = 1 << 16, 64
_WORST = 4


def step_error(tree: Tree, noise: IntegerNoise, edges: Sequence[int], values: Sequence[float]) -> NoiseSum:
    """Return the error of the estimated sum of values[i]·(cells from edges[i] up to edges[i + 1]).

    `edges` rise from 0 to the number of cells. For the range of cells from a up to b, values are 0, 1, 0.
    """
    return NoiseSum(Term(weight, noise, count) for weight, count in step_weights(tree, edges, values))


def range_error(tree: Tree, noise: IntegerNoise, first: int, last: int) -> NoiseSum:
    """Return the error of the estimated count of the cells first, ..., last."""
    edges, values = [0], []
    for end, value in ((first, 0.0), (last + 1, 1.0), (tree.cells, 0.0)):
        if end > edges[-1]:
            edges.append(end)
            values.append(value)
    return step_error(tree, noise, edges, values)


@dataclass(slots=True)
class _Runs:
    """Stretches of blocks of one level that share g and h."""

    level: Level
    edges: list[int]
    g: list[float]
    h: list[float]

    def at(self, block: int) -> int:
        """Return which stretch a block is in."""
        return bisect_right(self.edges, block) - 1

    def own(self, block: int) -> float:
        """Return the variance of a block's partial estimate."""
        return self.level.last if block == self.level.blocks - 1 else self.level.own


def step_weights(tree: Tree, edges: Sequence[int], values: Sequence[float]) -> list[tuple[float, int]]:
    """Return the weights of all measured counts in a step function's estimate, and how many have each."""
    runs = [_Runs(tree.levels[0], list(edges), list(map(float, values)), [])]
    for level in tree.levels[1:]:
        runs.append(_averaged(runs[-1], level))
    runs[-1].h = list(runs[-1].g)
    for number in range(len(runs) - 1, 0, -1):
        runs[number - 1] = _passed_down(runs[number], runs[number - 1])
    found = []
    for each in runs:
        for first, end, h in zip(each.edges[:-1], each.edges[1:], each.h, strict=True):
            found.append((h * each.own(end - 1), end - first))
    return found


def _averaged(children: _Runs, level: Level) -> _Runs:
    """Return g of the blocks above, each block with mixed children a stretch of its own."""
    fan = level.fan
    inner = (cut for edge in children.edges[:-1] for cut in (edge // fan, -(-edge // fan)))
    edges = sorted({cut for cut in inner if cut < level.blocks} | {level.blocks - 1, level.blocks})
    g = []
    for first, end in pairwise(edges):
        if end - first > 1:
            g.append(children.g[children.at(first * fan)])
        else:
            g.append(_mean(children, first * fan, min(end * fan, children.level.blocks)))
    return _Runs(level, edges, g, [])


def _mean(children: _Runs, first: int, end: int) -> float:
    """Return the mean of g over blocks, weighed by their variances."""
    total = weight = 0.0
    start = first
    while start < end:
        run = children.at(start)
        stop = min(children.edges[run + 1], end)
        share = (stop - start) * children.own(stop - 1)
        total, weight, start = total + share * children.g[run], weight + share, stop
    return total / weight


def _passed_down(parents: _Runs, children: _Runs) -> _Runs:
    """Return the children's stretches, cut where their parents' are, with their h."""
    fan, blocks, above = parents.level.fan, children.level.blocks, parents.level
    edges = sorted({*children.edges, *(min(edge * fan, blocks) for edge in parents.edges)})
    g, h = [], []
    for first in edges[:-1]:
        run, parent = children.at(first), parents.at(first // fan)
        short = first // fan == above.blocks - 1
        share = above.last / above.last_below if short else above.own / above.below
        g.append(children.g[run])
        h.append(g[-1] - parents.g[parent] + parents.h[parent] * share)
    return _Runs(children.level, edges, g, h)


def prefix_variances(tree: Tree, left: float, right: float, edges: NDArray[np.int64]) -> Floats:
    """Return the variances of left·(cells before the edge) + right·(cells from it on), for many edges.

    In units of the noise's variance.
    """
    mixed = [np.zeros(len(edges), np.bool_)]
    g = [np.zeros(len(edges))]
    for number in range(1, len(tree.levels)):
        before, inner, rest, below = _children(tree, number, edges, mixed[-1])
        mean = (left * before + g[-1] * inner + right * rest) / below
        mixed.append((edges % tree.widths[number] != 0) & (edges < tree.cells))
        g.append(np.where(mixed[-1], mean, 0.0))
    top = tree.levels[-1]
    whole = (top.blocks - 1) * top.own + top.last
    before = np.where(edges >= tree.cells, whole, edges // tree.widths[-1] * top.own)
    own = np.where(edges // tree.widths[-1] == top.blocks - 1, top.last, top.own) * mixed[-1]
    total = left**2 * before + right**2 * (whole - before - own)
    h = g[-1]
    for number in range(len(tree.levels) - 1, 0, -1):
        level = tree.levels[number]
        before, inner, rest, below = _children(tree, number, edges, mixed[number - 1])
        own = np.where(edges // tree.widths[number] == level.blocks - 1, level.last, level.own)
        base = h * own / below - g[number]
        part = (h * own) ** 2 + before * (left + base) ** 2 + rest * (right + base) ** 2
        total = total + np.where(mixed[number], part, 0.0)
        h = np.where(mixed[number - 1], g[number - 1] + base, 0.0)
    return np.asarray(total)


def _children(
    tree: Tree, number: int, edges: NDArray[np.int64], mixed: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the variances of the children before the edge, of the one it cuts, of the others, and of all."""
    level, child = tree.levels[number], tree.levels[number - 1]
    block, place = edges // tree.widths[number], edges // tree.widths[number - 1]
    below = np.where(block == level.blocks - 1, level.last_below, level.below)
    before = (place - block * level.fan) * child.own
    inner = np.where(place == child.blocks - 1, child.last, child.own) * mixed
    return before, inner, below - before - inner, below


@lru_cache(maxsize=64)
def worst_prefixes(tree: Tree) -> tuple[int, ...]:
    """Return the last cells of the counts from the first cell on that have the largest variances.

    Several, as the count that errs furthest is mostly one of them, but not always the first. Of very many
    cells some are looked at, and all that lie around the worst of these.
    """
    edges = np.unique(np.linspace(1, tree.cells, min(tree.cells, _LOOKED_AT)).round().astype(np.int64))
    variances = prefix_variances(tree, 1.0, 0.0, edges)
    if len(edges) < tree.cells:
        reach = np.arange(-(-tree.cells // _LOOKED_AT), -1 - tree.cells // _LOOKED_AT, -1)
        near = edges[np.argsort(-variances)[:_AROUND], None] + reach
        edges = np.unique(np.clip(near, 1, tree.cells))
        variances = prefix_variances(tree, 1.0, 0.0, edges)
    return tuple((edges[np.argsort(-variances)[:_WORST]] - 1).tolist())


def mean_range_variance(tree: Tree) -> float:
    """Return the variance of a range's estimate, averaged over all ranges; in units of the noise's.

    With e_t the error of the first t cells, the sum over all pairs of (e_b - e_a)² is
    (n + 1)·sum of e_t² - (sum of e_t)².
    """
    n = tree.cells
    singles = float(np.sum(prefix_variances(tree, 1.0, 0.0, np.arange(1, n + 1))))
    ramp = _variance(tree, np.arange(n, 0, -1.0))
    return ((n + 1) * singles - ramp) / (n * (n + 1) / 2)


def _variance(tree: Tree, query: Floats) -> float:
    """Return the variance of any linear query, cell by cell."""
    means = [query]
    for level, child in zip(tree.levels[1:], tree.levels[:-1], strict=True):
        weighed = means[-1] * child.own
        weighed[-1] = means[-1][-1] * child.last
        mean = np.add.reduceat(weighed, np.arange(0, len(weighed), level.fan)) / level.below
        mean[-1] *= level.below / level.last_below
        means.append(mean)
    h, total = means[-1], 0.0
    for number in range(len(means) - 1, -1, -1):
        level = tree.levels[number]
        own = np.full(level.blocks, level.own)
        own[-1] = level.last
        total += float(np.sum((h * own) ** 2))
        if number:
            share = np.full(level.blocks, level.own / level.below)
            share[-1] = level.last / level.last_below
            base = h * share - means[number]
            h = means[number - 1] + np.repeat(base, level.fan)[: len(means[number - 1])]
    return total
