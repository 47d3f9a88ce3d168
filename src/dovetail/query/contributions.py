"""The query behind `session.contributions`: how much of the data each person is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dovetail.check import integer
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.errors.remedies import Give

from .checked_query import CheckedQuery
from .condition import Condition
from .measures import PersonTally
from .partitions import axes_of, listed_axes, public_cells
from .queries import condition, limited
from .schema import Table

MOST = 1000
_FIX = "Persons with more are counted together; choose it by what you know, not by looking at the rows."


@dataclass(frozen=True, slots=True)
class Contributions:
    """How many persons have 1, 2, ... rows that satisfy `where` and, with columns, rows in 1, 2, ... cells.

    Persons with `most_rows` or more, or in `most_cells` or more cells, are counted together: both are public.

    >>> Contributions(("ward",), most_rows=20).columns
    ('ward',)
    """

    columns: tuple[str, ...] = ()
    most_rows: int = 50
    most_cells: int | None = None
    where: str | Condition | None = None
    keys: Any = None
    bins: Any = None

    def checked(self, table: Table) -> CheckedQuery:
        axes = limited(axes_of(self.columns, self.keys, self.bins, table))
        if len(listed_axes(axes)) != len(axes):
            raise InvalidQuery("Cells of persons are counted by public keys only.", Give("keys"))
        rows = integer("most_rows", self.most_rows, low=1, high=MOST, fix=_FIX)
        cells = min(public_cells(axes), MOST, rows) if axes else 0
        if self.most_cells is not None:
            if not axes:
                raise InvalidParameter(
                    "most_cells",
                    self.most_cells,
                    "left out where no columns are named",
                    "It limits how many of their cells are told apart.",
                )
            cells = min(integer("most_cells", self.most_cells, low=1, high=MOST, fix=_FIX), cells)
        measure = PersonTally(rows, cells, listed_axes(axes))
        return CheckedQuery(measure, (), condition(self.where, table))
