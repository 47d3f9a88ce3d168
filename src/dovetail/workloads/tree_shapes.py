"""Which levels a tree should have: the mean variance of all ranges in closed form, and a search over it.

With lambda_l the sum of the widths up to level l, a query q has the variance

    sum over l of (|E(w_l) q|² - |E(w_(l+1)) q|²) / lambda_l,     |E(w) q|² = sum over blocks of overlap² / w,

the term after the last being 0, in units of the noise's variance. That is exact where every width divides the
number of cells, and the variance of a longer column otherwise: good for choosing, too large for a bar.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import mul

from .tree_queries import mean_range_variance
from .trees import Tree

MOST_LEVELS = 7
# Up to so many cells the best few shapes are compared by their true variance.
_FEW_CELLS = 50_000
_TRIED = 4


@dataclass(frozen=True, slots=True)
class TreeShape:
    """A tree and the mean variance of its ranges, in units of the noise's variance."""

    tree: Tree
    variance: float


def closed_form(cells: int, widths: tuple[int, ...]) -> float:
    """Return the mean variance over all ranges, as if the last block of each level were whole.

    >>> round(closed_form(100, (1,)), 9)  # of a histogram: the mean length of a range
    34.0
    """
    total, widest = 0.0, 0
    squares = [*(_mean_square(cells, width) for width in widths), 0.0]
    for width, (here, above) in zip(widths, pairwise(squares), strict=True):
        widest += width
        total += (here - above) / widest
    return total


@lru_cache(maxsize=4096)
def _mean_square(cells: int, width: int) -> float:
    """Return the mean over all ranges of the sum over blocks of overlap² / width, in exact arithmetic."""

    def ends(m: int) -> tuple[int, int]:
        """Return what ranges with one end in a block of m cells add, and what ranges within it add."""
        one = m * (m + 1) * (2 * m + 1) // 6
        return one, (m + 1) * one - (m * (m + 1) // 2) ** 2

    whole, short = divmod(cells, width)
    one, both = ends(width)
    # A block that starts at p has p cells before it and cells - width - p after it.
    starts, squares = width * whole * (whole - 1) // 2, width**2 * (whole - 1) * whole * (2 * whole - 1) // 6
    covered = ((cells - width) * starts - squares) * width**2
    total = covered + whole * ((cells - width) * one + both)
    if short:
        one, both = ends(short)
        total += (cells - short) * one + both
    return total / width / (cells * (cells + 1) // 2)


@lru_cache(maxsize=256)
def best_shapes(cells: int) -> tuple[TreeShape, ...]:
    """Return the best tree of 1, 2, ... levels for counting ranges of `cells` cells.

    The mean variance of a range is `variance` times that of the noise, which depends on the number of levels
    through its price: the caller knows that noise and takes the best product.
    """
    shapes = []
    for count in range(1, MOST_LEVELS + 1):
        ranked = sorted(set(_candidates(cells, count)), key=lambda widths: closed_form(cells, widths))
        if not ranked:
            break
        trees = [Tree(cells, widths) for widths in ranked[:_TRIED]]
        if cells <= _FEW_CELLS:
            shapes.append(
                min((TreeShape(t, mean_range_variance(t)) for t in trees), key=lambda s: s.variance)
            )
        else:
            shapes.append(TreeShape(trees[0], closed_form(cells, trees[0].widths)))
    return tuple(shapes)


def best_tree(cells: int, variance: Callable[[int], float]) -> TreeShape:
    """Return the tree with the least mean variance of a range; `variance(levels)` is that of the noise.

    >>> from dovetail.noise import Geometric
    >>> shape = best_tree(121, lambda levels: Geometric(f"1/{levels}").variance())
    >>> len(shape.tree.widths)
    2
    """
    shapes = best_shapes(cells)
    scores = [TreeShape(shape.tree, shape.variance * variance(len(shape.tree.widths))) for shape in shapes]
    return min(scores, key=lambda shape: shape.variance)


def _candidates(cells: int, count: int) -> Iterator[tuple[int, ...]]:
    """Give shapes of `count` levels: those that a descent from equal fans meets."""
    if count == 1:
        yield (1,)
        return
    start = max(2, round(cells ** (1 / count)))
    fans = (start,) * (count - 1)
    if not _fits(cells, fans):
        fans = (2,) * (count - 1)
        if not _fits(cells, fans):
            return
    score, better = closed_form(cells, _widths(fans)), True
    while better:
        better = False
        for place in range(count - 1):
            for step in (-3, -2, -1, 1, 2, 3):
                other = (*fans[:place], fans[place] + step, *fans[place + 1 :])
                if other[place] < 2 or not _fits(cells, other):
                    continue
                yield _widths(other)
                value = closed_form(cells, _widths(other))
                if value < score:
                    fans, score, better = other, value, True
    yield _widths(fans)


def _widths(fans: tuple[int, ...]) -> tuple[int, ...]:
    return (1, *accumulate(fans, mul))


def _fits(cells: int, fans: tuple[int, ...]) -> bool:
    return _widths(fans)[-1] <= cells
