"""One step of the reproduction: what it needs, what it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .claims import Measured


@dataclass(frozen=True, slots=True)
class ItemTable:
    """Named columns and rows; written as one CSV file."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def column(self, name: str) -> list[Any]:
        """Return one column from top to bottom.

        >>> ItemTable("t", ("n", "share"), ((1, 0.5), (2, 0.25))).column("share")
        [0.5, 0.25]
        """
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def table(name: str, columns: str, rows: Iterable[Iterable[Any]]) -> ItemTable:
    """Return a table from column names in one string.

    >>> table("t", "n share", [(1, 0.5)]).columns
    ('n', 'share')
    """
    return ItemTable(name, tuple(columns.split()), tuple(tuple(row) for row in rows))


@dataclass(frozen=True, slots=True)
class Drawing:
    """A Matplotlib figure with its caption; written as PNG and SVG."""

    name: str
    caption: str
    figure: Any


@dataclass(frozen=True, slots=True)
class ItemResult:
    """What an item made; `shown` names the tables that the report prints in full."""

    tables: tuple[ItemTable, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    measured: Mapping[str, Measured] = field(default_factory=dict)
    shown: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is drawn and how fine the grids are."""

    samples: int
    """Noise samples for each true count and mechanism (the paper: 10 million)."""
    queries: int
    """Random queries whose true counts are drawn (the paper: 5 million)."""
    per_neighbour: int
    """Random queries for each record that is taken away (the paper: 100)."""
    noisy: int
    """Random queries answered with noise (the paper: 1 million)."""
    loss_queries: int
    """Pairs of neighbouring answers whose loss is estimated."""
    loss_samples: int
    """Noise samples behind each estimated loss."""
    grid: int
    """Points along each axis of a surface."""
    releases: int
    """Repetitions of each histogram release."""
    runs: int
    """Paired runs of online querying in each sense of equal privacy."""


QUICK = Sizes(100_000, 200_000, 20, 100_000, 12, 100_000, 25, 20, 2)
FULL = Sizes(10_000_000, 5_000_000, 100, 1_000_000, 100, 1_000_000, 61, 200, 30)


@dataclass(frozen=True, slots=True)
class StepInputs:
    """What a step is told: sizes, the seed of the experiment's own draws, tables of earlier steps."""

    sizes: Sizes
    seed: int
    tables: Mapping[str, ItemTable]
    advance: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Item:
    """A step with a name, such as `fig8`."""

    name: str
    title: str
    make: Callable[[StepInputs], ItemResult]
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    """The sizes that this step depends on, and `seed` if it draws queries."""
