"""What a person gets: values with intervals, tables, plans, quotes, text and JSON."""

from .answer import Answer
from .json_format import json_schema
from .plan import Plan
from .quote import Quote
from .ranges import RangeAnswer

__all__ = ["Answer", "Plan", "Quote", "RangeAnswer", "json_schema"]
