"""What is asked: public columns, conditions, cells, measures, and the texts that spell them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dovetail.lazy_names import lazy_names

from .schema import Schema

if TYPE_CHECKING:
    from .column import Column
    from .contributions import Contributions
    from .distributions import Maximum, Median, Minimum, Quantiles, Ranges, Std, Variance
    from .lookup import Lookup
    from .marginals import Marginals
    from .queries import Count, CountDistinct, Histogram, Linear, Mean, Query, Sum
    from .workload import Workload

# name -> the module that defines it; a test checks it against the imports above.
_HOME = {
    "Column": "column",
    "Contributions": "contributions",
    "Count": "queries",
    "CountDistinct": "queries",
    "Histogram": "queries",
    "Linear": "queries",
    "Lookup": "lookup",
    "Marginals": "marginals",
    "Maximum": "distributions",
    "Mean": "queries",
    "Median": "distributions",
    "Minimum": "distributions",
    "Quantiles": "distributions",
    "Query": "queries",
    "Ranges": "distributions",
    "Std": "distributions",
    "Sum": "queries",
    "Variance": "distributions",
    "Workload": "workload",
}
__getattr__ = lazy_names(__name__, _HOME)


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
