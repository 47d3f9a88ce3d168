"""Ask the data: typed queries, sensitivity, keys, prices and answers with intervals."""

from .query import Count, Histogram, Linear, Mean, Sum
from .schema import Column, Schema
from .source import Source

__all__ = ["Column", "Count", "Histogram", "Linear", "Mean", "Schema", "Source", "Sum"]
