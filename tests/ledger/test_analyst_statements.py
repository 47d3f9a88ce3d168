"""What each analyst asked and was charged, added up from the record."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from dovetail.errors import InvalidParameter
from dovetail.ledger import Ledger
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked

OLD = Path(__file__).parents[1] / "data" / "version1.ledger.gz"


def test_every_analyst_has_a_statement_for_every_dataset(ledger: Ledger) -> None:
    visits = ledger.account("visits", budget=Budget.pure(1))
    stays = ledger.account("stays", budget=Budget.pure(1))
    for name in ("bea", "cid"):
        ledger.people.add(name)
    ledger.people.grant("bea", "visits", Budget.pure("0.3"))
    ledger.people.grant("cid", "visits", Budget.pure("0.2"))
    first = visits.reserve(asked("one", analyst="bea"))
    assert isinstance(first, Reservation)
    visits.settle(first, "7")
    second = visits.reserve(asked("two", analyst="bea"))
    assert isinstance(second, Reservation)
    visits.fail(second, "stopped")
    plan = visits.open_plan("design", TENTH.times(3), 2, "ann")
    visits.reserve(asked("three", plan=plan.id))
    stays.reserve(asked("four", analyst="bea"))
    found = {(each.dataset, each.analyst): each for each in ledger.statements()}
    assert list(found) == [("stays", "bea"), ("visits", "ann"), ("visits", "bea"), ("visits", "cid")]
    bea = found["visits", "bea"]
    assert (bea.answered, bea.failed, bea.unanswered, bea.plans) == (1, 1, 0, 0)
    assert bea.charged == TENTH.times(2)
    assert str(bea.remaining) == "epsilon 0.1"
    ann = found["visits", "ann"]
    assert (ann.unanswered, ann.plans, ann.charged, ann.remaining) == (1, 1, TENTH.times(3), None)
    cid = found["visits", "cid"]
    assert (cid.charged, cid.latest, cid.allotment) == (Charge.zero(), "", Budget.pure("0.2"))
    # All that was charged is on somebody's statement.
    total = sum((each.charged for each in ledger.statements("visits")), Charge.zero())
    assert total == visits.spent()
    with pytest.raises(InvalidParameter, match="a dataset of this ledger"):
        ledger.statements("nothing")


def test_a_migrated_ledger_has_statements_too(tmp_path: Path) -> None:
    place = tmp_path / "old.ledger"
    place.write_bytes(gzip.decompress(OLD.read_bytes()))
    Ledger.migrate(place)
    with Ledger.open(place) as ledger:
        found = ledger.statements()
        for name in {each.dataset for each in found}:
            total = sum((each.charged for each in found if each.dataset == name), Charge.zero())
            assert total == ledger.account(name).spent()
