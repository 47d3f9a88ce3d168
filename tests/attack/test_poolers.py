"""A connection pooler in front of PostgreSQL: data and ledger are as safe as without it, or refused."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

import dovetail as dv
from connection_pooler import MODES, Pooler, pooled
from dovetail.errors import DataError, DovetailError, LedgerError, LedgerUnavailable
from dovetail.ledger import Ledger, server_exchange, source_name
from dovetail.ledger.server_exchange import Call, Exchange
from dovetail.privacy import Budget
from dovetail.release.account import Reservation
from ledger_cases import asked
from ledger_sellers import UNIT, sold_by_all
from server_crash import crash, writer

NOISE = dv.Geometric("0.1")
# What a careless client leaves behind on a connection that the pooler lends to us next.
LEFT_BEHIND = {
    "synchronous_commit": "off",
    "statement_timeout": "800ms",
    "lock_timeout": "1ms",
    "search_path": "elsewhere",
    "extra_float_digits": "-15",
    "role": "stranger",
}


@pytest.fixture
def visits(postgres_url: str) -> str:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute(
            "CREATE TABLE visits AS SELECT 'w' || i % 3 AS ward, i AS age, i / 3::float8 AS x "
            "FROM generate_series(1, 900) AS i"
        )
    return postgres_url


@pytest.fixture(params=MODES)
def pooler(request: pytest.FixtureRequest, visits: str) -> Iterator[Pooler]:
    with pooled(visits, request.param) as running:
        yield running


def opened(address: str, ledger: Any, **options: Any) -> dv.Session:
    return dv.Session(address, table="visits", budget=dv.Budget.pure(5), ledger=ledger, **options)


def test_data_and_ledger_work_through_a_pooler(pooler: Pooler, visits: str) -> None:
    with opened(pooler.address, pooler.address) as session:
        for age in range(12):
            session.count(where=f"age > {age}", noise=NOISE)
        answer = session.histogram("ward", keys=["w0", "w1"], noise=NOISE)
    with Ledger.open(visits) as ledger:
        ledger.verify()
        entries = [entry for entry in ledger.show().entries if entry.charge]
    assert [entry.state for entry in entries] == ["answered"] * 13
    assert str(answer.remaining) == "epsilon 3.7"


def test_the_last_unit_is_sold_once_through_a_pooler(pooler: Pooler, visits: str) -> None:
    with Ledger.create(pooler.address) as ledger:
        account = ledger.account("visits", budget=Budget.pure("0.03"))
        assert sold_by_all("ledger", pooler.address, processes=3, attempts=20) == 30
        assert account.spent() == UNIT.times(30)
    with Ledger.open(visits) as ledger:
        ledger.verify()


def test_a_pooler_is_no_second_budget(pooler: Pooler, visits: str, tmp_path: Path) -> None:
    place = tmp_path / "a.ledger"
    with opened(visits, place) as session:
        session.count(noise=NOISE)
    with opened(pooler.address, place) as session:
        assert str(session.remaining) == "epsilon 4.9"
    with pytest.warns(dv.ledger.SharedBudget):
        second = opened(pooler.address, place, name="others")
    with second as session:
        session.count(where="age > 3", noise=NOISE)
        assert str(session.remaining) == "epsilon 4.8"
    # Another table of that server, and what the curator keeps apart, have budgets of their own.
    with psycopg.connect(visits, autocommit=True) as server:
        server.execute("CREATE TABLE wards (ward text)")
    with dv.Session(pooler.address, table="wards", budget=dv.Budget.pure(2), ledger=place) as session:
        assert str(session.remaining) == "epsilon 2"
    with Ledger.open(place) as ledger:
        apart = source_name(visits, "visits")
        ledger.account("apart", budget=Budget.pure(3), source=apart, share=False)
    with dv.Session(visits, table="visits", name="apart", ledger=place) as session:
        assert str(session.remaining) == "epsilon 3"


def test_a_pooler_finds_the_ledger_in_the_user_s_folder(pooler: Pooler, visits: str, home: Path) -> None:
    with opened(visits, None) as session:
        session.count(noise=NOISE)
    with pytest.warns(dv.ledger.SharedBudget), opened(pooler.address, None, name="others") as session:
        assert str(session.remaining) == "epsilon 4.9"
    assert len(list(home.glob("*.ledger"))) == 1


def test_a_server_that_does_not_say_which_it_is_can_be_asked(visits: str, tmp_path: Path) -> None:
    name = f"curator_{os.urandom(6).hex()}"
    try:
        with psycopg.connect(visits, autocommit=True) as server:
            server.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
            server.execute(f"CREATE ROLE {name} LOGIN; GRANT SELECT ON visits TO {name}")
        with opened(visits.replace("postgres:@", f"{name}@"), tmp_path / "a.ledger") as session:
            session.count(noise=NOISE)
            assert len(session._opening.identity) == 1
    finally:
        with psycopg.connect(visits, autocommit=True) as server:
            server.execute("GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC")
            server.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_what_other_clients_set_is_neither_used_nor_changed(visits: str) -> None:
    with psycopg.connect(visits, autocommit=True) as server:
        name = f"stranger_{os.urandom(6).hex()}"
        server.execute(
            f"CREATE ROLE {name}; CREATE SCHEMA elsewhere; GRANT ALL ON SCHEMA elsewhere TO {name}"
        )
    left = LEFT_BEHIND | {"role": name}
    # One connection for all: what somebody sets there, all others get.
    with pooled(visits, "transaction", default_pool_size=1) as pooler:
        with psycopg.connect(pooler.address, autocommit=True) as careless:
            careless.execute("; ".join(f"SET {name} = '{value}'" for name, value in left.items()).encode())
            with opened(pooler.address, pooler.address) as session:
                session.count(noise=NOISE)
                session.count(where="x > 5", noise=NOISE)
                assert session._engine._limit == 600_000  # type: ignore[attr-defined]
                session._ledger.verify()
            kept = [careless.execute(f"SHOW {name}").fetchone() for name in left]  # type: ignore[arg-type]
        assert [value for (value,) in filter(None, kept)] == list(left.values())
    with psycopg.connect(visits, autocommit=True) as server:
        row = server.execute("SELECT count(*) FROM public.dovetail_ledger").fetchone()
        server.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")
    assert row == (1,)


def test_a_charge_is_on_disk_whatever_other_clients_set(visits: str) -> None:
    with pooled(visits, "transaction", default_pool_size=1) as pooler:
        with Ledger.create(pooler.address) as ledger:
            account = ledger.account("visits", budget=Budget.pure(1))
            with psycopg.connect(pooler.address, autocommit=True) as careless:
                careless.execute("SET synchronous_commit = off")
            victim = writer(visits)
            os.kill(victim, signal.SIGSTOP)
            account.reserve(asked("count", UNIT))
            crash(visits, victim)
        with Ledger.open(visits) as ledger:
            ledger.verify()
            assert ledger.account("visits").spent() == UNIT


def test_no_statement_of_another_process_is_run_by_its_name(
    visits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where a pooler is not noticed: every process counts its statements from nothing."""
    with pooled(visits, "transaction", default_pool_size=2) as pooler:
        drivers = [psycopg.connect(pooler.address) for _ in range(2)]
        for driver in drivers:
            driver.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        exchanges = [Exchange(driver) for driver in drivers]
        calls = [Call(f"SELECT {number}", {}) for number in range(2)]
        for exchange, call in zip(exchanges, calls, strict=True):
            monkeypatch.setattr(server_exchange, "_numbers", count())
            assert exchange.read([call]) == [[(calls.index(call),)]]
        for driver in drivers:
            driver.rollback()
        # Now each is lent the connection that the other one prepared its statement on.
        wrong = 0
        for exchange, driver, call in zip(exchanges, drivers, calls, strict=True):
            try:
                assert exchange.read([call]) == [[(calls.index(call),)]]
            except psycopg.errors.InvalidSqlStatementName:
                wrong += 1
                driver.rollback()
        for driver in drivers:
            driver.close()
    assert wrong


@pytest.mark.parametrize("drops", [False, True], ids=["refused", "dropped"])
def test_options_that_a_pooler_does_not_pass_on_are_refused(visits: str, drops: bool, tmp_path: Path) -> None:
    """Dropped in silence, they would lead to another ledger, or to other rows of a view."""
    settings = {"ignore_startup_parameters": "options"} if drops else {}
    with pooled(visits, "session", **settings) as pooler:
        address = f"{pooler.address}?options=-csearch_path%3Dbudgets"
        with pytest.raises(LedgerUnavailable, match=r"pooler does not pass on the options .* ALTER ROLE"):
            Ledger.create(address)
        with pytest.raises(DataError, match=r"pooler does not pass on the options .* ALTER ROLE"):
            opened(address, tmp_path / "a.ledger")


def test_a_pooler_that_splits_transactions_is_refused(visits: str, tmp_path: Path) -> None:
    with pooled(visits, "statement", default_pool_size=1) as pooler:
        with pytest.raises(LedgerUnavailable, match=r"pool_mode to session or transaction"):
            Ledger.create(pooler.address)
        with pytest.raises(DataError, match=r"pool_mode to session or transaction"):
            opened(pooler.address, tmp_path / "a.ledger")


def test_a_pooler_without_a_connection_left_is_named(visits: str) -> None:
    with (
        pooled(visits, "session", default_pool_size=1, query_wait_timeout=1) as pooler,
        psycopg.connect(pooler.address) as first,
    ):
        first.execute("SELECT 1")
        with pytest.raises(LedgerUnavailable, match="pooler had no connection left"):
            Ledger.create(pooler.address)


def test_a_pooler_killed_during_reservations_loses_nothing_that_was_returned(
    pooler: Pooler, visits: str
) -> None:
    with Ledger.create(visits) as ledger:
        ledger.account("visits", budget=Budget.pure(1000))
    dice, over = random.Random(7), time.monotonic() + 4

    errors: list[DovetailError] = []

    def sell(client: int) -> list[tuple[int, str]]:
        returned: list[tuple[int, str]] = []
        for number in count():
            try:
                with Ledger.open(pooler.address, patience=5) as ledger:
                    account = ledger.account("visits")
                    while time.monotonic() < over:
                        question = f"{client}/{number}/{len(returned)}"
                        made = account.reserve(asked(question, UNIT))
                        assert isinstance(made, Reservation)
                        returned.append((made.id, question))
                        account.settle(made, "{}")
                    return returned
            except DovetailError as error:
                errors.append(error)
                if time.monotonic() > over:
                    return returned

    with ThreadPoolExecutor(3) as pool:
        clients = [pool.submit(sell, number) for number in range(3)]
        while time.monotonic() < over - 1:
            time.sleep(dice.random() * 0.6)
            pooler.kill()
            pooler.start()
        returned = [each for client in clients for each in client.result()]
    with Ledger.open(visits) as ledger:
        ledger.verify()
        charged = {entry.sequence: entry.body for entry in ledger.show().entries if entry.charge}
        assert ledger.account("visits").spent() == UNIT.times(len(charged))
    assert len(returned) > 10
    assert not [error for error in errors if not isinstance(error, LedgerError) or "failed (" in str(error)]
    assert set(returned) <= set(charged.items())
