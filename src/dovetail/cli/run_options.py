"""What an online run is to answer and how, from the options that say so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from dovetail.check import integer

from . import options as o
from .budget_syntax import chosen
from .query_options import column_names, read_by_column

if TYPE_CHECKING:
    from dovetail.engines import Source

Columns = Annotated[
    list[str], typer.Option(metavar="COLUMNS", help="The columns to ask about, separated by commas.")
]
Ways = Annotated[str, typer.Option(metavar="NUMBER", help="The largest number of columns in one question.")]
Base = Annotated[
    str,
    typer.Option(
        metavar="KIND",
        help="What is measured first: all tables of this many columns, the whole histogram, none, or auto.",
    ),
]
Updates = Annotated[
    str, typer.Option(metavar="NUMBER", help="How many answers may be measured later: a number, or auto.")
]
Promise = Annotated[
    str,
    typer.Option(metavar="NUMBER", help="How likely all unmeasured answers are to be within their error."),
]


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The columns of a run, what it measures and what it may cost."""

    title: ClassVar[str] = "The run, paid for once"

    columns: Columns
    queries: Annotated[str, typer.Option(metavar="NUMBER", help="About how many counts you will ask.")]
    ways: Ways = "3"
    bins: o.Bins = None
    base: Base = "auto"
    updates: Updates = "auto"
    promise: Promise = "0.95"
    epsilon: o.Epsilon = None
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="With --epsilon, under a budget with a delta.")
    ] = None
    zeta: o.Zeta = None
    max_epsilon: o.MaxEpsilon = None

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return column_names(self.columns)

    def keywords(self, source: Source) -> dict[str, Any]:
        """Return what `Session.online` takes beside the columns; without a price, all that remains."""
        return {
            "queries": integer("queries", self.queries, low=1, fix="For example --queries 1000."),
            "ways": integer("ways", self.ways, low=1, fix="For example --ways 3."),
            "bins": read_by_column("bins", self.bins or (), source) or None,
            "base": _word("base", self.base, {"auto": "auto", "histogram": "histogram", "none": None}),
            "updates": _word("updates", self.updates, {"auto": "auto"}),
            "promise": self.promise,
            "spend": chosen(self.epsilon, self.delta, self.zeta, self.max_epsilon),
        }


def _word(name: str, text: str, words: dict[str, str | None]) -> str | int | None:
    if text in words:
        return words[text]
    return integer(name, text, low=0, fix=f"Give {', '.join(words)} or a whole number.")
