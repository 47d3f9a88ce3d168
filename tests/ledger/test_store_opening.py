"""What a ledger is opened with: times that databases can count, and a witness or a head that was noted."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from dovetail.errors import InvalidParameter
from dovetail.ledger.chain import Head
from dovetail.ledger.store_opening import prepared_store, seconds


@pytest.mark.parametrize("value", [0, -1, "0", 86_401, float("nan"), "soon", None, True])
def test_a_time_is_above_nothing_and_at_most_a_day(value: object) -> None:
    with pytest.raises(InvalidParameter, match="lease"):
        seconds("lease", value)


def test_a_time_may_be_a_day_or_a_moment() -> None:
    assert [seconds("lease", value) for value in (86_400, "0.001", 1)] == [86_400.0, 0.001, 1.0]


def test_a_witness_is_a_file_or_a_head(tmp_path: Path) -> None:
    head, file = Head(3, "ab" * 32), tmp_path / "witness"
    for witness, noted, path in (
        (None, None, None),
        (head, head, None),
        (str(head), head, None),
        (str(file), None, file),
        (file, None, file),
    ):
        store, found = prepared_store(tmp_path / "some.ledger", witness, 2, 7)
        assert found == noted
        assert (None if store.given is None else store.given.path) == path
        assert (store._patience, store.lease, store.copy) == (2.0, timedelta(seconds=7), False)
        store.close()
