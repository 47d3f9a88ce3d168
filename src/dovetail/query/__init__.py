"""What is asked: public columns, conditions, cells, measures, and the texts that spell them."""

from .column import Column
from .distributions import Maximum, Median, Minimum, Quantiles, Ranges, Std, Variance
from .marginals import Marginals
from .queries import Count, CountDistinct, Histogram, Linear, Mean, Query, Sum
from .schema import Schema

__all__ = [
    "Column",
    "Count",
    "CountDistinct",
    "Histogram",
    "Linear",
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
]
