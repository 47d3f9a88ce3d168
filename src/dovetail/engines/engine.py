"""What an engine must be able to do, whichever it is."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from dovetail.query.field import Constant, Field
from dovetail.query.schema import Stored

BATCH = 100_000
Batches: TypeAlias = Generator[list[tuple[Any, ...]], None, None]
Column: TypeAlias = Any
"""A list, or an array of Arrow's."""
ColumnBatches: TypeAlias = Generator[list[Column], None, None]


def in_columns(batches: Batches) -> ColumnBatches:
    """Yield batches of rows as columns, and close what gives them when closed."""
    with closing(batches):
        for rows in batches:
            yield [list(column) for column in zip(*rows, strict=True)]


class Engine(Protocol):
    """A table in an engine.

    The spelling methods return sqlglot expressions that have a value on every row: whatever cannot be read
    as the column's kind (NULL, NaN, an infinity, text in a number column) is NULL, never an error.
    """

    dialect: str
    # Statements that were run and may be run again, by what they answer.
    statements: dict[object, Any]

    @property
    def relation(self) -> Any:
        """Return the FROM item that holds the rows."""

    def columns(self) -> Mapping[str, Stored]:
        """Return the stored columns, from the format's metadata, never from the rows."""

    def value(self, field: Field) -> Any:
        """Spell the column as its kind."""

    def doubles(self, field: Field) -> Any | None:
        """Spell a number column as it is stored, NaN and infinities included, so that it is compared faster.

        None where it is not stored as doubles, or where the order is not certain that has -0.0 equal to 0 and
        NaN above all numbers.
        """

    def texts(self, field: Field) -> Any | None:
        """Spell a text column as it is stored, malformed texts included, so that it is found equal faster.

        They are equal to no text. None where it has to be converted, or where that costs nothing.
        """

    def constant(self, kind: str, value: Constant) -> Any:
        """Spell a constant of that kind."""

    def date_part(self, part: str, moment: Any) -> Any:
        """Spell a part of a day or a time between the years 1 and 9999, as a whole number; Monday is 1."""

    def date_start(self, unit: str, moment: Any) -> Any:
        """Spell the day on which the unit of such a day or time begins; of an hour, the time."""

    def scaled(self, number: Any, step: Fraction) -> Any:
        """Spell a double in steps; beyond 2^60 steps any number as far out will do."""

    def whole(self, number: Any) -> Any:
        """Spell the conversion of a double that holds a whole number to a 64-bit integer."""

    def elapsed(self, kind: str, moment: Any) -> Any:
        """Spell a day in days, or a time in microseconds, since the start of 1970, as a 64-bit integer."""

    def wide_sum(self, integer: Any) -> Any:
        """Spell a sum of 64-bit integers that cannot overflow."""

    def hashed(self, text: Any) -> Any:
        """Spell the first 32 bits of the MD5 digest of a text in UTF-8, as a 64-bit integer."""

    def fetch(self, statement: Any) -> list[tuple[Any, ...]]:
        """Run an aggregation, over `relation` where it has no FROM.

        Every failure is a DataError whose text does not depend on the rows.
        """

    def batches(self, statement: Any) -> Batches:
        """Run an aggregation like `fetch` and yield its rows some at a time, as they may be very many.

        Until it ends or is closed, the engine may be busy with it and let nothing else in.
        """

    def column_batches(self, statement: Any) -> ColumnBatches:
        """Run an aggregation like `batches` and yield its columns, some rows at a time."""

    def close(self) -> None:
        """Let go of the data."""
