"""Find answers that were given before: to the very same request, or to its question and exact enough."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from dovetail.answers.json_format import read_noise
from dovetail.answers.quote import Quote, QuotedQuery, StoredOffer
from dovetail.privacy import Charge

from .account import StoredAnswer


def bodies(quote: Quote, source: str) -> tuple[str, str]:
    """Return the canonical texts of a request and of its question, which leaves the noise out."""
    asked = [each.to_dict() for each in quote.asked]
    questions = [{"question": each["question"]} for each in asked]
    about = {"neighbours": quote.neighbours, "source": source}
    return _text({"asked": asked} | about), _text({"asked": questions} | about)


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
    return tuple(
        replace(each, noises=tuple(map(read_noise, said["noise"])))
        for each, said in zip(quote.asked, asked, strict=True)
    )


def offer(quote: Quote, stored: StoredAnswer) -> StoredOffer:
    """Return a stored answer as a quote tells of it."""
    return StoredOffer(answered(quote, stored.body), stored.answered_at, stored.stale, stored.versioned)


def charge_then(stored: StoredAnswer) -> Charge:
    """Return what a stored answer cost when it was new."""
    return Charge.from_dict(json.loads(stored.answer)["charge"])


def _text(body: dict[str, Any]) -> str:
    return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
