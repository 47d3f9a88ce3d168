"""Tables of counts over several sets of columns, measured together so that they agree.

What is released depends on the strategy: the tables themselves, or their residuals (`workloads.strategies`).
Estimates are linear in the released integers, and their intervals come from the exact law of a sum of noises.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, product
from math import prod, sqrt
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric
from dovetail.query.field import Constant, Field
from dovetail.query.partitions import Axis, Bins, Keys

from .error_bars import Bar
from .measure import Calibration, Cells, HeldParts, Measure, RowCount, Way
from .sensitivity import COUNTED, Component, Contribution, Move, Reach, Shift

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise
    from dovetail.privacy import Budget
    from dovetail.workloads.marginals import MarginalWorkload
    from dovetail.workloads.planning import Candidate
    from dovetail.workloads.strategies import Kind, Pattern, Strategy

Columns: TypeAlias = tuple[int, ...]

# Beyond, numbers of 64 bits might not hold a residual in whole numbers.
_LARGEST = 2**62


@dataclass(frozen=True, slots=True)
class MarginalTables(Measure):
    """Counts of the cells of `tables`, each a set of columns by number; a row has a cell in every column.

    Without a `strategy`, one is chosen from the price; where none can be chosen, tables are joined.
    """

    axes: tuple[Keys | Bins, ...]
    tables: tuple[Columns, ...]
    strategy: Kind | None = None

    kind = "marginals"
    answered_as = "marginals"
    exact_numbers = False
    sparse = True

    def wanted(self) -> MarginalWorkload:
        """Return which tables are wanted over how many values."""
        return _wanted(tuple(axis.cells for axis in self.axes), self.tables)

    def name(self, table: Columns) -> str:
        """Return what a table is called."""
        return " × ".join(self.axes[column].field.name for column in table) or "total"

    def measured(self, noises: Sequence[IntegerNoise]) -> Strategy:
        """Return the strategy with its noises: what it releases, estimates and errs by."""
        return _strategy(self._kind, self.wanted(), tuple(noises))

    def tables_of(self, cell: Sequence[int], noises: Sequence[IntegerNoise]) -> dict[Columns, NDArray[Any]]:
        """Return the unbiased estimates of all tables from the released integers."""
        return self.measured(noises).estimate(self.split(cell))

    def table(self, cell: Sequence[int], noises: Sequence[IntegerNoise], columns: Columns) -> NDArray[Any]:
        """Return the unbiased estimate of any table within one that is wanted, each the nearest float."""
        whole, below = self.measured(noises).exact_table(self.split(cell), columns)
        return np.asarray(whole / below, np.float64)

    def half_width(
        self, noises: Sequence[IntegerNoise], columns: Columns, chance: Fraction, simultaneous: bool = False
    ) -> Fraction:
        """Return what each cell of a table stays within, but for the chance.

        With `simultaneous`, all cells of the wanted tables do at once, or all of a table within one of them.
        """
        table = tuple(sorted(columns))
        if table in self.tables:
            return _half_widths(self, tuple(noises), chance, simultaneous)[table]
        wanted = self.wanted()
        each = chance / sum(map(wanted.cells, self.tables)) if simultaneous else chance
        return Fraction(self.measured(noises).cell_error(table).two_sided(each))

    def split(self, cell: Sequence[int]) -> dict[Columns, NDArray[Any]]:
        """Return the released integers as arrays, by the columns that each is over."""
        wanted, measured = self.wanted(), self._measured
        ends = list(accumulate(map(wanted.cells, measured)))
        parts = np.split(np.array(cell), ends[:-1])
        return {
            columns: part.reshape(wanted.shape(columns))
            for columns, part in zip(measured, parts, strict=True)
        }

    @property
    def _kind(self) -> Kind:
        return self.strategy or "joint"

    @property
    def _measured(self) -> tuple[Columns, ...]:
        return self.wanted().residuals if self._kind == "residuals" else self.tables

    # What is asked of the rows

    def partition(self) -> tuple[Keys | Bins, ...]:
        return self.axes

    def aggregates(self) -> tuple[RowCount, ...]:
        return (RowCount(),)

    def released_sparsely(self, held: Iterable[HeldParts]) -> tuple[int, ...]:
        wanted = self.wanted()
        tables = {table: np.zeros(wanted.shape(table), np.int64) for table in self.tables}
        for places, counts in held:
            for table, cells in tables.items():
                np.add.at(cells, tuple(places[list(table)]), counts)
        # A residual is as many times as large as its table has cells.
        most = max(int(cells.sum()) * wanted.cells(table) for table, cells in tables.items())
        exact = {
            table: cells.astype(object) if most >= _LARGEST else cells for table, cells in tables.items()
        }
        numbers = self.measured([Geometric(1)] * len(self._measured)).numbers(exact)
        return tuple(int(number) for columns in self._measured for number in numbers[columns].flat)

    # What one neighbour moves

    def components(self) -> tuple[Component, ...]:
        wanted, whole = self.wanted(), self._kind == "residuals"
        return tuple(
            Component(
                self.name(columns),
                _residual_reach(wanted, columns) if whole else COUNTED,
                wanted.cells(columns),
            )
            for columns in self._measured
        )

    def moves(self, contribution: Contribution) -> tuple[Move, ...]:
        if self._kind != "residuals":
            # One row moves one cell of each table.
            return Measure.moves(self, contribution)
        from dovetail.workloads.strategies import replacement_patterns, row_pattern

        self._check_residuals("persons" if contribution.rows > 1 else contribution.neighbours)
        if contribution.neighbours == "replace":
            return tuple(map(_move, replacement_patterns("residuals", self.wanted())))
        return (_move(row_pattern("residuals", self.wanted())),)

    def _check_residuals(self, neighbours: str) -> None:
        """Refuse residuals that cannot be priced: of persons, or of very many tables or columns."""
        from dovetail.workloads.planning import MOST_REPLACED, can_be_residuals

        if not can_be_residuals(self.wanted(), neighbours):
            raise InvalidParameter(
                "strategy",
                "residuals",
                "plain or joint here: residuals are priced for single rows and few tables, of at most "
                f"{MOST_REPLACED} columns where rows are replaced",
                "Leave it out, and one that fits is chosen.",
            )

    def ways(self, budget: Budget, task: Calibration) -> list[Way]:
        from dovetail.workloads.planning import plan
        from dovetail.workloads.strategies import KINDS

        if self.strategy == "residuals":
            self._check_residuals(task.neighbours)
        tables = replace(self, strategy="joint")
        candidates = plan(
            self.wanted(),
            budget,
            lambda name, _: task.noise(tables, name),
            task.shapes,
            neighbours=task.neighbours,
            progress=task.progress,
            kinds=KINDS if self.strategy is None else (self.strategy,),
        )
        return list(map(self._way, candidates))

    def alternatives(self, neighbours: str) -> list[tuple[Measure, tuple[float, ...]]]:
        from dovetail.workloads.planning import can_be_residuals, residual_widths

        if self.strategy == "residuals":
            self._check_residuals(neighbours)
        strategies: list[tuple[Measure, tuple[float, ...]]] = []
        if self.strategy != "residuals":
            strategies.append((self.settled(), (1.0,) * len(self.tables)))
        if self.strategy in (None, "residuals") and can_be_residuals(self.wanted(), neighbours):
            strategies.append((replace(self, strategy="residuals"), tuple(residual_widths(self.wanted()))))
        return strategies

    def rough_error(self, noises: Sequence[IntegerNoise], chance: Fraction) -> Fraction:
        from statistics import NormalDist

        measured = self.measured(noises)
        worst = max(map(measured.variance, self.tables))
        return Fraction(NormalDist().inv_cdf(1 - float(chance) / 2) * sqrt(worst))

    def _way(self, candidate: Candidate) -> Way:
        strategy = candidate.strategy
        errors = dict(zip(map(self.name, self.tables), candidate.errors, strict=True))
        measure = replace(self, strategy=strategy.kind)
        name, even = f"{strategy.kind}, {candidate.noise}", strategy.kind != "residuals"
        return Way(measure, strategy.noises, name, errors, candidate.certified, even)

    def settled(self) -> MarginalTables:
        return replace(self, strategy=self._kind)

    # What the released integers say

    def never_negative(self) -> bool:
        return True

    def outputs(self) -> tuple[Keys, ...]:
        return (Keys(Field("table", "text"), tuple(map(self.name, self.tables))),)

    def numbers(self) -> int:
        return sum(map(self.wanted().cells, self.tables))

    def labels(self) -> list[tuple[Constant | None, ...]]:
        rows: list[tuple[Constant | None, ...]] = []
        for table in self.tables:
            rows += [(self.name(table), *keys) for keys in self.keys(table)]
        return rows

    def keys(self, table: Columns) -> list[tuple[Constant | None, ...]]:
        """Return the keys of every cell of a table, the last column running fastest."""
        return list(product(*(self.axes[column].labels for column in table)))

    def estimates(self, cells: Cells, noises: Sequence[IntegerNoise]) -> list[Fraction]:
        measured = self.measured(noises)
        numbers = []
        for cell in cells:
            released = self.split(cell)
            for table in self.tables:
                whole, below = measured.exact_table(released, table)
                numbers += [Fraction(int(number), below) for number in whole.flat]
        return numbers

    def intervals(
        self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction, simultaneous: bool
    ) -> list[Bar]:
        wanted, halves = self.wanted(), _half_widths(self, tuple(noises), chance, simultaneous)
        each = [half for table in self.tables for half in [halves[table]] * wanted.cells(table)]
        values = self.estimates(cells, noises)
        return [Bar(value - half, value + half) for value, half in zip(values, each, strict=True)]

    def error(self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1) -> Fraction:
        return max(_half_widths(self, tuple(noises), chance, False).values())

    def error_of_all(self, noises: Sequence[IntegerNoise], chance: Fraction, cells: int = 1) -> Fraction:
        return max(_half_widths(self, tuple(noises), chance, True).values())

    def errors_by_table(self, noises: Sequence[IntegerNoise], chance: Fraction) -> dict[str, Fraction]:
        half_widths = _half_widths(self, tuple(noises), chance, False)
        return {self.name(table): half for table, half in half_widths.items()}

    def remarks(self, cells: Cells, noises: Sequence[IntegerNoise], chance: Fraction) -> tuple[str, ...]:
        partial = {place for place, axis in enumerate(self.axes) if axis.other is None}
        if all(partial <= set(table) for table in self.tables):
            return ()
        names = ", ".join(self.axes[place].field.name for place in sorted(partial))
        beyond = f"rows beyond the cells of {names} are in no table"
        return (f"A row counts if it has a cell in every column: {beyond}.",)

    # How it is written

    def to_dict(self) -> dict[str, Any]:
        return {"marginals": {"tables": [list(table) for table in self.tables], "strategy": self._kind}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], axes: tuple[Axis, ...]) -> Self:
        given = data["marginals"]
        own = tuple(axis for axis in axes if isinstance(axis, Keys | Bins))
        return cls(own, tuple(map(tuple, given["tables"])), given["strategy"])

    def words(self) -> str:
        many = len(self.tables)
        named = f"{many} tables" if many > 1 else "one table"
        return f"{named} of {', '.join(axis.field.name for axis in self.axes)}"

    def bounded_effect(self) -> str:
        return "counts of rows are at most the true ones"

    def scale(self) -> str:
        return "rows"


def _residual_reach(wanted: MarginalWorkload, columns: Columns) -> Reach:
    """Return how far one row moves the cell of its own values, which moves furthest."""
    return Reach(max(prod(wanted.sizes[column] - 1 for column in columns), 1), 0)


def _move(pattern: Pattern) -> Move:
    """Return the shifts of a pattern: a row moves every cell of a residual."""
    return tuple(Shift(place, by) for place, by, count in pattern for _ in range(count))


@lru_cache(maxsize=64)
def _wanted(sizes: tuple[int, ...], tables: tuple[Columns, ...]) -> MarginalWorkload:
    from dovetail.workloads.marginals import MarginalWorkload

    return MarginalWorkload(sizes, tables)


@lru_cache(maxsize=64)
def _strategy(kind: Kind, wanted: MarginalWorkload, noises: tuple[IntegerNoise, ...]) -> Strategy:
    from dovetail.workloads.strategies import Strategy

    return Strategy(kind, wanted, noises)


# Quotes, answers and pictures ask for the same few laws.
@lru_cache(maxsize=64)
def _half_widths(
    measure: MarginalTables, noises: tuple[IntegerNoise, ...], chance: Fraction, simultaneous: bool
) -> dict[Columns, Fraction]:
    bars = measure.measured(noises).bars(chance, simultaneous=simultaneous)
    return {table: Fraction(half) for table, half in bars.items()}
