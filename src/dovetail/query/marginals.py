"""The query for tables of counts over several sets of columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Any, Literal, TypeAlias

from dovetail.check import choice, integer
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.errors.remedies import Give

from .checked_query import CheckedQuery
from .condition import Condition
from .field import MOST_CELLS
from .measures import MarginalTables
from .partitions import Bins, Keys, axes_of
from .queries import condition
from .schema import Table

StrategyKind: TypeAlias = Literal["plain", "joint", "residuals"]

MOST_TABLES = 200
_STRATEGIES = ("plain", "joint", "residuals")
_WAY = "Give how many columns each table has, or list the tables."
_LISTED = 'List tables as tuples of columns, for example [("sex", "race"), ("sex", "income")].'


@dataclass(frozen=True, slots=True, init=False)
class Marginals:
    """How many rows fall in each cell of many tables at once: all of `way` columns, or those listed.

    Tables agree wherever they share columns. A row counts if it has a cell in every column: the schema's
    values, or `keys` or `bins` by name. `strategy` is chosen from the price where it is left out.

    >>> Marginals("sex", "race", "income").way
    2
    """

    columns: tuple[str, ...]
    way: int = 2
    tables: Any = None
    keys: Any = None
    bins: Any = None
    where: str | Condition | None = None
    strategy: StrategyKind | None = None

    def __init__(
        self,
        *columns: str,
        way: int = 2,
        tables: Any = None,
        keys: Any = None,
        bins: Any = None,
        where: str | Condition | None = None,
        strategy: StrategyKind | None = None,
    ) -> None:
        given = (columns, way, tables, keys, bins, where, strategy)
        for name, value in zip(self.__slots__, given, strict=True):
            object.__setattr__(self, name, value)

    def checked(self, table: Table) -> CheckedQuery:
        if self.strategy is not None:
            choice("strategy", self.strategy, _STRATEGIES)
        listed = None if self.tables is None else _listed(self.tables)
        names = self._names(listed, table)
        all_axes = axes_of(names, self.keys, self.bins, table)
        axes = tuple(axis for axis in all_axes if isinstance(axis, Keys | Bins))
        if len(axes) < len(all_axes):
            raise InvalidQuery(
                "Tables of several columns need public cells, so none can be found in the rows.",
                "Ask a histogram for them first: the keys that it shows are public and can be listed here.",
                Give("keys"),
            )
        tables = self._all(len(axes)) if listed is None else _numbered(listed, names, table)
        _limit([axis.cells for axis in axes], tables)
        return CheckedQuery(MarginalTables(axes, tables, self.strategy), (), condition(self.where, table))

    def _names(self, listed: list[tuple[str, ...]] | None, table: Table) -> list[str]:
        """Return the columns: as given, else those of the tables in their order."""
        if self.columns:
            return list(self.columns)
        if not listed:
            raise InvalidQuery("Marginals need at least one column.", "Name columns, or list tables.")
        return list(dict.fromkeys(table.resolve(name) for each in listed for name in each))

    def _all(self, columns: int) -> tuple[tuple[int, ...], ...]:
        """Return all tables of `way` columns."""
        way = integer("way", self.way, 1, columns, _WAY)
        if comb(columns, way) > MOST_TABLES:
            raise InvalidParameter(
                "way",
                way,
                f"such that there are at most {MOST_TABLES} tables; there are {comb(columns, way)}",
            )
        return tuple(combinations(range(columns), way))


def _listed(tables: Any) -> list[tuple[str, ...]]:
    """Read a list of tables, each a sequence of columns or a single one."""
    if isinstance(tables, str) or not isinstance(tables, Iterable):
        raise InvalidParameter("tables", tables, "a list of tables", _LISTED)
    listed: list[tuple[str, ...]] = []
    for each in tables:
        columns = (each,) if isinstance(each, str) else each
        if not isinstance(columns, Sequence) or not all(isinstance(name, str) for name in columns):
            raise InvalidParameter("tables", each, "a tuple of column names", _LISTED)
        if not columns:
            raise InvalidParameter(
                "tables", each, "a table of at least one column", "Ask a count for the total."
            )
        listed.append(tuple(columns))
        if len(listed) > MOST_TABLES:
            raise InvalidParameter("tables", f"over {MOST_TABLES}", f"at most {MOST_TABLES} tables")
    if not listed:
        raise InvalidParameter("tables", tables, "at least one table", _LISTED)
    return listed


def _numbered(listed: list[tuple[str, ...]], names: list[str], table: Table) -> tuple[tuple[int, ...], ...]:
    """Return the tables by the numbers of their columns, in rising order; each may stand there once."""
    known = [table.resolve(name) for name in names]
    tables = []
    for each in listed:
        own = [table.resolve(name) for name in each]
        unknown = [name for name in own if name not in known]
        if unknown:
            raise InvalidParameter(
                "tables", each, f"of columns that are named before it ({', '.join(known)})", _LISTED
            )
        numbers = tuple(sorted(known.index(name) for name in own))
        if len(set(numbers)) < len(numbers) or numbers in tables:
            raise InvalidParameter("tables", each, "different columns, and every table once", _LISTED)
        tables.append(numbers)
    return tuple(tables)


def _limit(sizes: Sequence[int], tables: Sequence[tuple[int, ...]]) -> None:
    """Refuse more cells than an answer can hold, before anything runs."""
    cells = sum(prod(sizes[column] for column in table) for table in tables)
    if cells > MOST_CELLS:
        raise InvalidQuery(
            f"The tables have {cells:,} cells together, more than {MOST_CELLS:,}.",
            "Use fewer columns, fewer columns in each table, or wider bins.",
        )
