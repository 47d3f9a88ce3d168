"""A start that fails leaves nothing: no ledger, no dataset on record, no key."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import BudgetMismatch, DataError, DovetailError
from dovetail.ledger import Ledger
from dovetail.privacy import Budget
from dovetail.service.config_file import read_settings
from dovetail.service.server import Start, serve

_AGE = 'schema = "dovetail.schema/1"\n[columns.age]\ntype = "integer"\nlow = 0\nhigh = 10\n'
_BEGIN = '[service]\nledger = "a.ledger"\nport = 0\n'
_GOOD = '[datasets.good]\nsource = "good.csv"\nbudget = { epsilon = "1" }\n'
_BUDGET = 'budget = { epsilon = "1" }\n'
_BAD = {
    "no budget": 'source = "bad.csv"\n',
    "no file": 'source = "nowhere.csv"\n' + _BUDGET,
    "no such column": 'source = "bad.csv"\nschema = "wrong.toml"\n' + _BUDGET,
    "rows without a unit": 'source = "bad.csv"\nmax_rows = 2\n' + _BUDGET,
    "the same rows": 'source = "good.csv"\n' + _BUDGET,
    "a folder with them": 'source = "."\nschema = "good.toml"\n' + _BUDGET,
    "no connection": 'connection = "clinic"\ntable = "t"\n' + _BUDGET,
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("good", "bad"):
        (tmp_path / f"{name}.csv").write_text("age\n1\n2\n3\n")
        (tmp_path / f"{name}.toml").write_text(_AGE)
    (tmp_path / "wrong.toml").write_text(_AGE.replace("columns.age", "columns.height"))
    return tmp_path


@pytest.fixture
def taken() -> Iterator[int]:
    """Return a port at which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        yield int(other.getsockname()[1])


def fails(place: Path, said: str, **over: Any) -> DovetailError:
    """Start a service that cannot start; return why."""
    (place / "service.toml").write_text(said)
    told: list[Start] = []
    with pytest.raises(DovetailError) as refused:
        serve(read_settings(place / "service.toml", **over), told.append)
    assert not told
    return refused.value


def test_a_taken_port_leaves_nothing_behind(place: Path, taken: int) -> None:
    before = sorted(place.iterdir())
    words = ["serve", "good.csv", "--budget", "epsilon=1", "--no-open", "--port", str(taken)]
    command = [sys.executable, "-m", "dovetail", *words]
    refused = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert refused.returncode == 4
    assert "cannot listen" in refused.stderr
    assert "key" not in refused.stdout.lower()
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize("bad", _BAD.values(), ids=_BAD)
def test_one_dataset_that_cannot_be_served_leaves_none_on_record(place: Path, bad: str) -> None:
    fails(place, _BEGIN + _GOOD + "[datasets.bad]\n" + bad)
    assert not (place / "a.ledger").exists()


@pytest.mark.parametrize("bad", _BAD.values(), ids=_BAD)
def test_a_ledger_that_was_there_stays_as_it_was(place: Path, bad: str) -> None:
    with Ledger.create(place / "a.ledger") as ledger:
        ledger.account("older", budget=Budget.pure(1))
        head = ledger.head
    fails(place, _BEGIN + _GOOD + "[datasets.bad]\n" + bad)
    with Ledger.open(place / "a.ledger") as ledger:
        assert ledger.head == head


def test_a_budget_that_differs_from_the_record_is_found_before_another_is_recorded(place: Path) -> None:
    with Ledger.create(place / "a.ledger") as ledger:
        ledger.account("bad", budget=Budget.pure(2))
        head = ledger.head
    bad = 'source = "bad.csv"\n' + _BUDGET
    assert isinstance(fails(place, _BEGIN + _GOOD + "[datasets.bad]\n" + bad), BudgetMismatch)
    with Ledger.open(place / "a.ledger") as ledger:
        assert ledger.head == head


def test_a_name_that_another_dataset_had_is_not_taken_for_it(place: Path) -> None:
    with Ledger.create(place / "a.ledger") as ledger:
        ledger.account("bad", budget=Budget.pure(1), source="elsewhere")
        ledger.rename("bad", "renamed")
        head = ledger.head
    bad = 'source = "bad.csv"\n' + _BUDGET
    assert isinstance(fails(place, _BEGIN + _GOOD + "[datasets.bad]\n" + bad), BudgetMismatch)
    with Ledger.open(place / "a.ledger") as ledger:
        assert ledger.head == head


def test_of_two_services_that_start_at_once_the_second_is_refused_before_it_makes_a_key(
    place: Path,
) -> None:
    from dovetail.service.server import bound_socket

    (place / "service.toml").write_text(_BEGIN + _GOOD)
    with closing(bound_socket(read_settings(place / "service.toml"))) as first:
        assert isinstance(fails(place, _BEGIN + _GOOD, port=first.getsockname()[1]), DataError)
    assert not (place / "a.ledger").exists()


def test_tokens_without_their_library_leave_nothing_behind(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "joserfc", None)
    (place / "service.toml").write_text(
        _BEGIN + _GOOD + '[oidc]\nissuer = "https://id.example"\naudience = "x"\n'
    )
    with pytest.raises(ImportError):
        serve(read_settings(place / "service.toml"), print)
    assert not (place / "a.ledger").exists()
