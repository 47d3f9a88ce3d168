"""Declare one public column: its type, its bounds and its possible values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any

from dovetail.check import choice, rational
from dovetail.errors import InvalidParameter
from dovetail.errors.values import exact_text

from .field import KINDS, MOST_CELLS, Constant, Field

_SHOWN = 6
_BOUNDED = ("integer", "number", "date", "timestamp")


@dataclass(frozen=True, slots=True)
class Column:
    """One public column: its type and, where known in advance, its bounds or all of its possible values.

    Values come from a code book or a public table, never from the rows. `other` names a cell for rows with
    any other value. `step` is the lattice on which the column is summed or ranked; of days it counts days, of
    times seconds. kind="id" says that the column identifies persons. A drafted column stays unreviewed, and
    is refused, until its curator confirms it.

    In a CSV file and in other columns that hold plain texts, `decimal` is the sign before the fraction of a
    number, "." or ",", and `missing_words` are the texts that stand for no value. `note` is what a draft says
    to the curator about the column.

    >>> Column("sex", "text", values=["Female", "Male"]).values
    ('Female', 'Male')
    """

    name: str
    type: str
    low: Any = None
    high: Any = None
    step: Any = None
    values: Any = None
    other: str | None = None
    reviewed: bool = True
    decimal: str | None = None
    missing_words: Any = ()
    kind: str | None = None
    note: str | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameter("name", self.name, "the name of a column")
        choice("type", self.type, KINDS, f"Give the type of column {self.name}.")
        reader = Field(self.name, self.type)
        for bound in ("low", "high", "step"):
            value = getattr(self, bound)
            if value is not None:
                self._may_have(bound, _BOUNDED)
                exact = (
                    rational(bound, value) if bound == "step" or self.type in ("integer", "number") else value
                )
                kind = Field(self.name, "number") if bound == "step" else reader
                object.__setattr__(self, bound, kind.constant(exact))
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise InvalidParameter(
                "high", self.high, f"at least low, which is {self.low}", f"Column {self.name}."
            )
        if self.step is not None and self.step <= 0:
            raise InvalidParameter("step", self.step, "a number above 0", f"Column {self.name}.")
        self._check_reading()
        if self.kind is not None:
            choice("kind", self.kind, ("id",), f"Column {self.name}.")
            self._may_have("kind", ("integer", "text"))
        if self.values is not None:
            self._may_have("values", ("integer", "text", "boolean", "date"))
            object.__setattr__(self, "values", public_values(reader, self.values))

    def in_words(self) -> str:
        """Return what is declared about the column, for reading.

        >>> Column("age", "integer", low=0, high=120, step=1).in_words()
        'integer, from 0 to 120 in steps of 1'
        """
        declared = self.declared_in_words()
        parts = [f"{self.type}, {declared}" if declared else self.type]
        return "; ".join([*parts, *([] if self.reviewed else ["to be reviewed"])])

    def declared_in_words(self) -> str:
        """Return what is declared beside the type.

        >>> Column("pay", "number", low="0.5", decimal=",", missing_words=["NA"]).declared_in_words()
        'from 0.5, with decimal commas, no value where it says NA'
        """
        ends = {"from": self.low, "to": self.high, "in steps of": self.step}
        bounds = [f"{word} {_plain(value)}" for word, value in ends.items() if value is not None]
        parts = [" ".join(bounds)] if bounds else []
        if self.values is not None:
            some = ", ".join("(missing)" if value is None else str(value) for value in self.values[:_SHOWN])
            more = ", ..." if len(self.values) > _SHOWN else ""
            parts.append(f"{len(self.values):,} value{'s' * (len(self.values) != 1)}: {some}{more}")
        parts += [f"others are {self.other!r}"] if self.other is not None else []
        parts += ["identifies persons"] if self.kind == "id" else []
        parts += ["with decimal commas"] if self.decimal == "," else []
        parts += [f"no value where it says {' or '.join(self.missing_words)}"] if self.missing_words else []
        return ", ".join(parts)

    def _check_reading(self) -> None:
        if self.decimal is not None:
            choice("decimal", self.decimal, (".", ","), f"Column {self.name}.")
            self._may_have("decimal", ("number",))
        words = self.missing_words
        if isinstance(words, str) or not isinstance(words, Iterable):
            raise InvalidParameter(
                "missing_words", words, 'a list of texts such as ["NA", "-"]', f"Column {self.name}."
            )
        reader = Field(self.name, "text")
        object.__setattr__(self, "missing_words", tuple(dict.fromkeys(reader.constants(words))))

    def _may_have(self, name: str, kinds: tuple[str, ...]) -> None:
        if self.type not in kinds:
            raise InvalidParameter(
                name, getattr(self, name), f"left out for a {self.type} column", f"Column {self.name}."
            )


def _plain(value: Constant) -> str:
    """Return a value as a curator would write it."""
    return exact_text(value, exponent=True) if isinstance(value, Fraction) else str(value)


def public_values(reader: Field, values: object) -> tuple[Constant | None, ...]:
    """Return public values in their order, each once, from a list, a series or a one-column public table.

    None is a value too: it names the rows without one.

    >>> public_values(Field("sex", "text"), ["Male", "Female", "Male"])
    ('Male', 'Female')
    """
    given = listed(values)
    if not given:
        raise InvalidParameter(
            f"values of {reader.name}", values, "a list of at least one value", "Name them."
        )
    if len(given) > MOST_CELLS:
        raise InvalidParameter(f"values of {reader.name}", values, f"at most {MOST_CELLS} values")
    known = iter(reader.constants(value for value in given if value is not None))
    return tuple(dict.fromkeys(None if value is None else next(known) for value in given))


def listed(values: object) -> list[Any]:
    """Return the values of a list, a series or a one-column table; an empty list for anything else.

    Of more values than an answer can have cells, one too many is returned: a list may be endless.
    """
    if isinstance(values, str | bytes | Mapping):
        return []
    columns = getattr(values, "columns", None)
    if columns is not None:
        frame: Any = values
        if len(columns) != 1:
            return []
        first = columns[0]
        values = frame[first] if isinstance(first, str) else first
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            values = getattr(values, method)()
    return list(islice(values, MOST_CELLS + 1)) if isinstance(values, Iterable) else []
