"""Which stored answer a question gets, against the rule on a plain list: every policy, version and noise."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from dovetail.errors import RequestConflict
from dovetail.ledger import DatasetAccount, Ledger
from dovetail.privacy import Budget
from dovetail.release.account import Request, Reservation, StoredAnswer
from ledger_cases import asked


class Told(NamedTuple):
    """An answer that was given, oldest first in a list."""

    analyst: str
    body: str
    question: str | None
    version: str | None
    public: str


def known(account: DatasetAccount) -> list[Told]:
    """Answer the same few questions again and again, to two people and of three states of the data."""
    random, told = np.random.default_rng(11), list[Told]()
    for number in range(24):
        who, body = ("ann", "bob")[random.integers(2)], "abd"[random.integers(3)]
        question, version = ("q", "r", None)[random.integers(3)], (None, "1", "2")[random.integers(3)]
        made = account.reserve(asked(body, analyst=who, question=question, version=version, fresh=True))
        assert isinstance(made, Reservation)
        account.settle(made, str(number))
        told.append(Told(who, body, question, version, made.public))
    return told


def expected(told: list[Told], own: bool, asking: Request) -> tuple[Any, ...] | None:
    """The rule: of this version with this noise, of this version with another that will do, a stale one."""
    mine = [
        (number, each)
        for number, each in reversed(list(enumerate(told)))
        if not own or each.analyst == asking.analyst
    ]
    same = [(n, each) for n, each in mine if (each.body, each.question) == (asking.body, asking.question)]
    now = [(n, each) for n, each in same if each.version == asking.version]
    will_do = [
        (n, each)
        for n, each in mine
        if asking.question is not None
        and asking.accepts is not None
        and (each.question, each.version) == (asking.question, asking.version)
        and asking.accepts(each.body)
    ]
    # Where nobody says which state of the data is there, the newest is the answer.
    first = same[:1] if asking.version is None and same and same[0][1].version is None else []
    if asking.version is not None:
        first = now[:1]
    found = first or will_do[:1] or same[:1]
    if not found:
        return None
    number, each = found[0]
    return (
        str(number),
        each.version,
        each.version != asking.version,
        None not in (each.version, asking.version),
        each.public if each.analyst == asking.analyst else None,
    )


def shown(found: StoredAnswer | Reservation | None) -> tuple[Any, ...] | None:
    if not isinstance(found, StoredAnswer):
        return None
    return found.answer, found.version, found.stale, found.versioned, found.public


ACCEPTS: tuple[Callable[[str], bool] | None, ...] = (None, lambda body: body == "a", lambda body: True)


@pytest.mark.parametrize("policy", ["shared", "own"])
def test_the_newest_answer_that_fits_is_given(tmp_path: Path, policy: str) -> None:
    with Ledger.create(tmp_path / "some.ledger") as ledger:
        account = ledger.account("visits", budget=Budget.pure(9))
        told = known(account)
        ledger.set_policy("visits", answers=policy)
        head, given = ledger.head, 0
        for who, body, question, version, accepts in product(
            ("ann", "bob", "eve"), "abdx", ("q", "r", None), (None, "1", "2", "3"), ACCEPTS
        ):
            asking = asked(body, analyst=who, question=question, version=version, accepts=accepts)
            found = account.stored(asking)
            assert shown(found) == expected(told, policy == "own", asking), asking
            if found is not None:
                assert shown(account.reserve(asking)) == shown(found)
                given += 1
            fresh = asked(body, analyst=who, question=question, version=version, accepts=accepts, fresh=True)
            assert account.stored(fresh) is None
        assert ledger.head == head
        assert given > 50


def test_a_key_is_for_one_question_about_the_same_rows(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "some.ledger") as ledger:
        account = ledger.account("visits", budget=Budget.pure(9), protects="a row added or removed")
        account.declare_vintage("jan")
        account.declare_vintage("feb")
        made = account.reserve(asked("a", key="k", question="q", vintages=("jan",)))
        assert isinstance(made, Reservation)
        account.settle(made, "7")
        again = account.reserve(asked("a", key="k", question="q", vintages=("jan",)))
        assert isinstance(again, StoredAnswer)
        for other in (
            asked("b", key="k", question="q", vintages=("jan",)),
            asked("a", key="k", question="r", vintages=("jan",)),
            asked("a", key="k", vintages=("jan",)),
            asked("a", key="k", question="q", vintages=("feb",)),
            asked("a", key="k", question="q"),
        ):
            with pytest.raises(RequestConflict):
                account.reserve(other)
        # Rows of another month have other answers.
        assert isinstance(account.reserve(asked("a", question="q", vintages=("feb",))), Reservation)
