"""Read the aggregates, groups and conditions of a parsed SELECT into typed queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from dovetail.errors import DovetailError, InvalidParameter, InvalidQuery, UnsupportedSQL, shown
from dovetail.errors.remedies import Ask, Declare, ProtectPersons, Remedy
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.condition import MOST_COMPARISONS, Condition, Missing, condition_size, every, known_to
from dovetail.query.distributions import Maximum, Median, Minimum, Quantiles, Std, Variance
from dovetail.query.queries import (
    RANKED,
    SUMMED,
    Count,
    CountDistinct,
    Histogram,
    Mean,
    Query,
    Sum,
    public_bounds,
)
from dovetail.query.schema import Table
from dovetail.query.times import TIMES

from .arithmetic import check_size, formula_of, is_computed, tests_of
from .constants import spelled_node
from .derived_columns import derives, field_of
from .formula import Aggregate, Formula, Test, Tests, aggregates_in
from .order import ResultColumn, named_column, whole
from .text import POSSIBLE, Text
from .where import Unreadable, condition_of

# Two cells in each of fewer columns are more than an answer can have.
MOST_KEYS = 32
MOST_AGGREGATES = 150
_METHODS: dict[type, str] = {
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Median: "median",
    exp.Min: "min",
    exp.Max: "max",
    exp.WithinGroup: "quantiles",
}
_PERCENTILES: dict[type, str] = {exp.PercentileCont: "cont", exp.PercentileDisc: "disc"}
_EXTREMES: dict[type, tuple[type[Minimum] | type[Maximum], str]] = {
    exp.Min: (Minimum, "min"),
    exp.Max: (Maximum, "max"),
}
_DEVIATIONS = (exp.StddevPop, exp.StddevSamp, exp.Stddev)
# STDDEV and VARIANCE alone are of a sample, as in PostgreSQL and DuckDB.
_SPREADS: dict[type, tuple[type[Variance], bool, str]] = {
    exp.VariancePop: (Variance, False, "var_pop"),
    exp.Variance: (Variance, True, "var_samp"),
    exp.StddevPop: (Std, False, "stddev_pop"),
    exp.StddevSamp: (Std, True, "stddev_samp"),
    exp.Stddev: (Std, True, "stddev_samp"),
}


class Aggregates:
    """Read the parts of a SELECT; `queries` and `questions` gather what is behind its aggregates."""

    def __init__(self, source: Text, table: Table, unit: str | None) -> None:
        self.source, self.table, self.unit = source, table, unit
        self.queries: dict[Query, int] = {}
        self.questions: list[CheckedQuery] = []
        self.by: tuple[str, ...] = ()
        self.where: Condition | None = None
        # By the part of the tree: what GROUP BY 1 names is read again after SELECT.
        self._derived: dict[int, str] = {}
        self._comparisons = 0

    def read_rows(self, where: Any, group: Any, items: Sequence[Any]) -> None:
        """Read which rows are asked about, and by what they are grouped."""
        self.where = self.condition(where)
        self.by = self.group(group, items)

    def refuse(self, node: Any, problem: str, *fixes: Remedy | str) -> UnsupportedSQL:
        return self.source.refusal(problem, self.source.at_node(node), *fixes)

    def refuse_as(self, node: Any, error: DovetailError) -> UnsupportedSQL:
        """Return an error about a part of the text, with its place."""
        return self.refuse(node, error.problem, *error.remedies)

    def outside(self, node: Any) -> UnsupportedSQL:
        return self.refuse(node, f"{shown(spelled_node(node))} cannot be answered.", POSSIBLE)

    def check_from(self, part: Any, names: set[str]) -> None:
        if part is None:
            raise self.source.refusal("FROM is missing.", None, "Write FROM data.")
        named = part.this
        plain = isinstance(named, exp.Table) and isinstance(named.this, exp.Identifier)
        if not plain or _more_than(named, "this", "alias") or _more_than(part, "this"):
            raise self.refuse(
                named, f"FROM {shown(spelled_node(named))} cannot be answered.", "Write FROM data."
            )
        if named.name.casefold() not in names:
            known = " or ".join(sorted(names))
            raise self.refuse(named, f"There is no table {shown(named.name)} here.", f"Write FROM {known}.")

    def condition(self, part: Any) -> Condition | None:
        if part is None:
            return None
        try:
            return known_to(self.table, condition_of(part.this, self.table))
        except Unreadable as error:
            raise self.refuse_as(error.node, error) from None
        except RecursionError:
            raise self.refuse(part, "WHERE is nested too deeply.", "Use IN (...) for a list.") from None

    def group(self, part: Any, items: Sequence[Any]) -> tuple[str, ...]:
        if part is None:
            return ()
        if _more_than(part, "expressions") or not part.expressions:
            raise self.source.refusal(
                f"{shown(spelled_node(part).strip())} cannot be answered.",
                self.source.at_word("GROUP"),
                "GROUP BY takes columns.",
            )
        if len(part.expressions) > MOST_KEYS:
            raise self.refuse(part, f"GROUP BY takes at most {MOST_KEYS} columns.")
        keys = [self._key(self._item(node, items)) for node in part.expressions]
        if len(set(keys)) != len(keys):
            raise self.refuse(part, "A column is named twice after GROUP BY.", "Name it once.")
        return tuple(keys)

    def _item(self, node: Any, items: Sequence[Any]) -> Any:
        """Return what a position such as the 1 of GROUP BY 1 stands for, or the part itself."""
        if isinstance(node, exp.Literal) and not node.is_string:
            number = whole(node) or 0
            if not 0 < number <= len(items):
                raise self.refuse(node, f"There is no column {shown(node.this)} in this SELECT.")
            return items[number - 1].unalias()
        return node

    def _key(self, node: Any) -> str:
        name = self._name(node)
        if derives(node) or name in dict(self.table.schema.derived):
            return name
        declared = self.table.schema.get(name)
        if declared is None or declared.values is None:
            raise self.refuse(
                node,
                f"The groups of {name} are not public.",
                Declare(name, ("values",)),
                Ask("histogram", name, one_of=("keys", "bins", "keys:discover")),
            )
        return name

    def _name(self, node: Any) -> str:
        """Return the exact name of a column, or the text of the expression that derives one."""
        if derives(node):
            if id(node) in self._derived:
                return self._derived[id(node)]
            try:
                name = self.table.resolve(field_of(node, self.table, condition_of).name)
                return self._derived.setdefault(id(node), name)
            except Unreadable as error:
                raise self.refuse_as(error.node, error) from None
            except InvalidQuery as error:
                raise self.refuse_as(node, error) from None
        if not isinstance(node, exp.Column) or _more_than(node, "this"):
            raise self.outside(node)
        try:
            return self.table.resolve(node.name)
        except InvalidQuery as error:
            raise self.refuse_as(node, error) from None

    def column(self, item: Any, place: int) -> ResultColumn:
        """Read one item after SELECT."""
        node = item.unalias()
        if isinstance(item, exp.Alias) and not isinstance(item.args["alias"], exp.Identifier):
            raise self.outside(item)
        if isinstance(node, exp.Column) or derives(node):
            name = self._name(node)
            if name not in self.by:
                raise self.refuse(node, f"{name} must be inside COUNT, SUM or AVG.", "Add it to GROUP BY.")
            return ResultColumn(item.alias or name, spelled_node(node), key=self.by.index(name))
        if is_computed(node):
            formula = self.computed(node, ())
            return ResultColumn(item.alias or f"column_{place + 1}", spelled_node(node), formula=formula)
        number, name = self._aggregate(node)
        return ResultColumn(item.alias or name, spelled_node(node), query=number)

    def computed(self, node: Any, columns: Sequence[ResultColumn], *, order: bool = False) -> Formula | None:
        """Return the formula that a part of SELECT, HAVING or ORDER BY spells.

        `columns` may be named in it. Of an ORDER BY, None for what is no formula at all.
        """

        def leaf(part: Any) -> Formula:
            named = named_column(part, columns)
            if named is not None and named.key is None:
                return named.noisy
            if isinstance(part, exp.Column) or derives(part):
                problem = f"{shown(spelled_node(part))} is not a noisy number."
                raise self.refuse(part, problem, "Conditions on it follow WHERE.")
            return Aggregate(self._aggregate(part)[0])

        if order and not is_computed(node) and (isinstance(node, exp.Column) or derives(node)):
            return None
        formula: Formula = self._located(node, lambda: formula_of(node, leaf))
        if not any(True for _ in aggregates_in(formula)):
            raise self.outside(node)
        return formula

    def having(self, part: Any, columns: Sequence[ResultColumn]) -> Test | Tests | None:
        """Read HAVING, whose columns may be those of the answer."""
        if part is None:
            return None

        def leaf(node: Any) -> Formula:
            formula = self.computed(node, columns)
            assert formula is not None
            return formula

        found: Test | Tests = self._located(part.this, lambda: tests_of(part.this, leaf))
        return found

    def _located(self, node: Any, read: Callable[[], Any]) -> Any:
        """Read something, and say where in the text it cannot be."""
        try:
            check_size(node)
            return read()
        except UnsupportedSQL:
            raise
        except InvalidQuery as error:
            raise self.refuse_as(node, error) from None

    def _aggregate(self, node: Any) -> tuple[int, str]:
        """Return the number of the query behind an aggregate, which may be a new one, and a title."""
        query, name = self._query(node, self.by, self.where)
        if query not in self.queries:
            if len(self.queries) >= MOST_AGGREGATES:
                raise self.refuse(
                    node, f"More than {MOST_AGGREGATES} different aggregates are too many.", "Ask in parts."
                )
            try:
                self.questions.append(query.checked(self.table))
            except (InvalidQuery, InvalidParameter) as error:
                raise self.refuse_as(node, error) from None
            where = self.questions[-1].where
            self._comparisons += 0 if where is None else condition_size(where)
            if self._comparisons > MOST_COMPARISONS:
                raise self.refuse(
                    node,
                    f"The condition on the rows, once for each aggregate, is more than {MOST_COMPARISONS:,} "
                    "comparisons.",
                    "Use IN (...) for a list of values, or ask in parts.",
                )
        return self.queries.setdefault(query, len(self.queries)), name

    def _query(self, node: Any, by: tuple[str, ...], condition: Condition | None) -> tuple[Query, str]:
        if isinstance(node, exp.Count) and not _more_than(node, "this", "big_int"):
            if isinstance(node.this, exp.Star) and not _more_than(node.this):
                return (Histogram(*by, where=condition) if by else Count(condition)), "count"
            if isinstance(node.this, exp.Column) or derives(node.this):
                return self._present(node, by, condition)
            if isinstance(node.this, exp.Distinct) and not _more_than(node.this, "expressions"):
                return self._distinct(node, by, condition)
        if isinstance(node, exp.Sum | exp.Avg) and not _more_than(node, "this"):
            name = self._name(node.this)
            low, high, step = self._bounds(node, name)
            if isinstance(node, exp.Sum):
                return Sum(name, low, high, step, condition, by), f"sum_{name}"
            return Mean(name, low, high, step, condition, by), f"avg_{name}"
        if type(node) in _SPREADS and not _more_than(node, "this"):
            kind, sample, title = _SPREADS[type(node)]
            name = self._name(node.this)
            bounds = self._bounds(node, name)
            return kind(name, *bounds, condition, by, sample=sample), f"{title}_{name}"
        if type(node) in _EXTREMES and not _more_than(node, "this"):
            extreme, title = _EXTREMES[type(node)]
            name = self._name(node.this)
            return extreme(name, *self._bounds(node, name, times=True), condition, by), f"{title}_{name}"
        if (quantile := self._quantile(node)) is not None:
            q, between, name, title = quantile
            bounds = self._bounds(node, name, times=True)
            if title == "median":
                # Between two days there is no day.
                days = self.table.kind(name) == "date"
                query = Median(name, *bounds, condition, by, kind="disc" if days else "cont")
                return query, f"median_{name}"
            return Quantiles(name, (q,), *bounds, condition, by, kind=between), f"{title}_{name}"
        raise self.outside(node)

    def _present(self, node: Any, by: tuple[str, ...], condition: Condition | None) -> tuple[Query, str]:
        """Return the query of how many rows have a value in a column."""
        name = self._name(node.this)
        try:
            there = Missing(self.table.field(name), negated=True)
        except InvalidQuery as error:
            raise self.refuse_as(node, error) from None
        where = known_to(self.table, there if condition is None else every([condition, there]))
        return (Histogram(*by, where=where) if by else Count(where)), f"count_{name}"

    def _quantile(self, node: Any) -> tuple[str, Any, str, str] | None:
        """Return q, how it falls between rows, the column and a title; None for anything else.

        MEDIAN interpolates, as in PostgreSQL's PERCENTILE_CONT(0.5) and in DuckDB.
        """
        if isinstance(node, exp.Median) and not _more_than(node, "this"):
            return "0.5", "cont", self._name(node.this), "median"
        if not isinstance(node, exp.WithinGroup) or type(node.this) not in _PERCENTILES:
            return None
        ordered = node.expression.expressions if isinstance(node.expression, exp.Order) else []
        plain = len(ordered) == 1 and not _more_than(ordered[0], "this", "nulls_first")
        q = node.this.this
        if not plain or not isinstance(q, exp.Literal) or q.is_string or _more_than(node.this, "this"):
            return None
        kind = _PERCENTILES[type(node.this)]
        return q.this, kind, self._name(ordered[0].this), f"percentile_{kind}"

    def _distinct(self, node: Any, by: tuple[str, ...], condition: Condition | None) -> tuple[Query, str]:
        names = [self._name(each) for each in node.this.expressions]
        if self.unit is None or names != [self.unit]:
            fix = f"Write COUNT(DISTINCT {self.unit})." if self.unit else ProtectPersons()
            raise self.refuse(node, "Only persons are counted once each: other values are not public.", fix)
        return CountDistinct(*by, where=condition), f"count_distinct_{self.unit}"

    def _bounds(self, node: Any, name: str, *, times: bool = False) -> tuple[Any, Any, Any]:
        kind = self.table.kind(name)
        if kind not in ("integer", "number", None) and not (times and kind in TIMES):
            can = RANKED if times else SUMMED
            raise self.refuse(node, f"The type of {name} is {kind}; {can}.", "Name another column.")
        low, high, step = public_bounds(self.table.field(name, asked="number"), self.table).values()
        if None in (low, high, step):
            method = _METHODS.get(type(node), "std" if isinstance(node, _DEVIATIONS) else "variance")
            raise self.refuse(
                node,
                f"The bounds of {name} are not public.",
                Declare(name, ("low", "high", "step")),
                Ask(method, name, ("low", "high", "step")),
            )
        return low, high, step


def _more_than(node: Any, *expected: str) -> bool:
    """Tell whether a parsed part holds anything besides what is expected."""
    return any(value for key, value in node.args.items() if key not in expected)
