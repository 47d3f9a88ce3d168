"""Which cells of a table a count is over: a product of conditions on separate columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter

Mask: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """The cells that meet every factor: masks over separate groups of axes, in the order of the axes.

    A conjunction of conditions on single columns has a factor for each. A condition that mixes columns is one
    factor over all of them. Without factors every cell is in the region.
    """

    shape: tuple[int, ...]
    factors: tuple[tuple[tuple[int, ...], Mask], ...]
    _known: dict[tuple[int, ...], Mask | None] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, shape: Sequence[int], *factors: tuple[Sequence[int], Any]) -> Region:
        """Check and sort factors, each given as its axes and a mask over them.

        >>> region = Region.of((2, 3), ([1], [True, True, False]))
        >>> region.axes, int(region.dense().sum())
        ((1,), 4)
        """
        whole = tuple(int(length) for length in shape)
        sorted_factors = []
        for axes, mask in factors:
            order = sorted(range(len(axes)), key=axes.__getitem__)  # NumPy takes ten times as long for so few
            table = np.asarray(mask, np.bool_)
            if table.shape != tuple(whole[axis] for axis in axes):
                allowed = f"a mask over the axes {tuple(axes)} of {whole}"
                raise InvalidParameter("factors", table.shape, allowed)
            sorted_factors.append((tuple(int(axes[i]) for i in order), table.transpose(order)))
        listed = [axis for axes, _ in sorted_factors for axis in axes]
        if len(set(listed)) != len(listed):
            raise InvalidParameter("factors", listed, "about separate axes", "Join masks that share one.")
        return cls(whole, tuple(sorted(sorted_factors, key=lambda factor: factor[0])))

    @classmethod
    def product(cls, shape: Sequence[int], masks: Mapping[int, Any]) -> Region:
        """Return the cells that meet a condition on each of some axes."""
        return cls.of(shape, *(([axis], mask) for axis, mask in masks.items()))

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that a condition is about, ascending."""
        return tuple(sorted(axis for axes, _ in self.factors for axis in axes))

    def over(self, axes: Sequence[int]) -> Mask | None:
        """Return the mask over the given axes, ascending; None if a factor is about others, too."""
        wanted = tuple(axes)
        if len(wanted) == len(self.shape):
            return self.mask(wanted)  # as large as the table itself, so not kept
        if wanted not in self._known:
            self._known[wanted] = self.mask(wanted)
        return self._known[wanted]

    def mask(self, axes: tuple[int, ...]) -> Mask | None:
        """Return what `over` does, made anew: nobody keeps it."""
        parts = [(own, mask) for own, mask in self.factors if set(own) & set(axes)]
        if any(not set(own) <= set(axes) for own, _ in parts):
            return None
        aligned = [
            mask.reshape(tuple(self.shape[axis] if axis in own else 1 for axis in axes))
            for own, mask in parts
        ]
        whole = np.ones(tuple(self.shape[axis] for axis in axes), np.bool_)
        return reduce(np.logical_and, aligned, whole)

    def dense(self) -> Mask:
        """Return the mask over all cells."""
        mask = self.over(range(len(self.shape)))
        assert mask is not None
        return mask


def halves(shape: Sequence[int]) -> tuple[range, range]:
    """Cut the axes in two so that a table becomes as square a matrix as it can.

    >>> halves((10, 10, 10, 10))
    (range(0, 2), range(2, 4))
    """
    cut = min(range(len(shape) + 1), key=lambda at: max(prod(shape[:at]), prod(shape[at:])))
    return range(cut), range(cut, len(shape))
