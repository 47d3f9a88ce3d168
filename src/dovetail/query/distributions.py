"""Queries about how the values of a column are distributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from dovetail.errors import InvalidParameter

from .canonical import Question
from .condition import Condition
from .lattice import Lattice
from .measures import Dispersion
from .partitions import axes_of
from .queries import condition, lattice, limited
from .schema import Table

# Squares of the range must fit where sums of them are kept.
LARGEST_RANGE = 2**26


@dataclass(frozen=True, slots=True)
class Variance:
    """The variance of a column: each row is clamped to [low, high] and rounded to a multiple of step.

    It is that of these rows; `sample` divides by n - 1 instead of n. Rows without a number are left out. Of
    low, high and step, what is left out is what the schema declares.

    >>> Variance("age", low=0, high=100, step=1).sample
    False
    """

    column: str
    low: Any = None
    high: Any = None
    step: Any = None
    where: str | Condition | None = None
    by: tuple[str, ...] = ()
    keys: Any = None
    bins: Any = None
    sample: bool = False

    root: ClassVar[bool] = False

    def checked(self, table: Table) -> Question:
        if not isinstance(self.sample, bool):
            raise InvalidParameter("sample", self.sample, "True (divide by n - 1) or False (by n)")
        values = lattice(self.column, self.low, self.high, self.step, table)
        _check_range(values)
        axes = limited(axes_of(self.by, self.keys, self.bins, table))
        return Question(Dispersion(values, self.sample, self.root), axes, condition(self.where, table))


@dataclass(frozen=True, slots=True)
class Std(Variance):
    """The standard deviation of a column: the square root of its variance, with the same options.

    >>> Std("age", low=0, high=100, step=1).column
    'age'
    """

    root = True


def _check_range(values: Lattice) -> None:
    steps = values.high - values.low
    if steps > LARGEST_RANGE:
        raise InvalidParameter(
            "step",
            values.step,
            f"at least 2^-26 of the range from low to high, which has {steps} steps",
            "Use a larger step or narrower bounds.",
        )
