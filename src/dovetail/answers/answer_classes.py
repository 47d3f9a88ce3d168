"""Which class an answer has: of some measures more can be asked than numbers and their intervals."""

from __future__ import annotations

from dataclasses import fields

from dovetail.lazy_names import lazy_names

from .answer import Answer

# What a measure calls its answers, and the class in the module of that name.
_CLASSES = {
    "contributions": "ContributionsAnswer",
    "marginals": "MarginalsAnswer",
    "ranges": "RangeAnswer",
}
_loaded = lazy_names("dovetail.answers", {name: home for home, name in _CLASSES.items()})


def of_its_kind(answer: Answer) -> Answer:
    """Return the answer as the class of its measure."""
    kind = answer.query.measure.answered_as
    made: type[Answer] = _loaded(_CLASSES[kind]) if kind in _CLASSES else Answer
    if isinstance(answer, made):
        return answer
    return made(**{each.name: getattr(answer, each.name) for each in fields(answer)})


def read_answer(text: str | bytes) -> Answer:
    """Read an answer from its JSON, as the class of its measure."""
    return of_its_kind(Answer.from_json(text))
