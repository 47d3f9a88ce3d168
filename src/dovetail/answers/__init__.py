"""What a person gets: values with intervals, tables, plans, quotes, text and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.lazy_names import lazy_names

if TYPE_CHECKING:
    from .answer import Answer
    from .answer_classes import read_answer
    from .contributions import ContributionsAnswer, SuggestedBounds
    from .json_format import json_schema
    from .marginals import MarginalsAnswer
    from .noisy_numbers import NoisyNumber
    from .plan import Plan
    from .quote import Quote
    from .ranges import RangeAnswer

# name -> the module that defines it; a test checks it against the imports above.
_HOME = {
    "Answer": "answer",
    "ContributionsAnswer": "contributions",
    "MarginalsAnswer": "marginals",
    "NoisyNumber": "noisy_numbers",
    "Plan": "plan",
    "Quote": "quote",
    "RangeAnswer": "ranges",
    "SuggestedBounds": "contributions",
    "json_schema": "json_format",
    "read_answer": "answer_classes",
}
__getattr__ = lazy_names(__name__, _HOME)

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
