"""Servers that forget, processes that fork, disks that fill."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from sqlalchemy import Connection, QueuePool, create_engine

from dovetail import postgresql
from dovetail.errors import InvalidParameter, LedgerBusy, LedgerError
from dovetail.ledger import Ledger
from dovetail.ledger import verify as verification
from dovetail.ledger.failures import translated
from dovetail.ledger.replay import Replay
from dovetail.privacy import Budget, Charge
from dovetail.service.problems import status_of
from ledger_cases import TENTH, asked


@pytest.fixture
def server_setting(postgres_server: str) -> Iterator[object]:
    """Change a setting of the whole server for one test."""

    def reload(statement: str) -> None:
        with psycopg.connect(postgres_server, autocommit=True) as connection:
            connection.execute(statement)
            connection.execute("SELECT pg_reload_conf()")

    yield lambda name: reload(f"ALTER SYSTEM SET {name} = off")
    reload("ALTER SYSTEM RESET ALL")


@pytest.mark.parametrize("name", ["fsync", "full_page_writes", "synchronous_commit"])
def test_a_server_that_may_forget_is_refused(
    postgres_url: str, postgres_server: str, server_setting: object, name: str
) -> None:
    server_setting(name)  # type: ignore[operator]
    for _ in range(100):  # the server reloads in its own time
        with psycopg.connect(postgres_server) as connection:
            if connection.execute(f"SHOW {name}").fetchone() == ("off",):
                break
    with pytest.raises(LedgerError, match=f"{name} off"):
        Ledger.create(postgres_url)


def test_a_held_ledger_is_busy_after_patience_and_nothing_is_spent(location: str) -> None:
    with Ledger.create(location) as ledger, Ledger.open(location, patience=0.2) as hurried:
        account = ledger.account("visits", budget=Budget.pure(1))
        waiting = hurried.account("visits")
        with ledger._store.writing(), pytest.raises(LedgerBusy, match="try again"):
            waiting.reserve(asked())
        assert account.spent() == Charge.zero()
        waiting.reserve(asked())
        assert account.spent() == TENTH


def test_a_ledger_whose_connections_are_all_in_use_is_busy(tmp_path: Path) -> None:
    """Many threads wait for one of a few connections; who waits too long can try again."""
    engine = create_engine(
        f"sqlite:///{tmp_path / 'some.db'}",
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=0.01,
    )
    with (
        engine.connect(),
        pytest.raises(LedgerBusy, match="in use") as refused,
        translated("some"),
        engine.connect(),
    ):
        pass
    assert status_of(refused.value) == 503
    engine.dispose()


def test_a_server_that_accepts_and_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "CONNECT_LIMIT", 2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with pytest.raises(LedgerError, match="did not answer in time"):
            Ledger.open(f"postgresql://ann@127.0.0.1:{port}/clinic", patience=1)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"port": "1"}, "Nothing answers at that host and port"),
        ({"dbname": "nowhere"}, "no database of that name"),
        ({"user": "nobody_here"}, "does not let this user in"),
    ],
)
def test_a_ledger_that_cannot_be_reached_names_the_part(
    postgres_url: str, change: dict[str, str], part: str
) -> None:
    options = psycopg.conninfo.conninfo_to_dict(postgres_url) | {"password": "hunter2"} | change
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in options.items())
    with pytest.raises(LedgerError, match=part) as failed:
        Ledger.open(f"postgresql:///?{query}")
    assert "hunter2" not in str(failed.value)


def test_a_user_without_rights_is_told_so(postgres_url: str) -> None:
    Ledger.create(postgres_url).close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS reader")
        connection.execute("CREATE ROLE reader LOGIN")
    options = psycopg.conninfo.conninfo_to_dict(postgres_url) | {"user": "reader"}
    query = "&".join(f"{name}={quote(str(value), safe='')}" for name, value in options.items())
    try:
        with pytest.raises(LedgerError, match="lacks a right"):
            Ledger.open(f"postgresql:///?{query}")
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP ROLE reader")


def test_a_client_that_freezes_with_the_head_in_its_hands_loses_it(postgres_url: str) -> None:
    with Ledger.create(postgres_url, patience=1) as frozen, Ledger.open(postgres_url, patience=20) as other:
        account = other.account("visits", budget=Budget.pure(1))

        def freeze() -> None:
            with frozen._store.writing() as writer:
                writer.record("name", 1, {"name": "never"})
                # The server ends the frozen client's transaction after half of its patience.
                account.reserve(asked())

        with pytest.raises(LedgerError, match=r"in time|was lost"):
            freeze()
        assert account.spent() == TENTH
        other.verify()


def test_a_long_look_at_a_ledger_is_not_taken_for_a_frozen_client(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.create(postgres_url, patience=0.2) as ledger:
        ledger.account("visits", budget=Budget.pure(1)).reserve(asked())
        thorough = verification.compare

        def slowly(connection: Connection, replay: Replay) -> None:
            time.sleep(0.3)  # longer than a writer may hold the head without a word
            thorough(connection, replay)

        monkeypatch.setattr(verification, "compare", slowly)
        assert ledger.verify() == ledger.head


FORK = """
import os, sys
from dovetail.ledger import Ledger
from dovetail.ledger import verify as verification
from dovetail.ledger.failures import translated
from dovetail.ledger.replay import Replay
from dovetail.privacy import Budget, Charge
from dovetail.service.problems import status_of
from dovetail.release.account import Request

ledger = Ledger.create(sys.argv[1])
account = ledger.account("visits", budget=Budget.pure(1))
step = Charge.approximate("0.01")
account.reserve(Request("before", step, "parent"))
children = []
for child in range(4):
    pid = os.fork()
    if pid == 0:
        for number in range(5):
            account.reserve(Request(f"{child}/{number}", step, "child"))
        os._exit(0)
    children.append(pid)
for number in range(5):
    account.reserve(Request(f"parent/{number}", step, "parent"))
assert all(os.waitpid(pid, 0)[1] == 0 for pid in children)
account.reserve(Request("after", step, "parent"))
assert account.spent() == step.times(27), account.spent()
ledger.verify()
print("fine")
"""


def run(script: str, *arguments: str) -> str:
    """Run a script in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_ledger_survives_fork(location: str) -> None:
    assert run(FORK, location) == "fine\n"


FULL = """
import resource, sys
from pathlib import Path
from dovetail.errors import LedgerError
from dovetail.ledger import Ledger
from dovetail.ledger import verify as verification
from dovetail.ledger.failures import translated
from dovetail.ledger.replay import Replay
from dovetail.privacy import Budget, Charge
from dovetail.service.problems import status_of
from dovetail.release.account import Request

path = Path(sys.argv[1])
ledger = Ledger.create(path)
account = ledger.account("visits", budget=Budget.pure(1))
limit = path.stat().st_size + 8192
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
step, permitted = Charge.approximate("0.001"), 0
try:
    for number in range(1000):
        account.reserve(Request(f"{number}", step, "ann"))
        permitted += 1
    raise SystemExit("the file never grew to its limit")
except LedgerError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
assert account.spent() == step.times(permitted), (account.spent(), permitted)
account.reserve(Request("room again", step, "ann"))
ledger.verify()
"""


def test_a_file_that_cannot_grow_is_an_error_that_spends_nothing(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    said = run(FULL, str(tmp_path / "test.ledger"))
    assert "No answer was given" in said


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_ledger_can_be_read_but_not_spent_from(tmp_path: Path) -> None:
    path = tmp_path / "test.ledger"
    with Ledger.create(path) as ledger:
        ledger.account("visits", budget=Budget.pure(1))
    path.chmod(0o400)
    with Ledger.open(path) as ledger:
        account = ledger.account("visits")
        assert account.spent() == Charge.zero()
        with pytest.raises(LedgerError, match="read-only"):
            account.reserve(asked())


def test_a_process_with_a_thousand_open_files_keeps_its_connection(postgres_url: str) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 1500
    if hard != resource.RLIM_INFINITY and hard < most:
        pytest.skip("this system lets nobody open so many files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    with ExitStack() as open_files:
        open_files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            open_files.enter_context(open(os.devnull))
        with Ledger.create(postgres_url) as ledger:
            account = ledger.account("visits", budget=Budget.pure(1))
            for body in ("one", "two"):
                account.reserve(asked(body))
            assert account.spent() == TENTH.times(2)


@pytest.mark.parametrize(
    "value", [0, -1, float("nan"), float("inf"), True, None, "soon", 1e15, 10**400, 86_401]
)
@pytest.mark.parametrize("name", ["patience", "lease"])
def test_a_time_that_no_database_can_count_is_refused(location: str, name: str, value: object) -> None:
    Ledger.create(location).close()
    with pytest.raises(InvalidParameter, match=name):
        Ledger.open(location, **{name: value})  # type: ignore[arg-type]


def test_the_longest_times_work_in_every_store(location: str) -> None:
    Ledger.create(location).close()
    with Ledger.open(location, patience=86_400, lease=86_400) as ledger:
        ledger.account("visits", budget=Budget.pure(1)).reserve(asked())
