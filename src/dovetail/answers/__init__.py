"""What a person gets: values with intervals, tables, plans, quotes, text and JSON."""

from .answer import Answer
from .contributions import ContributionsAnswer, SuggestedBounds
from .json_format import json_schema
from .kinds import read_answer
from .marginals import MarginalsAnswer
from .noisy_numbers import NoisyNumber
from .plan import Plan
from .quote import Quote
from .ranges import RangeAnswer

__all__ = [
    "Answer",
    "ContributionsAnswer",
    "MarginalsAnswer",
    "NoisyNumber",
    "Plan",
    "Quote",
    "RangeAnswer",
    "SuggestedBounds",
    "json_schema",
    "read_answer",
]
