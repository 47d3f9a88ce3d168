"""Read a body as JSON, strictly: bounded in depth before it is parsed, each member once, numbers exact."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from .problems import Refused

# A string without an end reaches to the end of the body. Nothing is tried twice: to look for each
# of their ends again would take half an hour for one body.
_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_LONGEST_NUMBER = 1000


def read_json(body: bytes, depth: int) -> Any:
    """Return what a body says; a number with a fraction or an exponent is a Decimal.

    >>> read_json(b'{"within": 0.1}', 8)
    {'within': Decimal('0.1')}
    """
    check_depth(body, depth)
    try:
        value = json.loads(
            body.decode("utf-8"),
            parse_float=_decimal,
            parse_int=_integer,
            parse_constant=_constant,
            object_pairs_hook=_members,
        )
        if _HALVES.search(body):
            # Half a character can be written neither to a record nor to a reply.
            json.dumps(value, ensure_ascii=False, default=str).encode("utf-8")
        return value
    except (ValueError, RecursionError):
        raise Refused(
            400, "invalid-body", "The body must be JSON in UTF-8, without repeated members."
        ) from None


def check_depth(body: bytes, depth: int) -> None:
    """Refuse a body whose lists and objects are nested deeper than this."""
    # One by one, the brackets of a body full of them took half a second.
    brackets = np.frombuffer(_STRINGS.sub(b"", body).translate(None, _OTHERS), np.uint8)
    steps = np.where(np.isin(brackets, list(b"[{")), 1, -1)
    if steps.cumsum().max(initial=0) > depth:
        raise Refused(413, "too-large", f"The body is nested deeper than {depth} levels.")


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member appears twice")
    return members


def _decimal(text: str) -> Decimal:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("a number is too long")
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("an exponent is too long") from None


def _integer(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError("a number is too long")
    return int(text)


def _constant(_text: str) -> Any:
    raise ValueError("not a number of JSON")
