"""Keys: shown once, told apart by nothing but their bits, and over when they are over."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dovetail.errors import AccessRefused, InvalidParameter
from dovetail.ledger import Ledger, keys


def test_a_key_says_whose_it_is_and_is_kept_nowhere(ledger: Ledger, location: str) -> None:
    ledger.people.add("ann", "curator", address="ann@example.org")
    key = ledger.people.make_key("ann")
    assert key.text is not None
    assert re.fullmatch(keys._FORM, key.text)
    found = ledger.people.whose(key.text)
    assert ledger.people.bearer(key.text) == (found, set())
    assert (found.name, found.role, found.address) == ("ann", "curator", "ann@example.org")
    secret = key.text.split("_")[2]
    assert secret not in repr(key)
    assert secret not in repr(ledger.people.keys())
    for kind in ("json", "csv"):
        assert secret not in ledger.export(kind)
    if "://" not in location:
        assert secret.encode() not in Path(location).read_bytes()
    ledger.verify()


def test_two_keys_have_nothing_in_common(ledger: Ledger) -> None:
    ledger.people.add("ann")
    made = [ledger.people.make_key("ann") for _ in range(3)]
    assert len({str(key.text)[15:-7] for key in made}) == 3
    assert len({key.public for key in made}) == 3


@pytest.mark.parametrize(
    "slip", ["cut", "one letter", "upper case", "a space", "nothing", "other form", 7, None]
)
def test_a_mistyped_key_is_told_by_its_checksum(ledger: Ledger, slip: object) -> None:
    ledger.people.add("ann")
    text = str(ledger.people.make_key("ann").text)
    other = "b" if text[20] != "b" else "c"
    wrong = {
        "cut": text[:-1],
        "one letter": text[:20] + other + text[21:],
        "upper case": text.upper(),
        "a space": text + " ",
        "nothing": "",
        "other form": "Bearer x",
    }.get(slip, slip)  # type: ignore[arg-type]
    with pytest.raises(AccessRefused, match="mistyped or cut"):
        ledger.people.whose(wrong)  # type: ignore[arg-type]


def test_every_refused_key_is_refused_in_the_same_words(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key of another ledger, a revoked one, an expired one, and a right id with wrong bits."""
    ledger.people.add("ann")
    live, revoked = ledger.people.make_key("ann"), ledger.people.make_key("ann")
    ledger.people.revoke_key(revoked.public)
    short = ledger.people.make_key("ann", expires=datetime.now(UTC) + timedelta(hours=1))
    assert ledger.people.whose(short.text).name == "ann"
    with Ledger.create(tmp_path / "other.ledger") as other:
        other.people.add("ann")
        foreign = other.people.make_key("ann")
    body = f"dvt_{live.public}_{str(foreign.text).split('_')[2][:-7]}"
    forged = body + keys._checksum(body)
    monkeypatch.setattr(keys.chain, "now", lambda: datetime.now(UTC) + timedelta(hours=2))
    said = set()
    for text in (foreign.text, revoked.text, short.text, forged):
        with pytest.raises(AccessRefused) as refused:
            ledger.people.whose(text)
        said.add(str(refused.value))
    assert len(said) == 1
    assert ledger.people.whose(live.text).name == "ann"


def test_a_revocation_holds_at_the_next_request_of_every_process(ledger: Ledger, location: str) -> None:
    ledger.people.add("ann")
    key = ledger.people.make_key("ann")
    with Ledger.open(location) as worker:
        assert worker.people.whose(key.text).name == "ann"
        ledger.people.revoke_key(key.public)
        with pytest.raises(AccessRefused):
            worker.people.whose(key.text)
    ledger.people.revoke_key(key.public)  # once more does no harm
    ledger.verify()


def test_an_expiry_needs_a_time_zone(ledger: Ledger) -> None:
    ledger.people.add("ann")
    with pytest.raises(InvalidParameter, match="with its zone"):
        ledger.people.make_key("ann", expires=datetime(2030, 1, 1))
    for past in (datetime(2020, 1, 1, tzinfo=UTC), datetime.now(UTC)):
        with pytest.raises(InvalidParameter, match="a time in the future"):
            ledger.people.make_key("ann", expires=past)
    assert ledger.people.keys() == []
    with pytest.raises(InvalidParameter, match="somebody this ledger knows"):
        ledger.people.make_key("eve")


def test_the_public_part_of_a_key_is_fifty_random_bits(ledger: Ledger) -> None:
    """Ten letters of five bits: also the last one is any of 32, and eight would be seen once in 4^300."""
    ledger.people.add("ann")
    made = [ledger.people.make_key("ann").public for _ in range(150)]
    assert {len(public) for public in made} == {10}
    for place in range(10):
        assert len({public[place] for public in made}) > 16


def test_a_code_that_works_once_was_made_to_end_soon(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    now, quarter = datetime.now(UTC), timedelta(minutes=15)
    monkeypatch.setattr(keys.chain, "now", lambda: now)
    ledger.people.add("ann")
    for lasts, works in ((quarter, True), (quarter + timedelta(seconds=1), False), (None, False)):
        key = ledger.people.make_key("ann", expires=None if lasts is None else now + lasts)
        if works:
            assert ledger.people.use_up(str(key.text), quarter).name == "ann"
        with pytest.raises(AccessRefused, match="not valid" if works else "not a code"):
            ledger.people.use_up(str(key.text), quarter)
        # What is refused goes on being a key.
        assert (key.public in [each.public for each in ledger.people.keys("ann") if each.revoked]) is works
    ledger.verify()


def test_a_key_is_over_at_the_moment_that_it_names(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    now, moment = datetime.now(UTC), timedelta(microseconds=1)
    monkeypatch.setattr(keys.chain, "now", lambda: now)
    ledger.people.add("ann")
    with pytest.raises(InvalidParameter, match="in the future"):
        ledger.people.make_key("ann", expires=now)
    key = ledger.people.make_key("ann", expires=now + moment)
    assert ledger.people.whose(key.text).name == "ann"
    monkeypatch.setattr(keys.chain, "now", lambda: now + moment)
    with pytest.raises(AccessRefused):
        ledger.people.whose(key.text)


def test_a_key_is_revoked_by_its_public_part_and_shown_as_such(ledger: Ledger) -> None:
    ledger.people.add("ann")
    key = ledger.people.make_key("ann")
    assert not key.revoked
    holder, held = ledger.people.holder(key.public)
    assert (holder.name, held.id, held.public, held.revoked, held.text) == (
        "ann",
        key.id,
        key.public,
        False,
        None,
    )
    with pytest.raises(InvalidParameter, match="the id of a key of this ledger"):
        ledger.people.revoke_key("nothing")
    ledger.people.revoke_key(key.public)
    (listed,) = ledger.people.keys()
    assert listed.revoked
    with pytest.raises(AccessRefused):
        ledger.people.holder(key.public)
    assert repr(listed).endswith(", revoked>")


def test_the_keys_of_one_are_not_those_of_another(ledger: Ledger) -> None:
    made = {}
    for name in ("ann", "bob"):
        ledger.people.add(name)
        made[name] = ledger.people.make_key(name).public
    everybody, (of_bob,) = ledger.people.keys(), ledger.people.keys("bob")
    assert [each.public for each in everybody] == list(made.values())
    assert of_bob.public == made["bob"]
