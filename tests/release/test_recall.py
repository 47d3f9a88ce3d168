"""Answers that are read back from the record are those that were given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.errors import InvalidQuery
from dovetail.noise import Geometric
from dovetail.release.mechanism import ReleasedCells, write_released
from dovetail.release.recall import asked_of, recalled

TABLE = pyarrow.table({"word": ["a", "b"] * 200, "n": [1, 2] * 200})


def test_found_keys_come_back_with_their_share_of_delta(tmp_path: Path) -> None:
    queries = [dv.Histogram("word", keys="discover"), dv.Histogram("n", keys="discover"), dv.Count()]
    terms: dict[str, Any] = {"protects": "rows", "budget": dv.Budget.approximate(9, "1e-6")}
    with dv.Session(TABLE, name="words", ledger=tmp_path / "a.ledger", **terms) as session:
        quote = session.quote(queries, noise=Geometric(1), delta="1e-8")
        given = session.answer(quote)
        asked = [each.to_dict() for each in quote.asked]
        body = json.dumps({"asked": asked, "neighbours": "add-remove", "source": ""})
        stored = write_released([ReleasedCells(each.cells, each.found) for each in given], given[0].charge)
        standing = session._account.standing()
        again = recalled("words", body, stored, given[0].answered_at, standing, given[0].level)
    assert [each.threshold for each in again] == [each.threshold for each in given]
    assert [each.value for each in again] == [each.value for each in given]
    assert [each.keys for each in again] == [each.keys for each in given]
    assert all(each.stored for each in again)


def test_answers_of_an_online_run_are_not_read_back_one_by_one() -> None:
    nothing: Any = None
    assert asked_of('{"online": 1}') == []
    with pytest.raises(InvalidQuery, match="online run"):
        recalled("words", '{"online": 1}', "{}", nothing, nothing, nothing)
