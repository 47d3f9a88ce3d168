"""What a refusal says outside, and what only the operator is told."""

from __future__ import annotations

import ast
import json
import sqlite3
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import PendingRollbackError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft

from dovetail import errors
from dovetail.errors import LedgerError
from dovetail.ledger import Ledger
from dovetail.ledger.failures import held_by_another, translated
from dovetail.service.logs import Log
from dovetail.service.problems import form

PLACE = "postgresql://keeper@vault.example/clinic"
LEDGER = Path(errors.__file__).parent.parent / "ledger"
# What a message about a ledger would name, if it named where the ledger or its witness is.
PLACES = {"place", "path", "self.place", "self._place", "self.path", "store.place", "target"}


def sqlite_error(name: str) -> sqlite3.Error:
    error = sqlite3.OperationalError("it failed")
    error.sqlite_errorname = name
    return error


FAILURES: list[BaseException] = [
    *map(sqlite_error, ("SQLITE_BUSY", "SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FULL", "SQLITE_ERROR")),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "damaged"),
    NoConnectionLeft("no connection left"),
    PendingRollbackError("lost"),
    SQLAlchemyError("something else"),
]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: getattr(each, "sqlite_errorname", repr(each)))
def test_no_failure_of_the_ledger_tells_where_it_is_kept(failure: BaseException) -> None:
    with pytest.raises(LedgerError) as caught, translated(PLACE):
        raise failure
    assert PLACE in str(caught.value), "whoever runs a command has to know which ledger it is"
    said = form(caught.value, "1")
    assert said["status"] == 503, "the same request may be sent again"
    assert "vault" not in json.dumps(said)
    assert said["fix"], "it says what to do"


def test_a_ledger_that_is_held_says_that_nothing_was_spent() -> None:
    said = form(held_by_another(PLACE), "1")
    assert (said["status"], said["code"]) == (503, "ledger-busy")
    assert "nothing was spent" in said["detail"].lower()


def naming_a_place() -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls that make an error of the ledger with a place in its message, and where they stand."""
    for file in sorted(LEDGER.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.JoinedStr):
                continue
            parts = [part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.FormattedValue)]
            if "Ledger" in ast.unparse(node.func) and {ast.unparse(part) for part in parts} & PLACES:
                yield f"{file.name}:{node.lineno}", node


def test_every_error_that_names_the_place_of_a_ledger_says_so() -> None:
    found = list(naming_a_place())
    assert len(found) > 20
    assert [at for at, call in found if "kept_at" not in {each.arg for each in call.keywords}] == []


@pytest.fixture
def log(house: Any, monkeypatch: pytest.MonkeyPatch) -> StringIO:
    """Return what the service writes to its log."""
    lines = StringIO()
    monkeypatch.setattr(house.app.service, "log", Log(file=lines))
    return lines


def logged(log: StringIO, event: str) -> dict[str, Any]:
    """Return the one line of an event."""
    (line,) = [line for line in map(json.loads, log.getvalue().splitlines()) if line["event"] == event]
    return dict(line)


def test_a_ledger_that_another_process_holds_is_named_neither_outside_nor_in_the_log(
    house: Any, monkeypatch: pytest.MonkeyPatch, log: StringIO
) -> None:
    place = house.settings.ledger
    with Ledger.open(place, patience=0.1) as hurried, Ledger.open(place) as other:
        monkeypatch.setattr(house.app.service, "ledger", hurried)
        with other._store.writing():
            refused = house.carl.post("/v1/analysts", {"name": "eve"})
    assert (refused.status_code, refused.json()["code"]) == (503, "ledger-busy")
    assert place not in refused.text
    said = logged(log, "ledger")
    assert said["reason"] == "The ledger … is held by another process."
    assert said["request"] == refused.json()["id"]


def test_the_log_says_why_a_service_is_not_ready(house: Any, log: StringIO) -> None:
    house.ledger.close()
    Path(house.settings.ledger).unlink()
    house.app.service.ready_at = -10.0
    assert house.nobody.get("/readyz").status_code == 503
    assert logged(log, "not ready")["reason"] == "The ledger … is not there any more."
