"""Events that do not follow from those before them: `verify` finds each, though its chain of hashes is whole.

Whoever can write the file can compute hashes. A forged event takes the place of the next one here, so nothing
but the replay stands against it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dovetail.errors import LedgerCorrupt
from dovetail.ledger import Ledger
from dovetail.ledger.replay import Replay
from dovetail.ledger.schema import events
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked

Events = list[tuple[Any, ...]]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Events:
    """Return the events of a ledger in which everything happens."""
    place = tmp_path_factory.mktemp("replay") / "all.ledger"
    with Ledger.create(place) as ledger:
        people = ledger.people
        for name in ("ann", "bob"):
            people.add(name)
        people.make_key("ann")
        one: Any = {"budget": Budget.pure(1), "protects": "a row added or removed"}
        first = ledger.account("first", source="/a.csv", **one)
        ledger.account("second", source="/b.csv", **one)
        first.declare_disjoint()
        first.declare_vintage("jan", complete=True)
        first.declare_vintage("feb")
        for name in ("ann", "bob"):
            people.grant(name, "first", Budget.pure("0.5"))
        people.grant("ann", "second", Budget.pure("0.5"))
        jan = {"vintages": ("jan",)}
        given = first.reserve(asked("one", TENTH, **jan))
        assert isinstance(given, Reservation)
        first.settle(given, "noised")
        plan = first.about("jan").open_plan("design", TENTH, 2, "ann")
        first.reserve(asked("two", Charge.zero(), plan=plan.id, **jan))
    return recorded(place)


def recorded(place: Path) -> Events:
    with Ledger.open(place) as ledger, ledger._store.reading() as connection:
        return [tuple(row) for row in connection.execute(select(events).order_by(events.c.sequence))]


@pytest.fixture(scope="module")
def fired(tmp_path_factory: pytest.TempPathFactory) -> Events:
    """Return the events of two runs: the first has used all its updates, the other holds one of two."""
    place = tmp_path_factory.mktemp("replay") / "runs.ledger"
    with Ledger.create(place) as ledger:
        account = ledger.account("data", budget=Budget.pure(1))
        for name, fires in (("ann", 2), ("bob", 0)):
            run = account.open_run("curve", TENTH, 2, name, (41, -17))
            made = account.reserve(asked(name, analyst=name, plan=run.id, hold=True))
            assert isinstance(made, Reservation)
            for _ in range(fires):
                account.fire(made, "7")
    return recorded(place)


class Told:
    """The events of a kind, with their contents."""

    def __init__(self, honest: Events) -> None:
        self.honest = honest

    def of(self, kind: str, place: int = -1) -> tuple[int, int, dict[str, Any]]:
        sequence, _, _, dataset, content, _ = [row for row in self.honest if row[2] == kind][place]
        return sequence, dataset, json.loads(content)


def forged(honest: Events) -> Iterator[tuple[str, str, int, dict[str, Any]]]:
    """Yield what is wrong with an event, its kind, its dataset and its content."""
    told = Told(honest)
    next_ = honest[-1][0] + 1
    (first, _, made), (second, _, _) = told.of("dataset", 0), told.of("dataset", 1)
    jan, _, vintage = told.of("vintage", 0)
    ann, _, _ = told.of("principal", 0)
    bob, _, _ = told.of("principal", 1)
    key, _, _ = told.of("key")
    grant, _, allotted = told.of("grant", 0)
    other, _, _ = told.of("grant", 1)
    _, _, paid = told.of("reservation", 0)
    _, _, planned = told.of("reservation", 1)
    open_, _, _ = told.of("reservation", 1)
    closed, _, answered = told.of("answer")
    plan, _, opened = told.of("plan")
    yield "a dataset with another number", "dataset", first, made | {"name": "third"}
    yield "a name of nothing", "name", 999, {"name": "third"}
    yield "a name that is taken", "name", second, {"name": "first"}
    yield "another's name", "rename", second, {"name": "first"}
    yield "a source of nothing", "source", 999, {"source": "/c.csv"}
    yield "another protection after a charge", "protects", first, {"protects": "nobody"}
    yield "a description of nothing", "description", 999, {"said": "{}"}
    yield "a description that is no text", "description", first, {"said": 7}
    yield "a month complete twice", "complete", first, {"vintage": jan}
    yield "another's month complete", "complete", second, {"vintage": jan + 1}
    yield "disjoint twice", "disjoint", first, {}
    yield "a version of another's month", "version", second, {"vintage": jan, "version": "2"}
    yield "a key of nobody", "key", 0, {"public": "x", "principal": 999, "sha256": "", "expires": None}
    yield "a grant to nobody", "grant", first, allotted | {"grant": next_, "principal": 999}
    yield "another's grant taken over", "grant", first, allotted | {"principal": bob}
    yield "a grant of another dataset", "grant", second, allotted
    yield "a grant revoked elsewhere", "revoked grant", second, {"grant": grant}
    yield "somebody unknown who asks", "reservation", first, paid | {"by": 999}
    yield "somebody unknown who uses a plan", "reservation", first, planned | {"by": 999}
    yield "a charge that is borne elsewhere", "reservation", second, paid
    yield (
        "a charge to another's allotment",
        "reservation",
        first,
        paid | {"on": [[subject if subject == first else other, month] for subject, month in paid["on"]]},
    )
    yield "more slots than are left", "reservation", first, planned | {"slots": 2}
    yield "no slot", "reservation", first, planned | {"slots": 0}
    yield "slots given back", "reservation", first, planned | {"slots": -1}
    yield "another dataset's plan", "reservation", second, planned
    yield "an attempt left out", "attempt", first, {"request": open_, "attempt": 3, "until": ""}
    yield "an attempt elsewhere", "attempt", second, {"request": open_, "attempt": 2, "until": ""}
    yield "a firing without a hold", "firing", first, {"request": open_, "attempt": 1, "more": False}
    yield "answered twice", "answer", first, answered
    yield "answered elsewhere", "answer", second, answered | {"request": open_}
    yield "failed after an answer", "failure", first, {"request": answered["request"]}
    yield "a migration to nowhere", "migration", 0, {"from": 2, "to": 3, "named": {}}
    assert (ann, key, plan, closed, vintage["label"], opened["slots"]) == (ann, key, plan, closed, "jan", 2)


def followed(listed: Events) -> Replay:
    replay = Replay()
    for row in listed:
        replay.follow([row])
    return replay


def follows(listed: Events) -> bool:
    try:
        followed(listed)
    except LedgerCorrupt:
        return False
    return True


def test_what_happened_follows(honest: Events) -> None:
    replay = followed(honest)
    assert len(replay.requests) == 2
    assert [row[9] for row in replay.plans.values()] == [1]


def test_no_forged_event_follows(honest: Events) -> None:
    last = honest[-1]
    for wrong, kind, dataset, content in forged(honest):
        row = (last[0] + 1, last[1], kind, dataset, json.dumps(content, separators=(",", ":")), "0" * 64)
        assert not follows([*honest, row]), wrong


def test_a_key_or_a_grant_is_revoked_once(honest: Events) -> None:
    told = Told(honest)
    (key, _, _), (grant, first, _) = told.of("key"), told.of("grant", 0)
    for kind, dataset, content in (
        ("revoked key", 0, {"key": key}),
        ("revoked grant", first, {"grant": grant}),
    ):
        rows = [(honest[-1][0] + more, "", kind, dataset, json.dumps(content), "0" * 64) for more in (1, 2)]
        followed([*honest, rows[0]])
        with pytest.raises(LedgerCorrupt, match="does not follow"):
            followed([*honest, *rows])


def test_the_right_events_would_follow(honest: Events) -> None:
    """What is told rightly is accepted, so the rest is refused for what is wrong in it."""
    told = Told(honest)
    open_, first, planned = told.of("reservation", 1)
    _, _, answered = told.of("answer")
    for kind, content in (
        ("reservation", planned | {"slots": 1}),
        ("attempt", {"request": open_, "attempt": 2, "until": ""}),
        ("answer", answered | {"request": open_}),
        ("failure", {"request": open_}),
        ("name", {"name": "third"}),
    ):
        row = (honest[-1][0] + 1, honest[-1][1], kind, first, json.dumps(content, separators=(",", ":")), "")
        followed([*honest, row])


def after(listed: Events, *told: tuple[str, int, dict[str, Any]]) -> Events:
    """Events that go on after others."""
    return [
        *listed,
        *(
            (listed[-1][0] + more, "", kind, dataset, json.dumps(content, separators=(",", ":")), "0" * 64)
            for more, (kind, dataset, content) in enumerate(told, 1)
        ),
    ]


def test_what_is_protected_changes_until_the_first_charge_or_until_months_are_disjoint(
    honest: Events,
) -> None:
    told = Told(honest)
    (first, _, _), (second, _, _) = told.of("dataset", 0), told.of("dataset", 1)
    _, _, paid = told.of("reservation", 0)
    changed = ("protects", second, {"protects": "a row replaced"})
    charged = ("reservation", second, paid | {"on": [[second, 0]], "vintages": ""})
    assert followed(after(honest, changed)).datasets[second]["protects"] == "a row replaced"
    assert not follows(after(honest, charged, changed))
    assert not follows(after(honest, ("disjoint", second, {}), changed))
    unsaid = [
        (*row[:4], row[4].replace('"protects":"a row added or removed",', ""), row[5])
        if row[0] == second
        else row
        for row in honest
    ]
    assert followed(unsaid).datasets[second]["protects"] is None
    assert follows(after(unsaid, charged, changed))
    assert first != second


def test_a_name_comes_back_to_its_own_dataset_alone(honest: Events) -> None:
    told = Told(honest)
    (first, _, _), (second, _, _) = told.of("dataset", 0), told.of("dataset", 1)
    alias, shown = ("name", first, {"name": "eins"}), {"name": "eins"}
    assert followed(after(honest, alias, ("rename", first, shown))).names["eins"][0] == first
    assert not follows(after(honest, alias, ("rename", second, shown)))
    assert not follows(after(honest, ("rename", 999, {"name": "third"})))


def test_attempts_are_counted_and_hold_what_they_held(honest: Events, fired: Events) -> None:
    open_, first, _ = Told(honest).of("reservation", 1)
    again = [("attempt", first, {"request": open_, "attempt": n, "until": f"day {n}"}) for n in (2, 3)]
    assert followed(after(honest, *again)).attempts[open_] == [open_, 3, "day 3", None, 0]
    assert not follows(after(honest, again[0], again[0]))
    (spent, data, _), (held, _, _) = Told(fired).of("reservation", 0), Told(fired).of("reservation", 1)
    run, _, _ = Told(fired).of("plan", 1)
    renewed = [("attempt", data, {"request": each, "attempt": 2, "until": ""}) for each in (spent, held)]
    replay = followed(after(fired, *renewed))
    # Whoever takes over takes another update; where all are used up, none is held.
    assert replay.plans[run][9] == 0
    assert (replay.attempts[spent][4], replay.attempts[held][4]) == (0, 1)


def test_no_forged_firing_follows(fired: Events) -> None:
    told = Told(fired)
    (spent, data, _), (held, _, _) = told.of("reservation", 0), told.of("reservation", 1)
    (over, _, _), (run, _, _) = told.of("plan", 0), told.of("plan", 1)
    firing = {"request": held, "attempt": 1, "more": True, "answer": "7"}
    settled = {"request": held, "answer": "7", "returned": run}
    right = [("firing", firing), ("answer", settled)]
    wrong = [
        ("firing", firing | {"attempt": 2}),
        ("firing", firing | {"more": False}),
        ("firing", firing | {"request": spent}),
        ("firing", firing | {"request": spent, "more": False}),
        ("answer", settled | {"returned": over}),
    ]
    for follow, listed in ((True, right), (False, wrong)):
        for kind, content in listed:
            row = (fired[-1][0] + 1, fired[-1][1], kind, data, json.dumps(content), "0" * 64)
            assert follows([*fired, row]) is follow, content


def test_months_that_were_declared_before_they_were_disjoint_have_balances(tmp_path: Path) -> None:
    """Each dataset's months are its own; `verify` compares every balance."""
    with Ledger.create(tmp_path / "months.ledger") as ledger:
        for name in ("one", "two"):
            account = ledger.account(name, budget=Budget.pure(1), protects="a row added or removed")
            account.declare_vintage("jan", complete=True)
        ledger.account("two").declare_disjoint()
        ledger.verify()
        ledger.account("one").declare_disjoint()
        ledger.verify()


def test_the_same_plan_bought_twice_in_version_1_is_told_apart_by_its_number() -> None:
    """An analyst stood there by name; whoever was named first in an event has its number."""
    budget = json.dumps(Budget.pure(1).to_dict(), separators=(",", ":"))
    charge = json.dumps(TENTH.to_dict(), separators=(",", ":"))
    told = [("dataset", f'{{"name":"one","budget":{budget},"secret_sha256":""}}')] + [
        ("plan", f'{{"analyst":"{name}","body":"{body}","charge":{charge},"slots":{slots}}}')
        for name, body, slots in (
            ("ann", "x", 3),
            ("ann", "x", 3),
            ("ann", "x", 2),
            ("ann", "y", 3),
            ("bob", "x", 3),
            ("ann", "x", 3),
        )
    ]
    replay = followed(
        [(number, "", kind, 1, content, f"{number:064}") for number, (kind, content) in enumerate(told, 1)]
    )
    assert [row[6] for row in replay.plans.values()] == ["", "plan 3", "", "", "", "plan 7"]
    assert [row[4] for row in replay.plans.values()] == [2, 2, 2, 2, 6, 2]
    assert replay.spent(1, 0) == TENTH.times(6)
    assert [row[2] for row in replay.principals.values()] == ["analyst", "analyst"]
