"""Methods that ask for many numbers at once: tables of several columns, and whole workloads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from dovetail import query as asked
from dovetail.check import Real

from .counts_and_sums import paid
from .distributions import DistributionMethods

if TYPE_CHECKING:
    from dovetail.answers import Answer, MarginalsAnswer, Plan
    from dovetail.designer import Design
    from dovetail.noise import Noise
    from dovetail.privacy import Budget
    from dovetail.query import Query
    from dovetail.query.marginals import StrategyKind


class MarginalMethods(DistributionMethods):
    """Ask for many tables of counts at once; how they are measured is chosen from the price."""

    @paid
    def marginals(
        self,
        *columns: str,
        way: int = 2,
        tables: Iterable[Any] | None = None,
        keys: Any = None,
        bins: Any = None,
        where: str | None = None,
        strategy: StrategyKind | None = None,
        within: Real | None = None,
        probability: Real | None = None,
        spend: Budget | None = None,
        noise: Noise | Design | None = None,
        plan: Plan | None = None,
        queries: int | None = None,
        delta: Real | None = None,
        clamp: bool = False,
        fresh: bool = False,
        request: str | None = None,
    ) -> MarginalsAnswer:
        """Return all tables of `way` of the columns, or the listed `tables`; they agree with each other.

        How they are measured, `strategy`, is chosen from the price: the least error of the worst table. See
        `quote` for the error of each table before anything is paid. A row counts if it has a cell in every
        column: the schema's values, or `keys` or `bins` by name.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = asked.Marginals(
            *columns, way=way, tables=tables, keys=keys, bins=bins, where=where, strategy=strategy
        )
        return cast("MarginalsAnswer", self._answered([query], payment)[0])

    @paid
    def workload(
        self,
        queries: Iterable[Query],
        *,
        within: Real | None = None,
        probability: Real | None = None,
        spend: Budget | None = None,
        noise: Noise | Design | None = None,
        plan: Plan | None = None,
        delta: Real | None = None,
        clamp: bool = False,
        fresh: bool = False,
        request: str | None = None,
    ) -> list[Answer]:
        """Answer counts, histograms, ranges, marginals and others together, for one price.

        At a price, every number that one row moves gets the same noise, unless marginals are better measured
        otherwise. `quote(Workload(queries), spend=...)` shows the errors before anything is paid.
        """
        payment = self._payment(within, probability, spend, noise, plan, None, delta, clamp, fresh, request)
        return self._answered(asked.Workload(queries), payment)
