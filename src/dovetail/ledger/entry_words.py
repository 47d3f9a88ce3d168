"""Say in words what the record keeps as JSON: questions, plans and online runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from dovetail.errors import DovetailError

if TYPE_CHECKING:
    from dovetail.noise import Noise

_LONGEST = 2000


def body_in_words(text: str, noise_words: Callable[[Noise], str] = str) -> str:
    """Return what the body of a request or of a plan says; a body of another form stays as it is.

    >>> body_in_words('{"online": {"asked": {"axes": [{"column": ["sex", "text"]}]}}}')
    'online run over sex'
    """
    try:
        body = json.loads(text[:1_000_000])
        if "asked" in body:
            from dovetail.query.canonical_form import read_question
            from dovetail.query.question_words import question_in_words

            asked = (question_in_words(read_question(each["question"])) for each in body["asked"])
            return "; ".join(asked)[:_LONGEST]
        if "online" in body:
            columns = ", ".join(axis["column"][0] for axis in body["online"]["asked"]["axes"])
            return f"online run over {columns}"[:_LONGEST]
        if body.get("opening") is True:
            return f"opening measurement of online run {body['run']}"
        if "plan" in body:
            from dovetail.noise import from_dict

            return f"plan of answers with {noise_words(from_dict(body['plan']))}"
    except (DovetailError, ValueError, KeyError, TypeError, IndexError):
        pass  # bodies of other versions
    return text[:_LONGEST]
