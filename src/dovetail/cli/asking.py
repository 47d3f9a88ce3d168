"""From the words of `release` and `price` to a typed query."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.check import choice, integer, rational
from dovetail.errors import InvalidParameter, InvalidQuery, MissingKeys

from .places import beside

if TYPE_CHECKING:
    from dovetail.release import Source
    from dovetail.release.query import Query

_EXAMPLES = {"low": "0", "high": "100", "step": "1"}
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked: a statistic, its cells and its rows."""

    by: tuple[str, ...] = ()
    where: str | None = None
    sum: str | None = None
    mean: str | None = None
    low: str | None = None
    high: str | None = None
    step: str | None = None
    keys: tuple[str, ...] = ()
    bins: tuple[str, ...] = ()

    @classmethod
    def read(
        cls, by: Sequence[str] | None, keys: Sequence[str] | None, bins: Sequence[str] | None, **rest: Any
    ) -> Asked:
        """Return what the options ask; --by takes commas and may be repeated."""
        columns = tuple(name for word in by or () for name in _names(word))
        return cls(by=columns, keys=tuple(keys or ()), bins=tuple(bins or ()), **rest)

    def query(self, source: Source, data: str) -> Query:
        """Return the typed query; `data` is how the user named the source."""
        from dovetail.release import Count, Histogram, Mean, Sum

        if self.sum is not None and self.mean is not None:
            raise InvalidQuery("Give --sum or --mean, not both. Each is a question of its own.")
        cells = {
            "keys": _by_column("keys", self.keys, source) or None,
            "bins": _by_column("bins", self.bins, source) or None,
        }
        self._check_cells(source, data)
        column = self.sum if self.sum is not None else self.mean
        if column is not None:
            kind = Mean if column == self.mean else Sum
            return kind(column, **self._bounds(column, source), where=self.where, by=self.by, **cells)
        if self.low is not None or self.high is not None or self.step is not None:
            raise InvalidQuery("--low, --high and --step belong to --sum or --mean. A count needs no bounds.")
        return Histogram(*self.by, **cells, where=self.where) if self.by else Count(self.where)

    def _bounds(self, column: str, source: Source) -> dict[str, Any]:
        """Return the bounds of a sum: as given, or as the schema declares them."""
        declared = source.schema.get(column) if source.schema else None
        bounds = {}
        for name in ("low", "high", "step"):
            given = getattr(self, name)
            bounds[name] = given if given is not None else getattr(declared, name, None)
        if bounds["step"] is None and declared is not None and declared.type == "integer":
            bounds["step"] = "1"
        missing = [f"--{name} {_EXAMPLES[name]}" for name, found in bounds.items() if found is None]
        if missing:
            raise InvalidQuery(
                f"Nothing says what a row can add to a sum or mean of {column}. Each row is clamped to "
                f"[low, high] and rounded to a multiple of step. Add, for example, {' '.join(missing)}, or "
                f"declare it for {column} in the schema."
            )
        return bounds

    def _check_cells(self, source: Source, data: str) -> None:
        """Say at length what to do where a table has no schema at all; the library says it briefly."""
        named = {_loose(word.partition("=")[0]) for word in (*self.keys, *self.bins)}
        open_ = [column for column in self.by if _loose(column) not in named]
        if source.schema is None and open_:
            raise MissingKeys(_explained(data, open_[0], ",".join(self.by)))


def _loose(name: str) -> str:
    """Return a column's name as it is compared: case and outer spaces are forgiven."""
    return name.strip().casefold()


def _names(word: str) -> list[str]:
    """Read names with commas between them; one that holds a comma stands in double quotes.

    >>> _names('region, "last, first"')
    ['region', 'last, first']
    """
    try:
        return [name for name in next(csv.reader([word], skipinitialspace=True), []) if name]
    except csv.Error:
        return [word]


def _explained(data: str, column: str, by: str) -> str:
    ask = f"dovetail release {data} --by {by}"
    return "\n".join(
        [
            f"The cells of {column} must be public before the data are asked, and nothing says what they "
            "are. If they were read off the rows, a cell could exist because of one single person, and its "
            "mere appearance would tell on them. So they come from elsewhere: a code book, a map, the law.",
            "",
            "Draft a schema (it looks at the rows: for your eyes only), review it, then ask:",
            f"  dovetail schema draft {data}",
            f"  dovetail schema confirm {beside(data)} {column}",
            f"  {ask} --within 5 --budget epsilon=1",
            "",
            "Or name the cells in the question:",
            f"  {ask} --keys {column}=north,south ...",
            f"  {ask} --bins {column}=0,18,65,120 ...",
        ]
    )


def _by_column(option: str, words: Sequence[str], source: Source) -> dict[str, list[Any]]:
    """Read COLUMN=VALUE,VALUE,... into values of the column's type."""
    found: dict[str, list[Any]] = {}
    for word in words:
        name, equals, listed = word.partition("=")
        if not equals or not name or not listed:
            example = "age=0,18,65,120" if option == "bins" else "region=north,south"
            raise InvalidParameter(
                option, word, "written COLUMN=VALUE,VALUE,...", f"For example --{option} {example}."
            )
        values = [value.strip() for value in listed.split(",")]
        declared = source.schema.get(name) if source.schema else None
        kind = declared.type if declared else _looks_like(values)
        found[name] = [_value(name, kind, value) for value in values]
    return found


def _looks_like(values: Sequence[str]) -> str:
    """Return the type that plain words suggest; 01234 is a text, not a number.

    >>> _looks_like(["0", "18"]), _looks_like(["0", "0.5"]), _looks_like(["01234"])
    ('integer', 'number', 'text')
    """
    if all(map(_WHOLE.fullmatch, values)):
        return "integer"
    numbers = all(_WHOLE.fullmatch(value) or _DECIMAL.fullmatch(value) for value in values)
    return "number" if numbers else "text"


def _value(name: str, kind: str, text: str) -> Any:
    if kind == "integer":
        return integer(name, text, fix=f"The type of {name} is integer.")
    if kind == "number":
        return rational(name, text, f"The type of {name} is number.")
    if kind == "boolean":
        return choice(name, text.lower(), ("true", "false")) == "true"
    return text
