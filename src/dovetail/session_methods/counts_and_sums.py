"""Methods that ask for counts, sums and means, and those that price or batch any query."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from dovetail.answers.payment import PRICES, Payment, refuse_price
from dovetail.check import Real
from dovetail.query.queries import Count, CountDistinct, Histogram, Linear, Mean, Query, Sum

if TYPE_CHECKING:
    from dovetail.answers import Answer, Plan
    from dovetail.answers.quote import Quote
    from dovetail.answers.table import TableAnswer
    from dovetail.designer import Design
    from dovetail.noise import Noise
    from dovetail.privacy import Budget, Charge
    from dovetail.query.sql import Selection

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def paid(method: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """Explain how a price is given here to someone who writes `epsilon=0.1`."""

    @wraps(method)
    def asked(*given: _Given.args, **named: _Given.kwargs) -> _Result:
        for price in PRICES:
            if price in named:
                refuse_price(method.__name__, price, named[price])
        return method(*given, **named)

    return asked


class CountMethods(ABC):
    """Ask typed queries; a subclass knows where the data and the budget are.

    Pay for every answer in exactly one way: `within` (an error that is exceeded with probability at most
    1 - `probability`), `spend` (a price), `noise`, or `plan` (paid in advance). With `queries`, that many
    answers with such an accuracy or noise are planned and paid for together, and this is one of them.
    `delta` pays for finding keys in the rows. `clamp` shows counts below 0 as 0, `fresh` pays again for a new
    answer to a question asked before, and a retry with the same `request` is never charged twice.
    """

    _default: Plan | None = None

    @abstractmethod
    def _answered(self, queries: Iterable[Query], payment: Payment) -> list[Answer]:
        """Answer queries together."""

    @abstractmethod
    def _quoted(self, queries: Query | Iterable[Query], payment: Payment) -> Quote:
        """Price queries together."""

    @abstractmethod
    def _selection(self, text: str) -> Selection:
        """Read a SELECT."""

    def _payment(
        self,
        within: Real | None,
        probability: Real | None,
        spend: Budget | None,
        noise: Noise | Design | None,
        plan: Plan | None,
        queries: int | None,
        delta: Real | None,
        clamp: bool,
        fresh: bool,
        request: str | None,
    ) -> Payment:
        return Payment.of(
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
            default=self._default,
        )

    @paid
    def count(
        self,
        *,
        where: str | None = None,
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
        """Return how many rows satisfy `where`."""
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        return self._answered([Count(where)], payment)[0]

    @paid
    def count_distinct(
        self,
        *columns: str,
        keys: Any = None,
        bins: Any = None,
        where: str | None = None,
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
        """Return how many persons have a row that satisfies `where`, in all or in each cell of columns."""
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = CountDistinct(*columns, keys=keys, bins=bins, where=where)
        return self._answered([query], payment)[0]

    @paid
    def histogram(
        self,
        *columns: str,
        keys: Any = None,
        bins: Any = None,
        where: str | None = None,
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
        """Return how many rows fall in each public cell; charged once, as a row lies in one cell."""
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = Histogram(*columns, keys=keys, bins=bins, where=where)
        return self._answered([query], payment)[0]

    @paid
    def sum(
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
        """Return the sum of a column, each row clamped to [low, high] and rounded to a multiple of step.

        Bounds and a step that you leave out come from the schema.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = Sum(column, low, high, step, where, listed_columns(by), keys, bins)
        return self._answered([query], payment)[0]

    @paid
    def mean(
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
        """Return the mean of a column over the rows that have a number: a sum and a count together.

        Bounds and step are those of a sum.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        query = Mean(column, low, high, step, where, listed_columns(by), keys, bins)
        return self._answered([query], payment)[0]

    @paid
    def linear(
        self,
        column: str,
        weights: Mapping[Any, Real],
        *,
        step: Real,
        where: str | None = None,
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
        """Return the sum over rows of a public weight between -1 and 1, looked up by the column's value."""
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        return self._answered([Linear(column, weights, step, where)], payment)[0]

    @paid
    def sql(
        self,
        text: str,
        *,
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
    ) -> TableAnswer:
        """Answer one SELECT; its aggregates are priced together, ORDER BY and LIMIT act on the noisy table.

        The text is read into typed queries and never run. Bounds of SUM and AVG, and the groups, come from
        the schema. What cannot be answered raises UnsupportedSQL, which says where and what to write instead.
        """
        from dovetail.answers.select_layout import laid_out

        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        selection = self._selection(text)
        return laid_out(text, selection, self._answered(selection.queries, payment))

    @paid
    def batch(
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
        """Answer several queries at once, priced exactly together."""
        payment = self._payment(within, probability, spend, noise, plan, None, delta, clamp, fresh, request)
        return self._answered(queries, payment)

    @paid
    def price(
        self,
        query: Query | str | Iterable[Query],
        *,
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
    ) -> Charge:
        """Return what a query, a batch or a SELECT would cost; no row is read and nothing is spent.

        What a plan pays for costs nothing more, and what was answered before costs nothing.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        quoted = self._quoted(self._read(query), payment)
        return quoted.charge if quoted.stored is None else quoted.charge.zero()

    @paid
    def quote(
        self,
        query: Query | str | Iterable[Query],
        *,
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
    ) -> Quote:
        """Return the price of a query, a batch or a SELECT, its noise, and the errors of its answers.

        No row is read and nothing is spent. `answer(quote)` then charges exactly what was quoted.
        """
        payment = self._payment(
            within, probability, spend, noise, plan, queries, delta, clamp, fresh, request
        )
        return self._quoted(self._read(query), payment)

    def lay_out(self, text: str, answers: Sequence[Answer]) -> TableAnswer:
        """Return the answers to the quote of a SELECT as its table."""
        from dovetail.answers.select_layout import laid_out

        return laid_out(text, self._selection(text), answers)

    def _read(self, query: Query | str | Iterable[Query]) -> Query | Iterable[Query]:
        return self._selection(query).queries if isinstance(query, str) else query


def listed_columns(by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns of `by`, of which one may stand alone."""
    return () if by is None else (by,) if isinstance(by, str) else tuple(by)
