"""One run that two processes have open: what one told, the other gives again and learns from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.errors import LedgerUnavailable
from dovetail.ledger import DatasetAccount

SCHEMA = dv.Schema(
    [dv.Column("sex", "text", values=["f", "m"]), dv.Column("level", "integer", values=[1, 2])]
)
TABLE = pyarrow.table({"sex": ["f"] * 300 + ["m"] * 100, "level": [1] * 250 + [2] * 150})
GUARDED: dict[str, Any] = {"queries": 20, "base": None, "updates": 8, "ways": 2}


def opened(place: Path) -> dv.Session:
    return dv.Session(TABLE, name="people", schema=SCHEMA, budget=dv.Budget.pure(6), ledger=place)


def test_what_another_process_told_is_given_again_and_called_stored(tmp_path: Path) -> None:
    place = tmp_path / "people.ledger"
    with opened(place) as one, opened(place) as other:
        first = one.online("sex", "level", **GUARDED)
        second = other.online("sex", "level", **GUARDED)
        assert first.plan.id == second.plan.id
        batch = [dv.Count("sex = 'f'"), dv.Count("level = 1")]
        told = first.batch(batch)
        again = second.batch(batch)
        assert [each.value for each in again] == [each.value for each in told]
        assert [each.stored for each in told] == [False, False]
        assert [each.stored for each in again] == [True, True]
        assert [each.answered_at for each in again] == [each.answered_at for each in told]


@pytest.mark.parametrize("persons", [None, 3])
def test_a_run_is_measured_as_it_was_designed(tmp_path: Path, persons: int | None) -> None:
    """Rows of persons widen the noise of a base; without persons, a neighbour is one row."""
    unit: dict[str, Any] = {} if persons is None else {"unit": "level", "max_rows": persons}
    with dv.Session(
        TABLE, name="people", schema=SCHEMA, budget=dv.Budget.pure(6), ledger=tmp_path / "x.ledger", **unit
    ) as session:
        wanted: dict[str, Any] = {"queries": 20, "base": 1, "updates": 0, "ways": 1}
        quote = session.quote_online("sex", **wanted)
        run = session.online("sex", **wanted)
        assert run.plan.rows == quote.rows == (persons or 1)
        assert run.plan.strategy is not None
        assert quote.strategy is not None
        assert run.plan.strategy.noises == quote.strategy.noises


def test_an_answer_that_was_stored_though_nobody_heard_of_it_is_given_when_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply to the commit was lost: this process does not know what it told."""
    with opened(tmp_path / "people.ledger") as session:
        run = session.online("sex", "level", **GUARDED)
        settle = DatasetAccount.settle
        told: list[str] = []

        def lost(account: DatasetAccount, reservation: Any, answer: str) -> Any:
            told.append(answer)
            settle(account, reservation, answer)
            raise LedgerUnavailable("the reply was lost")

        with monkeypatch.context() as patch:
            patch.setattr(DatasetAccount, "settle", lost)
            with pytest.raises(LedgerUnavailable):
                run.count("sex = 'f'")
        again = run.count("sex = 'f'")
        assert again.stored
        assert json.loads(told[0])["answers"][0][0][0] == again.value
        assert run.count("sex = 'f'").value == again.value
