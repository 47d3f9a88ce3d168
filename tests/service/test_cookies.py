"""A cookie holds for the key that it was sealed for, until its time is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from dovetail.service import cookies
from dovetail.service.cookies import LIFETIME, opened, sealed

SECRET = b"s" * 32


def test_a_cookie_says_its_key_and_when_it_ends() -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    ticket = opened(sealed("abcdefghij", SECRET), SECRET)
    assert ticket is not None
    assert ticket.key == "abcdefghij"
    assert before + LIFETIME <= ticket.expires <= datetime.now(UTC) + LIFETIME


def test_a_cookie_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cookies, "LIFETIME", timedelta(seconds=-1))
    assert opened(sealed("abcdefghij", SECRET), SECRET) is None


def test_a_cookie_that_was_changed_or_sealed_by_others_is_none() -> None:
    one, other = sealed("abcdefghij", SECRET), sealed("klmnopqrst", SECRET)
    body, seal = one.split(".")
    for wrong in (body, f"{body}.", f".{seal}", f"{other.split('.')[0]}.{seal}", f"{body}.{seal[:-1]}", ""):
        assert opened(wrong, SECRET) is None
    assert opened(one, b"t" * 32) is None
