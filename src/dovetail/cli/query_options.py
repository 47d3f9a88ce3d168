"""From the options of `release` and `price` to a typed query."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Any, ClassVar

from dovetail.check import choice, integer, rational
from dovetail.errors import InvalidParameter, InvalidQuery, MissingKeys

from . import options as o
from .data_arguments import named, schema_of

if TYPE_CHECKING:
    from dovetail.engines import Source
    from dovetail.query import Query


_EXAMPLES = {"low": "0", "high": "100", "step": "1"}
_EXAMPLES_OF = {
    "integer": _EXAMPLES,
    "number": _EXAMPLES,
    "date": {"low": "2024-01-01", "high": "2024-12-31", "step": "1"},
    "timestamp": {"low": "'2024-01-01 00:00'", "high": "'2025-01-01 00:00'", "step": "3600"},
}
# The queries about one column, by option; each loads when it is used.
_STATISTICS = {
    "sum": "Sum",
    "mean": "Mean",
    "variance": "Variance",
    "std": "Std",
    "median": "Median",
    "quantiles": "Quantiles",
    "ranges": "Ranges",
    "min": "Minimum",
    "max": "Maximum",
}
_WHOLE = r"-?(0|[1-9][0-9]*)"
_DECIMAL = rf"{_WHOLE}\.[0-9]+"


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """What is asked: a statistic, its cells and its rows."""

    title: ClassVar[str] = "The question"

    by: o.By = None
    where: o.Where = None
    sum: o.Sum = None
    mean: o.Mean = None
    variance: o.Variance = None
    std: o.Std = None
    sample: o.Sample = False
    median: o.Median = None
    quantiles: o.Quantiles = None
    ranges: o.Ranges = None
    min: o.Min = None
    max: o.Max = None
    distinct: o.Distinct = False
    contributions: o.Contributions = False
    most_rows: o.MostRows = None
    weights: o.Weights = None
    low: o.Low = None
    high: o.High = None
    step: o.Step = None
    keys: o.Keys = None
    bins: o.Bins = None
    discover: o.Discover = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of --by, which takes commas and may be repeated."""
        return column_names(self.by)

    @property
    def discovered(self) -> tuple[str, ...]:
        """The columns of --discover, read like those of --by."""
        return column_names(self.discover)

    def query(self, source: Source) -> Query:
        """Return the typed query."""
        from dovetail import query as queries

        asked: dict[str, Any] = {option: getattr(self, option) for option in _STATISTICS}
        asked |= {"distinct": self.distinct or None, "weights": self.weights}
        asked |= {"contributions": self.contributions or None}
        chosen = [option for option, given in asked.items() if given is not None]
        if len(chosen) > 1:
            words = " or ".join(f"--{option}" for option in chosen)
            raise InvalidQuery(f"Give {words}, not both.", "Each is a separate question.")
        if self.sample and chosen not in (["variance"], ["std"]):
            raise InvalidQuery("--sample belongs to --variance or --std.", "Leave it out.")
        if self.most_rows is not None and not self.contributions:
            raise InvalidQuery("--most-rows belongs to --contributions.", "Leave it out.")
        if self.weights is not None:
            return self._linear(self.weights, source)
        by = self.columns
        keys: dict[str, Any] = {**read_by_column("keys", self.keys or (), source)}
        keys |= dict.fromkeys(self.discovered, "discover")
        cells: dict[str, Any] = {
            "keys": keys or None,
            "bins": read_by_column("bins", self.bins or (), source) or None,
        }
        self._check_cells(source)
        if chosen and chosen[0] in _STATISTICS:
            return self._of_column(chosen[0], source, {"where": self.where, "by": by, **cells})
        if self.low is not None or self.high is not None or self.step is not None:
            raise InvalidQuery(
                "--low, --high and --step belong to a sum, mean or other statistic of a column.",
                "A count needs no bounds.",
            )
        if self.contributions:
            most = {} if self.most_rows is None else {"most_rows": self.most_rows}
            return queries.Contributions(by, **most, where=self.where, **cells)
        if self.distinct:
            return queries.CountDistinct(*by, **cells, where=self.where)
        return queries.Histogram(*by, **cells, where=self.where) if by else queries.Count(self.where)

    def _of_column(self, option: str, source: Source, cells: dict[str, Any]) -> Query:
        """Return the query of a statistic of one column."""
        from dovetail import query as queries

        column = getattr(self, option)
        more: dict[str, Any] = {"sample": True} if self.sample else {}
        if option == "quantiles":
            column, _, listed = column.partition("=")
            if not column or not listed:
                raise InvalidParameter(
                    "quantiles",
                    self.quantiles,
                    "written COLUMN=Q,Q,...",
                    "For example --quantiles age=0.25,0.5,0.75.",
                )
            more["qs"] = tuple(_listed("quantiles", str(self.quantiles), listed))
        statistic = getattr(queries, _STATISTICS[option])
        query: Query = statistic(column, **self._bounds(column, source), **cells, **more)
        return query

    def _linear(self, weights: str, source: Source) -> Query:
        """Return the query of --weights."""
        from dovetail.query import Linear

        others = (self.by, self.low, self.high, self.keys, self.bins, self.discover)
        if self.step is None or any(other is not None for other in others):
            raise InvalidQuery(
                "--weights takes --step and --where beside it.", "Add, for example, --step 0.01."
            )
        column, _, listed = weights.partition("=")
        pairs = [pair.rpartition(":") for pair in _listed("weights", weights, listed)]
        if not column or not all(value and weight for value, _, weight in pairs):
            raise InvalidParameter(
                "weights",
                weights,
                "written COLUMN=VALUE:WEIGHT,VALUE:WEIGHT,...",
                "For example --weights sex=Female:1,Male:-0.5 --step 0.5.",
            )
        values = _typed(column, [value for value, _, _ in pairs], source)
        weight_of = {value: weight for value, (_, _, weight) in zip(values, pairs, strict=True)}
        return Linear(column, weight_of, self.step, self.where)

    def _bounds(self, column: str, source: Source) -> dict[str, Any]:
        """Return the bounds of a sum: as given, or as the schema declares them."""
        from dovetail.query.queries import declared_bounds
        from dovetail.query.schema import is_expression

        declared = source.schema.get(column) if source.schema else None
        bounds = declared_bounds(declared)
        bounds |= {name: given for name in bounds if (given := getattr(self, name)) is not None}
        missing = [name for name, bound in bounds.items() if bound is None]
        named = dict(source.schema.derived) if source.schema else {}
        examples = _EXAMPLES if declared is None else _EXAMPLES_OF.get(declared.type)
        # A column that has no bounds, or that is not reviewed yet, is refused for that.
        asked = declared is None or declared.reviewed
        if missing and asked and examples and not is_expression(column) and column not in named:
            told, them = ("step of {} is", "it") if missing == ["step"] else ("bounds of {} are", "them")
            added = " ".join(f"--{name} {examples[name]}" for name in missing)
            raise InvalidQuery(
                f"The {told.format(column)} not public.",
                "Each row is clamped to [low, high] and rounded to a multiple of step. For example, add "
                f"{added}, or declare {them} for {column} in the schema.",
            )
        return bounds

    def _check_cells(self, source: Source) -> None:
        """Say at length what to do where a table has no schema at all; the library says it briefly."""
        given = [word.partition("=")[0] for word in (*(self.keys or ()), *(self.bins or ()))]
        named = {_loose(name): name for name in (*given, *self.discovered)}
        by = {_loose(column): column for column in self.columns}
        stray = [name for loose, name in named.items() if by and loose not in by]
        if stray:
            raise InvalidQuery(
                f"--keys, --bins and --discover are for columns of --by; {stray[0]} is not one of them "
                f"({', '.join(by.values())}).",
                "Add it to --by, or ask about it with --where.",
            )
        open_ = [column for loose, column in by.items() if loose not in named]
        if source.schema is None and open_:
            raise MissingKeys(_explained(source, open_[0], ",".join(self.columns)))
        if not self.columns and (self.keys or self.bins or self.discover):
            raise InvalidQuery(
                "--keys, --bins and --discover describe the columns of --by, which is missing.",
                "Add --by with their columns.",
            )


def _loose(name: str) -> str:
    """Return a column's name as it is compared: case and outer spaces are forgiven."""
    return name.strip().casefold()


def column_names(words: Sequence[str] | None) -> tuple[str, ...]:
    """Read names with commas between them, or in words of their own.

    One that holds a comma stands in double quotes.

    >>> column_names(['region, "last, first"', "sex"])
    ('region', 'last, first', 'sex')
    """
    return tuple(name for word in words or () for name in _separated(word))


def _separated(word: str) -> list[str]:
    try:
        return [name for name in next(csv.reader([word], skipinitialspace=True), []) if name]
    except csv.Error:
        return [word]


def _explained(source: Source, column: str, by: str) -> str:
    data, schema = named(source), schema_of(source)
    # A server's schema lies nowhere near it, so it has to be named.
    given = "" if source.schema_place == schema else f" --schema {quote(str(schema))}"
    ask = f"dovetail release {data} --by {quote(by)}"
    # Without a schema, a CSV file holds texts, which have no bins.
    bins = [] if source.format == "csv" else [f"  {ask} --bins {quote(f'{column}=0,18,65,120')} ..."]
    return "\n".join(
        [
            f"The values of {column} must be public before you ask, and none are declared. If they were read "
            "from the rows, a value that only one person has would reveal that person. So they come from "
            "elsewhere: a code book, a map, the law.",
            "",
            "Draft a schema (it reads the rows: for your eyes only), review it, then ask:",
            f"  dovetail schema draft {data}",
            f"  dovetail schema confirm {quote(str(schema))} {quote(column)}",
            f"  {ask}{given} --within 5 --budget epsilon=1",
            "",
            "Or list the values in the question:",
            f"  {ask} --keys {quote(f'{column}=north,south')} ...",
            *bins,
            "",
            "Or find the frequent values privately, which needs a budget with a delta:",
            f"  {ask} --discover {quote(column)} --epsilon 0.5 --delta 1e-8 --budget epsilon=1,delta=1e-6",
        ]
    )


def read_by_column(option: str, words: Sequence[str], source: Source) -> dict[str, list[Any]]:
    """Read COLUMN=VALUE,VALUE,... into values of the column's type."""
    by_column: dict[str, list[Any]] = {}
    for word in words:
        name, equals, listed = word.partition("=")
        if not equals or not name or not listed:
            example = "age=0,18,65,120" if option == "bins" else "region=north,south"
            raise InvalidParameter(
                option, word, "written COLUMN=VALUE,VALUE,...", f"For example --{option} {example}."
            )
        by_column[name] = _typed(name, _listed(option, word, listed), source, edges=option == "bins")
    return by_column


def _listed(option: str, word: str, values: str) -> list[str]:
    """Read values with commas between them; one that holds a comma stands in double quotes."""
    try:
        words = next(csv.reader([values], skipinitialspace=True, strict=True), [])
    except csv.Error:
        fix = f"""For example --{option} 'city=Bern,"Chur, GR"' has two values."""
        raise InvalidParameter(option, word, "a list whose double quotes are closed", fix) from None
    return [value.strip() for value in words]


def _typed(column: str, values: list[str], source: Source, *, edges: bool = False) -> list[Any]:
    """Return words as values of the column's type; a CSV file holds texts where nothing is declared."""
    declared = source.schema.get(column) if source.schema else None
    undeclared = "text" if source.format == "csv" and not edges else _looks_like(values)
    kind = declared.type if declared else undeclared
    return [_value(column, kind, value) for value in values]


def _looks_like(values: Sequence[str]) -> str:
    """Return the type that plain words suggest; 01234 is a text, not a number.

    >>> _looks_like(["0", "18"]), _looks_like(["0", "0.5"]), _looks_like(["01234"])
    ('integer', 'number', 'text')
    """
    if all(re.fullmatch(_WHOLE, value) for value in values):
        return "integer"
    numbers = all(re.fullmatch(f"{_WHOLE}|{_DECIMAL}", value) for value in values)
    return "number" if numbers else "text"


def _value(name: str, kind: str, text: str) -> Any:
    if kind == "integer":
        return integer(name, text, fix=f"The type of {name} is integer.")
    if kind == "number":
        return rational(name, text, f"The type of {name} is number.")
    if kind == "boolean":
        return choice(name, text.lower(), ("true", "false")) == "true"
    return text
