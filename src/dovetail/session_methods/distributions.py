"""Methods that ask how a column is distributed: spread, quantiles, ranges."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, cast

from dovetail import query as asked
from dovetail.check import Real

from .counts_and_sums import CountMethods, listed_columns, paid

if TYPE_CHECKING:
    from dovetail.answers import Answer, ContributionsAnswer, Plan, RangeAnswer
    from dovetail.designer import Design
    from dovetail.noise import Noise
    from dovetail.privacy import Budget
    from dovetail.query.measures.quantile_values import Kind


class DistributionMethods(CountMethods):
    """Ask how the values of a column are distributed, in all rows or in each cell of the columns of `by`.

    Each row is clamped to [low, high] and rounded to a multiple of step; the schema gives those of
    the three that are left out. Of quantiles and ranges the column may hold days, whose steps are days, or
    times, whose steps are seconds. Rows without a value are left out. Everything is about the rows of this
    table, not about a population that they were drawn from.
    """

    @paid
    def variance(
        self,
        column: str,
        *,
        low: Real | None = None,
        high: Real | None = None,
        step: Real | None = None,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        keys: Any = None,
        bins: Any = None,
        sample: bool = False,
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
    ) -> Answer:
        """Return the variance of a column; `sample` divides by n - 1 instead of n."""
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = asked.Variance(column, low, high, step, where, listed_columns(by), keys, bins, sample)
        return self._answered([query], payment)[0]

    @paid
    def std(
        self,
        column: str,
        *,
        low: Real | None = None,
        high: Real | None = None,
        step: Real | None = None,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        keys: Any = None,
        bins: Any = None,
        sample: bool = False,
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
    ) -> Answer:
        """Return the standard deviation of a column; `sample` divides by n - 1 instead of n."""
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = asked.Std(column, low, high, step, where, listed_columns(by), keys, bins, sample)
        return self._answered([query], payment)[0]

    @paid
    def quantiles(
        self,
        column: str,
        qs: Real | Sequence[Real],
        *,
        low: Real | date | None = None,
        high: Real | date | None = None,
        step: Real | timedelta | None = None,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        keys: Any = None,
        bins: Any = None,
        kind: Kind = "disc",
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
    ) -> Answer:
        """Return quantiles, each with an interval that needs no assumption on the rows.

        `kind` "disc" is the smallest value with at least q of the rows up to it; "cont" interpolates between
        two rows, as SQL's PERCENTILE_CONT does. 0 is the smallest value and 1 the largest, which one row
        decides: 0.01 and 0.99 are much more accurate.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = asked.Quantiles(column, qs, low, high, step, where, listed_columns(by), keys, bins, kind)
        return self._answered([query], payment)[0]

    @paid
    def median(
        self,
        column: str,
        *,
        low: Real | date | None = None,
        high: Real | date | None = None,
        step: Real | timedelta | None = None,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        keys: Any = None,
        bins: Any = None,
        kind: Kind = "disc",
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
    ) -> Answer:
        """Return the median of a column with its interval; it is the quantile 0.5."""
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = asked.Median(column, low, high, step, where, listed_columns(by), keys, bins, kind)
        return self._answered([query], payment)[0]

    @paid
    def min(
        self,
        column: str,
        *,
        low: Real | date | None = None,
        high: Real | date | None = None,
        step: Real | timedelta | None = None,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        keys: Any = None,
        bins: Any = None,
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
    ) -> Answer:
        """Return the smallest value of a column with its interval.

        One row decides it, so its interval is wide: the quantile 0.01 is much more accurate.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = asked.Minimum(column, low, high, step, where, listed_columns(by), keys, bins)
        return self._answered([query], payment)[0]

    @paid
    def max(
        self,
        column: str,
        *,
        low: Real | date | None = None,
        high: Real | date | None = None,
        step: Real | timedelta | None = None,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        keys: Any = None,
        bins: Any = None,
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
    ) -> Answer:
        """Return the largest value of a column with its interval.

        One row decides it, so its interval is wide: the quantile 0.99 is much more accurate.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = asked.Maximum(column, low, high, step, where, listed_columns(by), keys, bins)
        return self._answered([query], payment)[0]

    @paid
    def contributions(
        self,
        *columns: str,
        most_rows: int = 50,
        most_cells: int | None = None,
        where: str | None = None,
        keys: Any = None,
        bins: Any = None,
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
    ) -> ContributionsAnswer:
        """Return how many persons have 1, 2, ... rows and, with columns, rows in 1, 2, ... of their cells.

        Persons with `most_rows` or more are counted together, and the same for cells: choose these maxima
        without looking at the rows. The answer says, free, what share of the rows a bound keeps and which
        bounds lose least. It uses every row, so the bounds of the session need not be chosen before.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = asked.Contributions(columns, most_rows, most_cells, where, keys, bins)
        return cast("ContributionsAnswer", self._answered([query], payment)[0])

    @paid
    def ranges(
        self,
        column: str,
        *,
        low: Real | date | None = None,
        high: Real | date | None = None,
        step: Real | timedelta | None = None,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        keys: Any = None,
        bins: Any = None,
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
    ) -> RangeAnswer:
        """Return counts of all ranges of values at once: any range, the distribution function, any quantile.

        They come from one noisy tree; asking the answer for more of them is free.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = asked.Ranges(column, low, high, step, where, listed_columns(by), keys, bins)
        return cast("RangeAnswer", self._answered([query], payment)[0])

    @paid
    def cdf(
        self,
        column: str,
        *,
        low: Real | date | None = None,
        high: Real | date | None = None,
        step: Real | timedelta | None = None,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        keys: Any = None,
        bins: Any = None,
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
    ) -> RangeAnswer:
        """Return the distribution function of a column: how many rows have at most each value.

        It is the answer of `ranges`, paid once for both. The error bars hold for all values at once, and
        `.cdf(shares=True)` gives shares of the rows.
        """
        return self.ranges(
            column,
            low=low,
            high=high,
            step=step,
            where=where,
            by=by,
            keys=keys,
            bins=bins,
            within=within,
            probability=probability,
            spend=spend,
            noise=noise,
            plan=plan,
            queries=queries,
            delta=delta,
            clamp=clamp,
            fresh=fresh,
            request=request,
        )
