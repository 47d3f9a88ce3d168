"""The whole record as a table and as JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from dovetail.errors import InvalidParameter
from dovetail.ledger import Ledger
from dovetail.ledger.chain import linked, origin
from dovetail.privacy import Budget, Charge
from dovetail.privacy.charge import ORDERS
from ledger_cases import asked, filled


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    ledger = Ledger.create(tmp_path / "some.ledger")
    filled(ledger)
    other = ledger.account("other", budget=Budget.approximate(2, "1e-6"))
    other.reserve(asked("delta", Charge.approximate("0.25", "1e-7"), analyst="bob"))
    return ledger


def test_each_row_of_the_table_has_a_value_for_each_column(book: Ledger) -> None:
    heading, *rows = csv.reader(book.export("csv").splitlines())
    assert heading[:5] == ["sequence", "at", "kind", "dataset", "analyst"]
    assert heading[-1] == "hash"
    assert len(heading) == 5 + 9 + 3 + len(ORDERS) + 1
    assert {len(row) for row in rows} == {len(heading)}
    told = [dict(zip(heading, row, strict=True)) for row in rows]
    assert [int(row["sequence"]) for row in told] == list(range(1, book.head.sequence + 1))
    assert told[-1]["hash"] == book.head.hash
    charged = [row for row in told if row["epsilon"]]
    assert [row["analyst"] for row in charged] == ["ann"] * 4 + ["bob"]
    assert (charged[-1]["epsilon"], charged[-1]["delta"]) == ("0.25", "0.0000001")
    assert charged[0]["renyi_2"]
    assert [row["answer"] for row in told if row["kind"] == "answer"] == ["noised 0", "noised 1", "noised 2"]
    assert {row["renyi_2"] for row in told if row["kind"] == "answer"} == {""}


def test_the_chain_can_be_followed_in_the_json(book: Ledger) -> None:
    told = json.loads(book.export("json"))
    assert told["schema"].startswith("dovetail.ledger/")
    assert told["head"] == str(book.head)
    assert set(told["names"]) == {"visits", "other"}
    link = origin(told["identity"]).hash
    for event in told["events"]:
        parts = (event["sequence"], event["at"], event["kind"], event["dataset"], event["content"])
        link = linked(link, *parts)
        assert event["hash"] == link
    charged = {str(each["sequence"]) for each in told["events"] if '"charge"' in each["content"]}
    assert set(told["charges"]) == charged
    assert [each["epsilon"] for each in told["charges"].values()] == ["0.1"] * 4 + ["0.25"]


def test_a_record_is_exported_in_a_known_form(book: Ledger) -> None:
    with pytest.raises(InvalidParameter, match="format"):
        book.export("xml")
