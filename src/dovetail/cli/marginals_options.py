"""From the options of `marginals` to a typed query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from dovetail.check import choice, integer
from dovetail.errors import InvalidQuery

from . import options as o
from .query_options import column_names, read_by_column

if TYPE_CHECKING:
    from dovetail.engines import Source
    from dovetail.query.marginals import Marginals

Columns = Annotated[
    list[str] | None, typer.Option(metavar="COLUMNS", help="The columns of the tables, separated by commas.")
]
Tables = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMNS", help="The columns of one table; may be repeated, instead of --way."),
]
Way = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="How many columns each table has; 2 if left out.")
]
StrategyOption = Annotated[
    str | None,
    typer.Option("--strategy", metavar="NAME", help="plain, joint or residuals; the best if left out."),
]
Keys = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=VALUES", help='The values of a column: region=north,"south, old".'),
]


@dataclass(frozen=True, slots=True)
class MarginalsOptions:
    """Which tables are counted, of which rows."""

    title: ClassVar[str] = "The tables"

    columns: Columns = None
    way: Way = None
    tables: Tables = None
    where: o.Where = None
    keys: Keys = None
    bins: o.Bins = None
    strategy: StrategyOption = None

    def query(self, source: Source) -> Marginals:
        """Return the typed query."""
        from dovetail.query.marginals import Marginals

        if self.way is not None and self.tables:
            raise InvalidQuery("--way and --tables both say which tables to count.", "Keep one of them.")
        if not self.columns and not self.tables:
            raise InvalidQuery(
                "The columns to count are missing.", "For example, add --columns race,sex,income."
            )
        known = ("plain", "joint", "residuals")
        return Marginals(
            *column_names(self.columns),
            way=2 if self.way is None else integer("way", self.way, low=1, fix="For example --way 2."),
            tables=[column_names([word]) for word in self.tables] if self.tables else None,
            keys=read_by_column("keys", self.keys or (), source) or None,
            bins=read_by_column("bins", self.bins or (), source) or None,
            where=self.where,
            strategy=None if self.strategy is None else choice("strategy", self.strategy, known),  # type: ignore[arg-type]
        )
