"""Answers that were given before: find one that will do, and read one back as it was given."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from dovetail.answers import Answer
from dovetail.answers.answer_classes import of_its_kind
from dovetail.answers.json_format import read_noise
from dovetail.answers.quote import Quote, QuotedQuery, StoredOffer
from dovetail.answers.threshold import Threshold
from dovetail.errors import InvalidQuery
from dovetail.privacy import Charge
from dovetail.query.checked_query import CheckedQuery

from .account import StoredAnswer, canonical_text
from .mechanism import read_released

if TYPE_CHECKING:
    from fractions import Fraction

    from dovetail.answers.quote import Standing


def bodies(quote: Quote, source: str) -> tuple[str, str]:
    """Return the canonical texts of a request and of its question, which leaves the noise out."""
    asked = [each.to_dict() for each in quote.asked]
    questions = [{"question": each["question"]} for each in asked]
    about = {"neighbours": quote.neighbours, "source": source}
    return canonical_text({"asked": asked} | about), canonical_text({"asked": questions} | about)


def accepted(quote: Quote) -> Callable[[str], bool] | None:
    """Return what tells of another request's body whether its answer is as exact as this quote asks for.

    None where no accuracy was asked for, or where it is not the noise alone that decides about an error.
    """
    wanted, level = quote.payment.within, quote.level
    if wanted is None or any(each.threshold is not None for each in quote.asked):
        return None

    def enough(body: str) -> bool:
        answers = answered(quote, body)
        errors = [each.error(level) for each in answers]
        return bool(answers) and all(error is not None and error <= wanted for error in errors)

    return enough


def answered(quote: Quote, body: str) -> tuple[QuotedQuery, ...]:
    """Return the questions of a quote with the noise that a stored answer has; () if it has others."""
    asked = json.loads(body)["asked"]
    if len(asked) != len(quote.asked):
        return ()
    return tuple(_with_noise(each, said["noise"]) for each, said in zip(quote.asked, asked, strict=True))


def _with_noise(asked: QuotedQuery, said: list[Any]) -> QuotedQuery:
    """Return a question with the noise of a stored answer, which is mostly the one that it has."""
    if said == [noise.to_dict() for noise in asked.noises]:
        return asked
    return replace(asked, noises=tuple(map(read_noise, said)))


def offer(quote: Quote, stored: StoredAnswer) -> StoredOffer:
    """Return a stored answer as a quote tells of it."""
    return StoredOffer(answered(quote, stored.body), stored.answered_at, stored.stale, stored.versioned)


def charge_then(stored: StoredAnswer) -> Charge:
    """Return what a stored answer cost when it was new."""
    return Charge.from_dict(json.loads(stored.answer)["charge"])


def asked_of(body: str) -> list[CheckedQuery]:
    """Return the questions that a request's body holds; none where an online run asked."""
    from dovetail.query.canonical_form import read_question  # loads every measure

    return [read_question(each["question"]) for each in json.loads(body).get("asked", [])]


def asked_by_run(body: str) -> bool:
    """Tell whether an online run made a request, whose answers it tells itself."""
    return "neighbours" not in json.loads(body)


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
    if asked_by_run(body):
        raise InvalidQuery("This is an answer of an online run.", "Ask the run again, which is free.")
    said, questions, kept = json.loads(body), asked_of(body), json.loads(stored)
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
