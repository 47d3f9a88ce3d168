"""The answer of `marginals`: tables that agree, and what can be made of them: pictures, synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from html import escape
from itertools import accumulate
from math import prod
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail.check import Real, error_bar_level, integer
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.errors.values import percent
from dovetail.exact.decimals import decimal_text
from dovetail.exact.figures import figure_up
from dovetail.plots.heat_map import HeatMap

from .answer import Answer
from .csv_format import csv_text
from .display import MOST_ROWS, notes, titled
from .number_formats import ENDS, column_keys, label, told, written_key
from .provenance import facts, framed, headed, mark_html, tabled
from .synthetic import arrow_rows, checked_place, write_rows

if TYPE_CHECKING:
    import pandas
    import pyarrow

Columns: TypeAlias = tuple[int, ...]

_LEVEL = "Give a number such as 0.95."
_BIASED = (
    "These counts were made consistent: whole, not negative, with one total. They are biased; the intervals "
    "describe the noise around the unbiased counts."
)
# A joint table of more cells takes too long to fit.
MOST_FITTED = 10**7


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class MarginalsAnswer(Answer):
    """Noisy tables over sets of columns; asking for more of them is post-processing and costs nothing.

    The estimates are unbiased. Unless the strategy is "plain", every table within one of them can be asked
    for, and tables agree on the columns they share: `values()`, which are exact, to the last digit. Tables
    hold the nearest floats, whose sums agree but for their rounding.
    """

    @property
    def tables(self) -> list[tuple[str, ...]]:
        """The columns of each table that was asked for."""
        names = [axis.field.name for axis in self._measure.axes]
        return [tuple(names[column] for column in table) for table in self._measure.tables]

    @property
    def strategy(self) -> str:
        """How the tables were measured: plain, joint or residuals."""
        return str(self._measure.strategy)

    def table(self, *columns: str, level: Real | None = None, simultaneous: bool = False) -> pyarrow.Table:
        """Return the counts of the cells of some columns, in their order, with intervals.

        Each interval holds the true count with probability `level`; with `simultaneous`, those of all tables
        that were asked for do at once, or all of a smaller table within one of them.
        """
        import pyarrow

        at = self.level if level is None else error_bar_level("level", level, _LEVEL)
        numbers = self._numbers(columns)
        table = tuple(sorted(numbers))
        turn = [table.index(number) for number in numbers]
        arrays = [
            np.transpose(each, turn).ravel()
            for each in (self._counts(table), *self._ends(table, at, simultaneous))
        ]
        axes = [self._measure.axes[number] for number in numbers]
        grid = np.indices([axis.cells for axis in axes]).reshape(len(axes), len(arrays[0]))
        keys = {
            axis.field.name: _keys(axis).take(pyarrow.array(places))
            for axis, places in zip(axes, grid, strict=True)
        }
        return tabled(self, keys | dict(zip(ENDS, arrays, strict=True)))

    def interval(self, level: Real = 0.95, *, simultaneous: bool = False) -> pyarrow.Table:
        """Return all tables below each other; a column that a table does not have is empty there."""
        import pyarrow

        parts = []
        for own in self.tables:
            made = self.table(*own, level=level, simultaneous=simultaneous)
            parts.append(made.add_column(0, "table", pyarrow.array([" × ".join(own)] * len(made))))
        joined = pyarrow.concat_tables(parts, promote_options="permissive")
        names = [axis.field.name for axis in self._measure.axes]
        used = [name for name in names if name in joined.column_names]
        more = [name for name in joined.column_names if name not in ("table", *used)]
        return joined.select(["table", *used, *more])

    def to_pandas(self) -> pandas.DataFrame:
        """Return all tables below each other as a pandas DataFrame."""
        return framed(self, self.interval(self.level))

    def to_csv(self, *columns: str) -> str:
        """Return one table as CSV, or all of them below each other, with value, low and high at `level`."""
        names = [columns] if columns else self.tables
        used = list(dict.fromkeys(name for own in names for name in own))
        listed: list[list[object]] = [[*([] if columns else ["table"]), *used, *ENDS]]
        for own in names:
            for row in self.table(*own).to_pylist():
                keys = [written_key(row[name]) if name in own else "" for name in used]
                numbers = [decimal_text(Fraction(repr(float(row[end])))) for end in ENDS]
                listed.append([*([] if columns else [" × ".join(own)]), *keys, *numbers])
        return csv_text(listed, self)

    def consistent(self) -> MarginalsAnswer:
        """Return whole counts that are not negative, agree exactly and have one total (post-processing).

        They are the margins of one table of rows that is fitted to the noisy tables. They are biased; the
        intervals stay those of the noise around the unbiased counts.
        """
        from dovetail.workloads.synthetic import consistent

        self._check_joint()
        tables = consistent(self._measure.measured(self.noises), self._estimates())
        adjusted = [int(count) for table in self._measure.tables for count in tables[table].flat]
        return replace(self, adjusted=tuple(adjusted), clamp=True)

    def synthetic(self, rows: int | None = None, *, to: str | Path | None = None) -> pyarrow.Table:
        """Return rows that look like the tables, as many as the tables count where no number is given.

        They are fitted to the noisy tables, and the same tables always give the same rows. Counts of them are
        biased and have no error bars. `to` writes a Parquet file, and the schema beside it.
        """
        from dovetail.workloads.synthetic import fitted_joint, synthetic_rows

        self._check_joint()
        if to is not None:
            checked_place(to)
        estimates, axes = self._estimates(), self._measure.axes
        counted = round(float(np.mean([table.sum() for table in estimates.values()])))
        wanted = max(counted, 1) if rows is None else integer("rows", rows, 1, 10**8)
        joint = fitted_joint(self._measure.measured(self.noises), estimates)
        made = arrow_rows(axes, synthetic_rows(joint, wanted), facts(self))
        if to is not None:
            write_rows(made, axes, to)
        return made

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per cell: the keys of its table's columns, value, low and high."""
        measure = self._measure
        names = dict(zip(map(measure.name, measure.tables), self.tables, strict=True))
        cells = zip(self.keys, self.values(), self.bars(self.level), strict=True)
        return [
            {
                "keys": dict(zip(names[table], map(written_key, keys), strict=True)),
                **told(measure, value, bar),
            }
            for (table, *keys), value, bar in cells
        ]

    def remarks(self) -> tuple[str, ...]:
        """Return what must be said beside these numbers."""
        return (*Answer.remarks(self), *(() if self.adjusted is None else (_BIASED,)))

    def plot(self, *columns: str, ax: Any = None) -> Any:
        """Draw a heat map of two columns and return its axes; without columns, a figure of all of them.

        Where no table has two columns, cells are drawn as bars.
        """
        from dovetail.plots.heat_map import draw_heat_map, draw_heat_maps

        pairs = [own for own in self.tables if len(own) == 2]
        if columns or len(pairs) == 1:
            chosen = columns or pairs[0]
            if len(chosen) != 2:
                raise InvalidParameter("columns", columns, "two columns", "A heat map has two sides.")
            return draw_heat_map(self._drawn(*chosen), title=self._title(self._error(chosen)), ax=ax)
        if not pairs:
            return Answer.plot(self, ax)
        title = self._title(self.query.measure.words())
        return draw_heat_maps([self._drawn(*pair) for pair in pairs], title=title)

    def __str__(self) -> str:
        names, sizes, errors = self.summary()
        wide, most = max(map(len, names)), max(map(len, sizes))
        shown = zip(names, sizes, errors, strict=True)
        lines = [f"{name:<{wide}}  {size:>{most}} cells, each ± {error}" for name, size, error in shown]
        more = [f"... and {len(lines) - MOST_ROWS} more tables"] if len(lines) > MOST_ROWS else []
        return headed(self, "\n".join([*lines[:MOST_ROWS], *more, *self._said()]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{size}</td><td>± {error}</td></tr>"
            for name, size, error in zip(*self.summary(), strict=True)
        )
        head = f"<tr><th>table</th><th>cells</th><th>error at {percent(self.level)}</th></tr>"
        after = "<br>".join(map(escape, self._said()))
        table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
        return f"{mark_html(self)}{table}<p>{after}</p>"

    def _said(self) -> list[str]:
        """Return what stands below the tables."""
        return [f"measured as {self.strategy}; .table(column, column) shows one", *notes(self).split("\n")]

    def summary(self) -> tuple[list[str], list[str], list[str]]:
        """Return the name, the number of cells and the error of each table."""
        errors = self._measure.errors_by_table(self.noises, 1 - self.level)
        sizes = [f"{self._measure.wanted().cells(table):,}" for table in self._measure.tables]
        return list(errors), sizes, [figure_up(error, 4) for error in errors.values()]

    def _title(self, text: str) -> str:
        """Return what stands above a picture."""
        left_out = [] if self.bounded is None else wrap(self.bounded, 90)
        return headed(self, "\n".join([f"{titled(self)}: {text}", *left_out]))

    def _error(self, columns: tuple[str, ...]) -> str:
        half = self._measure.half_width(self.noises, self._numbers(columns), 1 - self.level)
        return f"rows, each ± {figure_up(half, 4)} with probability {percent(self.level)}"

    def _drawn(self, first: str, second: str) -> HeatMap:
        """Return a table as it is drawn: the first column down, the second across."""
        numbers = self._numbers((first, second))
        counts = self._counts(tuple(sorted(numbers)))
        names = [[label(key) for key in self._measure.axes[number].labels] for number in numbers]
        return HeatMap(first, second, names[0], names[1], counts if numbers[0] < numbers[1] else counts.T)

    # The numbers behind it

    @property
    def _measure(self) -> Any:
        return self.query.measure

    def _estimates(self) -> dict[Columns, NDArray[Any]]:
        estimates: dict[Columns, NDArray[Any]] = self._measure.tables_of(self.cells[0], self.noises)
        return estimates

    def _numbers(self, columns: tuple[str, ...]) -> Columns:
        """Return the numbers of some columns, which must lie within a table."""
        names = [axis.field.name for axis in self._measure.axes]
        unknown = [name for name in columns if name not in names]
        if unknown or len(set(columns)) < len(columns):
            raise InvalidParameter("columns", columns, f"different columns among {', '.join(names)}")
        numbers = tuple(names.index(name) for name in columns)
        if not any(set(numbers) <= set(table) for table in self._measure.tables):
            listed = ", ".join(map(self._measure.name, self._measure.tables[:6]))
            raise InvalidParameter(
                "columns",
                columns,
                f"within a table that was asked for: {listed}",
                "Ask for tables of more columns, or make synthetic rows.",
            )
        return numbers

    def _counts(self, table: Columns) -> NDArray[Any]:
        """Return what is shown of a table: the estimates, or what was made of them."""
        if self.adjusted is not None:
            return self._adjusted(table)
        counts: NDArray[Any] = self._measure.table(self.cells[0], self.noises, table)
        return np.maximum(counts, 0) if self.clamp else counts

    def _adjusted(self, table: Columns) -> NDArray[Any]:
        """Return the consistent counts of a table; all that hold it give the same."""
        assert self.adjusted is not None
        wanted = self._measure.wanted()
        ends = [0, *accumulate(map(wanted.cells, wanted.tables))]
        around = next(place for place, each in enumerate(wanted.tables) if set(table) <= set(each))
        own = wanted.tables[around]
        whole = np.array(self.adjusted[ends[around] : ends[around + 1]]).reshape(wanted.shape(own))
        margin: NDArray[Any] = wanted.margin(whole, own, table)
        return margin

    def _ends(self, table: Columns, level: Fraction, simultaneous: bool) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the ends of the intervals of a table's cells, around the unbiased counts."""
        from dovetail.workloads.noise_sums import outward

        counts = self._measure.table(self.cells[0], self.noises, table)
        half = float(self._measure.half_width(self.noises, table, 1 - level, simultaneous))
        low, high = outward(counts, half)
        least = 0.0 if self.clamp else -np.inf
        return np.maximum(low, least), np.maximum(high, least)

    def _check_joint(self) -> None:
        """Refuse to fit a table over all columns where it has too many cells."""
        cells = prod(axis.cells for axis in self._measure.axes)
        if cells > MOST_FITTED:
            raise InvalidQuery(
                f"The columns have {cells:,} cells together; at most {MOST_FITTED:,} can be fitted.",
                "Ask for marginals of fewer columns, or with wider bins.",
            )


def _keys(axis: Any) -> pyarrow.Array:
    """Return the keys of a column as Arrow holds them, which has one type."""
    import pyarrow

    return pyarrow.array(column_keys(axis, axis.labels))
