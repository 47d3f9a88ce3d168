"""Several queries that are measured together, every number as exactly as every other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from dovetail.errors import InvalidParameter

from .queries import Query

MOST_TOGETHER = 10_000


@dataclass(frozen=True, slots=True, init=False)
class Workload:
    """Queries that share one price: every number that a row moves gets the same noise.

    A batch instead gives every query the same share of a worst-case price: one count as much as 28 tables.

    >>> from dovetail.query import Count, Histogram
    >>> len(list(Workload([Count(), Histogram("sex")])))
    2
    """

    queries: tuple[Query, ...]

    def __init__(self, queries: Iterable[Query]) -> None:
        object.__setattr__(self, "queries", tuple(listed_queries(queries)))

    def __iter__(self) -> Iterator[Query]:
        return iter(self.queries)


def listed_queries(queries: Any) -> list[Query]:
    """Return one query or several as a list, which may not be endless."""
    listed = list(islice(queries, MOST_TOGETHER + 1)) if isinstance(queries, Iterable) else [queries]
    if not 0 < len(listed) <= MOST_TOGETHER or not all(hasattr(query, "checked") for query in listed):
        raise InvalidParameter(
            "queries",
            queries,
            f"a list of 1 to {MOST_TOGETHER} queries",
            "For example a count, a histogram or a sum.",
        )
    return listed
