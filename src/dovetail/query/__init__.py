"""What is asked: public columns, conditions, cells, measures, and the texts that spell them."""

from typing import Any

from .column import Column
from .contributions import Contributions
from .distributions import Maximum, Median, Minimum, Quantiles, Ranges, Std, Variance
from .lookup import Lookup
from .marginals import Marginals
from .queries import Count, CountDistinct, Histogram, Linear, Mean, Query, Sum
from .schema import Schema
from .workload import Workload


def _derived(text: str, table: Any) -> Any:
    """Read the text of a derived column."""
    from .sql.where import read_derived

    return read_derived(text, table)


Schema.deriver = staticmethod(_derived)

__all__ = [
    "Column",
    "Contributions",
    "Count",
    "CountDistinct",
    "Histogram",
    "Linear",
    "Lookup",
    "Marginals",
    "Maximum",
    "Mean",
    "Median",
    "Minimum",
    "Quantiles",
    "Query",
    "Ranges",
    "Schema",
    "Std",
    "Sum",
    "Variance",
    "Workload",
]
