"""What a person gets: values with intervals, tables, plans, quotes, text and JSON."""

from .answer import Answer
from .json_format import json_schema
from .marginals import MarginalsAnswer
from .plan import Plan
from .quote import Quote
from .ranges import RangeAnswer

__all__ = ["Answer", "MarginalsAnswer", "Plan", "Quote", "RangeAnswer", "json_schema"]
