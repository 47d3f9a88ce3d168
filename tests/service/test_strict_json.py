"""Bodies at the edges of what is read: their depth, the length of numbers, each member once."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import Any

import pytest

from dovetail.service.problems import Refused
from dovetail.service.strict_json import check_depth, read_json


@pytest.mark.parametrize(
    ("body", "depth"),
    [(b"1", 0), (b"[]", 1), (b"[[],[],{}]", 2), (b'{"a": {"b": []}}', 3), (b'["[[{", "\\"[["]', 1)],
)
def test_a_body_may_be_as_deep_as_said_and_no_deeper(body: bytes, depth: int) -> None:
    check_depth(body, depth)
    if depth:
        with pytest.raises(Refused) as caught:
            check_depth(body, depth - 1)
        assert caught.value.status == 413


def test_a_body_is_bounded_in_depth_before_it_is_read() -> None:
    assert read_json(b"[[],[],[]]", 2) == [[], [], []]
    for body, depth in ((b"[[],[],[]]", 1), (b"[[], [[]]]", 2), (b"[[][][][[[", 3), (b"[" * 10**5, 32)):
        with pytest.raises(Refused) as caught:
            read_json(body, depth)
        assert (caught.value.status, caught.value.code) == (413, "too-large")


def test_strings_without_an_end_are_looked_at_once() -> None:
    """One reaches to the end of the body. To look for its end again from each quotation mark in it took half
    an hour, and whoever may send a body, even before signing in, could stop a worker with it.
    """
    check_depth(b'"' + b'\\"[' * 30, 0)
    # A pattern that tries again how to part a run of letters would never come back from this one.
    check_depth(b'"' + b"[a" * 1000, 0)
    with pytest.raises(Refused):
        check_depth(b'"" [' * 30, 29)


@pytest.mark.parametrize("body", [b"[" + b"[]," * 9999 + b"[]]", b"]" * 9999, b'{"a": ' + b"[{}]," * 9999])
def test_brackets_are_not_looked_at_one_by_one(body: bytes) -> None:
    """A body full of them took half a second of a processor."""
    lines = 0

    def count(_frame: Any, event: str, _argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        check_depth(body, 3)
    finally:
        sys.settrace(before)
    assert lines < 1000


@pytest.mark.parametrize(
    ("text", "found"),
    [("7" * 1000, int("7" * 1000)), ("0." + "1" * 998, Decimal("0." + "1" * 998)), ("1e5", Decimal("1e5"))],
    ids=["whole", "decimal", "exponent"],
)
def test_a_number_is_exact_up_to_a_thousand_characters(text: str, found: Any) -> None:
    assert read_json(text.encode(), 0) == found
    with pytest.raises(Refused):
        read_json((text[:1] + "1" * (1001 - len(text)) + text[1:]).encode(), 0)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 1}',
        b"NaN",
        b"-Infinity",
        b'"\\ud800"',
        b"\xff",
        b"[1,]",
        b"",
        b"1e9999999999999999999",
    ],
)
def test_what_is_not_strictly_json_is_refused(body: bytes) -> None:
    with pytest.raises(Refused) as caught:
        read_json(body, 5)
    assert (caught.value.status, caught.value.code) == (400, "invalid-body")
