"""Read an answer back from the record: what an account kept of a question, as it was given."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dovetail.answers import Answer
from dovetail.answers.json_format import read_noise
from dovetail.answers.kinds import of_its_kind
from dovetail.answers.threshold import Threshold
from dovetail.errors import InvalidQuery
from dovetail.privacy import Charge
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.reading import read_question

from .mechanism import read_released

if TYPE_CHECKING:
    from fractions import Fraction

    from dovetail.answers.quote import Standing


def asked_of(body: str) -> list[CheckedQuery]:
    """Return the questions that a request's body holds; none where an online run began with it."""
    return [read_question(each["question"]) for each in json.loads(body).get("asked", [])]


def recalled(
    dataset: str,
    body: str,
    stored: str,
    answered_at: datetime,
    standing: Standing,
    level: Fraction,
    *,
    vintages: tuple[str, ...] = (),
) -> list[Answer]:
    """Return the answers that were given to a request, with error bars at `level`.

    `standing` is where the budget stands now. What was clamped for show is shown as it was released.
    """
    said = json.loads(body)
    if "neighbours" not in said:
        raise InvalidQuery("This is an answer of an online run.", "Ask the run again, which is free.")
    questions, kept = asked_of(body), json.loads(stored)
    charge, released = Charge.from_dict(kept["charge"]), read_released(stored, questions)
    assert standing.budget is not None
    left = standing.budget.remaining(standing.spent)
    answers = []
    for asked, question, each in zip(said["asked"], questions, released, strict=True):
        noises = tuple(map(read_noise, asked["noise"]))
        threshold = _threshold(asked, said["asked"], charge)
        given = (charge, said["neighbours"], answered_at, left, True)
        more: dict[str, Any] = {"found": each.found, "threshold": threshold, "together": len(questions)}
        more["vintages"] = vintages
        answers.append(
            of_its_kind(Answer(dataset, question, noises, each.cells, *given, level=level, **more))
        )
    return answers


def _threshold(asked: Any, together: Any, charge: Charge) -> Threshold | None:
    """Return the threshold of keys that were found out; questions that have one share the delta evenly."""
    if "threshold" not in asked:
        return None
    sharing = sum("threshold" in each for each in together)
    return Threshold(asked["threshold"], -(-charge.delta_units // sharing))
