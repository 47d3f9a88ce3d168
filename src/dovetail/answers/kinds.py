"""Which class an answer has: of some measures more can be asked than numbers and their intervals."""

from __future__ import annotations

from dataclasses import fields

from .answer import Answer
from .contributions import ContributionsAnswer
from .marginals import MarginalsAnswer
from .ranges import RangeAnswer

KINDS: dict[str, type[Answer]] = {
    "contributions": ContributionsAnswer,
    "marginals": MarginalsAnswer,
    "ranges": RangeAnswer,
}


def of_its_kind(answer: Answer) -> Answer:
    """Return the answer as the class of its measure."""
    made = KINDS.get(answer.query.measure.answered_as, Answer)
    if isinstance(answer, made):
        return answer
    return made(**{each.name: getattr(answer, each.name) for each in fields(answer)})


def read_answer(text: str | bytes) -> Answer:
    """Read an answer from its JSON, as the class of its measure."""
    return of_its_kind(Answer.from_json(text))
