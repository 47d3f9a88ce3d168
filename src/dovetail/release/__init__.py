"""Ask the data: typed queries, sensitivity, keys, prices and answers with intervals."""

from .answer import Answer
from .plan import Plan
from .query import Count, CountDistinct, Histogram, Linear, Mean, Sum
from .schema import Column, Schema
from .source import Source

__all__ = [
    "Answer",
    "Column",
    "Count",
    "CountDistinct",
    "Histogram",
    "Linear",
    "Mean",
    "Plan",
    "Schema",
    "Source",
    "Sum",
]
