"""What every measure knows of itself: the one door through which a new kind of number comes in.

A question divides the rows into cells. In each cell a measure releases whole numbers: its components, one
after another, and of a component with several parts, part after part. They are the record that is stored.
Estimates and intervals are made of them by post-processing.

    aggregates        what an engine counts and adds up, in each part of each cell
    released          from these to the integers that get noise
    components        how far one row moves each integer: sensitivity, and with it the width of the noise
    joint, moves      what one neighbour moves at the same time: the price
    ways              how else the same numbers can be measured, the best first
    estimates         from noisy integers to numbers
    intervals, error  how far from the truth they are
    remarks           what else must be said of them
    to_dict, words    the canonical form, and how a person reads it

A new measure is a frozen dataclass in a file of its own and one line in `registry.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail.query.field import Constant
from dovetail.query.lattice import Lattice
from dovetail.query.neighbours import Persons
from dovetail.query.partitions import Axis, ListedAxis

from .error_bars import Bar, half_width
from .sensitivity import Component, Contribution, Move, covering_moves

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise
    from dovetail.privacy import Budget

Cells: TypeAlias = Sequence[Sequence[int]]
"""The integers of every cell, also as arrays."""


@dataclass(frozen=True, slots=True)
class RowCount:
    """How many rows; of a measure that counts persons, how many persons."""


@dataclass(frozen=True, slots=True)
class ValueCount:
    """How many rows have a value on the lattice."""


@dataclass(frozen=True, slots=True)
class ValueSum:
    """The sum of (value - origin)^power in steps of the lattice, each term below 2^62; no value adds 0."""

    power: int = 1
    origin: int = 0


RowAggregate: TypeAlias = RowCount | ValueCount | ValueSum
"""What an engine counts or adds up over rows."""

HeldParts: TypeAlias = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Parts that rows are in: their places, one row for each axis, and how many rows are in each."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """What a measure needs to know to choose among its ways; whoever prices it says it.

    `noise` gives the noise of one name with which the components of a measure keep the price, None where
    there is none; `shapes` holds wide noises by these names, whose scale does not matter. `neighbours` is
    "persons" where several rows of one person count.
    """

    noise: Callable[[Measure, str], IntegerNoise | None]
    shapes: Mapping[str, IntegerNoise]
    neighbours: str
    progress: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Way:
    """A way to measure: the measure that does it, its noises, its name, and the standard error it has.

    `errors` are those of its tables, by name. That it keeps the budget is certain if it is `certified`. It is
    `even` if each table has one integer that a row moves, with the same noise: one that others share will do.
    """

    measure: Measure
    noises: tuple[IntegerNoise, ...]
    name: str
    errors: Mapping[str, float]
    certified: bool = True
    even: bool = True

    @property
    def worst(self) -> float:
        """The largest standard error."""
        return max(self.errors.values())


class Measure(ABC):
    """A kind of number; as it stands, one integer per cell, times a step.

    `kind` is the first key of its JSON. `counts` says that its numbers are counts, and `counts_persons` that
    they are counts of persons, so that a question must know whose rows they are. `tallies_persons` says that
    persons are counted by what they contribute, and no bound leaves anything out. Of a `sparse` measure the
    parts are too many to be listed: it has one cell, and `released_sparsely` gets the parts that rows are in.
    `unknown_error` is why no error can be told before the data are read, where `error` returns None.
    `answered_as` names a class of answers that can be asked for more than numbers, where there is one.
    `exact_numbers` is False where numbers are computed in floating point, so that their last digits say
    nothing.
    """

    __slots__ = ()

    kind: ClassVar[str]
    counts: ClassVar[bool] = False
    counts_persons: ClassVar[bool] = False
    answered_as: ClassVar[str] = "numbers"
    tallies_persons: ClassVar[bool] = False
    exact_numbers: ClassVar[bool] = True
    sparse: ClassVar[bool] = False
    unknown_error: ClassVar[str] = "The error of this answer depends on the rows, which are private."

    # What is asked of the rows

    def lattice(self) -> Lattice | None:
        """Return the column whose values are added up; rows without one are left out."""
        return None

    def partition(self) -> tuple[ListedAxis, ...]:
        """Return the axes that divide each cell into parts, in their order."""
        return ()

    @abstractmethod
    def aggregates(self) -> tuple[RowAggregate, ...]:
        """Return what is counted and added up in each part of each cell."""

    def released(self, parts: Cells) -> Sequence[int]:
        """Return the integers of one cell that get noise, from the aggregates of all its parts."""
        (whole,) = parts
        return tuple(map(int, whole))

    def released_sparsely(self, held: Iterable[HeldParts]) -> tuple[int, ...]:
        """Return the integers that get noise, from the parts that rows are in; a part may come twice."""
        raise NotImplementedError

    def tallied(self, persons: Persons) -> Persons:
        """Return up to how many rows and cells of persons are told apart, where persons are tallied."""
        raise NotImplementedError

    # What one neighbour moves

    @abstractmethod
    def components(self) -> tuple[Component, ...]:
        """Return what is released in each cell."""

    def contents(self) -> tuple[str, ...]:
        """Return what the integers of each component are; () where no other measure could share them.

        Of the same rows, two components with the same contents are the same integers.
        """
        return ()

    def forms(self) -> tuple[Measure, ...]:
        """Return the measures of the same number, which read it from different components."""
        return (self,)

    def one_integer(self) -> bool:
        """Tell whether a cell's number is its one released integer, times the step."""
        first, *others = self.components()
        return not others and first.parts == 1

    def linear(self) -> tuple[Fraction, ...] | None:
        """Return what one unit of each component adds to the number, where it is their sum; else None."""
        return (self.step(),) if self.one_integer() else None

    def joint(self, leave: int, come: int) -> tuple[tuple[int, ...], ...]:
        """Return how far the components of one part move together, where so many rows leave and come.

        At least as many leave as come. What is returned covers every way: each lies below one of these.
        """
        reaches = [component.reach for component in self.components()]
        return (tuple(reach.up * leave + reach.down * come for reach in reaches),)

    def moves(self, contribution: Contribution) -> tuple[Move, ...]:
        """Return the moves that cover every pair of neighbours."""
        return covering_moves(self.components(), self.joint, contribution)

    def ways(self, budget: Budget, task: Calibration) -> list[Way]:
        """Return how these numbers can be measured within a budget, the best first; [] if in one way only."""
        return []

    def alternatives(self, neighbours: str) -> list[tuple[Measure, tuple[float, ...]]]:
        """Return how else the same numbers can be measured, and how wide the noises are beside each other.

        `neighbours` is "persons" where several rows of one person count. [] if there is one way only.
        """
        return []

    def settled(self) -> Measure:
        """Return the measure as it is where no way is chosen."""
        return self

    # What the released integers say

    def step(self) -> Fraction:
        """Return what one unit of the (first) released integer stands for."""
        lattice = self.lattice()
        return Fraction(1) if lattice is None else lattice.step

    def never_negative(self) -> bool:
        """Tell whether the true number cannot be below 0, so that clamping there makes sense."""
        return self.counts

    def outputs(self) -> tuple[ListedAxis, ...]:
        """Return the axes that name the numbers of one cell, where it has several."""
        return ()

    def numbers(self) -> int:
        """Return how many numbers one cell has."""
        return prod(axis.cells for axis in self.outputs())

    def labels(self) -> list[tuple[Constant | None, ...]]:
        """Return the keys of the numbers of one cell, in order."""
        return list(product(*(axis.labels for axis in self.outputs())))

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        """Return the noisy numbers, cell by cell; `noises` holds that of each component."""
        step = self.step()
        return [cell[0] * step for cell in cells]

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        """Return the interval of every number: each, or with `simultaneous` any, misses with that chance."""
        width = half_width(noises[0], chance, len(cells) if simultaneous else 1)
        step = self.step()
        return [Bar((cell[0] - width) * step, (cell[0] + width) * step) for cell in cells]

    def error(self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1) -> Fraction | None:
        """Return what the error of each of `cells` stays within at once, but for the chance.

        None where data decide it.
        """
        return half_width(noises[0], chance, cells) * self.step() if self.one_integer() else None

    def rough_error(self, noises: Sequence[IntegerNoise], chance: Fraction) -> Fraction | None:
        """Return about what `error` does, where that takes its time."""
        return self.error(noises, chance)

    def remarks(self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction) -> tuple[str, ...]:
        """Return what must be said beside the numbers, in whole sentences; `chance` is that of the bars."""
        lattice = self.lattice()
        return () if lattice is None else lattice.clamping()

    def error_of_all(
        self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1
    ) -> Fraction | None:
        """Return what the errors of all numbers of `cells` cells stay within at once, but for the chance."""
        return self.error(noises, chance, cells)

    def errors_by_table(self, noises: Sequence[IntegerNoise], chance: Fraction) -> dict[str, Fraction]:
        """Return what the error of each number stays within, table by table, where there are several."""
        return {}

    # How it is written

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the canonical form, without the partition: a question lists that after its own axes."""

    @classmethod
    @abstractmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        """Read what `to_dict` wrote; the last of the axes are those of the measure's partition."""

    @abstractmethod
    def words(self) -> str:
        """Return what is asked, as a short phrase such as "mean of age"."""

    def bounded_effect(self) -> str:
        """Return what it does to the numbers that only so much of each person is used."""
        return f"the {self.words()} is that of these rows"

    def scale(self) -> str:
        """Return what the numbers are, as a picture's axis names them."""
        return self.words()

    def constant(self, value: Fraction) -> Fraction | date:
        """Return a number as a value of the column that is asked about: a day or a time where it is one."""
        return value
