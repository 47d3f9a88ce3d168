"""Statements that go to a server together: what they see, and what is undone when one fails."""

from __future__ import annotations

from threading import Thread
from time import sleep

import psycopg
import pytest

from dovetail.errors import LedgerCorrupt
from dovetail.ledger import Ledger
from dovetail.ledger.balances import balance, balance_read
from dovetail.ledger.schema import balances
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Request

TENTH = Charge.approximate("0.1")


def test_a_read_behind_the_lock_sees_what_its_last_holder_committed(postgres_url: str) -> None:
    with Ledger.create(postgres_url) as ledger, Ledger.open(postgres_url) as other:
        account = ledger.account("visits", budget=Budget.pure(1))
        found = []

        def wait_for_the_lock() -> None:
            with other._store.writing(expected=lambda: [balance_read(1)]) as writer:
                found.append(balance(writer.connection, 1)["epsilon"])

        waiting = Thread(target=wait_for_the_lock)
        with ledger._store.writing() as writer:
            waiting.start()
            sleep(0.3)  # until the other one waits; if it does not yet, the test is only weaker
            account.reserve_with(writer, Request("{}", TENTH, "ann"))
        waiting.join()
        assert found == [10**8]


def test_what_was_expected_is_not_remembered(account_url: str) -> None:
    with Ledger.open(account_url) as ledger:
        with ledger._store.writing(expected=lambda: [balance_read(1)]):
            pass
        ledger.account("visits").reserve(Request("{}", TENTH, "ann"))
        with ledger._store.writing() as writer:
            assert balance(writer.connection, 1)["epsilon"] == 10**8


def test_a_read_after_a_write_is_not_the_one_that_was_expected(account_url: str) -> None:
    with Ledger.open(account_url) as ledger:

        def write_and_read() -> None:
            with ledger._store.writing(expected=lambda: [balance_read(1)]) as writer:
                row = balance(writer.connection, 1)
                writer.update(balances, row, {"epsilon": 7, "latest": writer.next})
                raise RuntimeError(balance(writer.connection, 1)["epsilon"])

        with pytest.raises(RuntimeError, match="7"):
            write_and_read()


def test_a_row_that_moved_undoes_all_that_was_sent_with_it(account_url: str) -> None:
    with Ledger.open(account_url) as ledger:
        before = ledger.head

        def change_what_moved() -> None:
            with ledger._store.writing() as writer:
                row = balance(writer.connection, 1)
                writer.update(balances, {**row, "latest": row["latest"] + 1}, {"epsilon": 7})
                writer.record("version", 1, {"version": "never"})

        with pytest.raises(LedgerCorrupt, match="moved while it was locked"):
            change_what_moved()
        assert ledger.head == before
        ledger.verify()


def test_a_server_that_was_restarted_is_asked_again(account_url: str) -> None:
    with Ledger.open(account_url) as ledger:
        account = ledger.account("visits")
        account.reserve(Request("{}", TENTH, "ann"))
        with psycopg.connect(account_url, autocommit=True) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )
        account.reserve(Request('{"another": 1}', TENTH, "ann"))
        assert account.spent() == TENTH + TENTH


@pytest.fixture
def account_url(postgres_url: str) -> str:
    """Return a ledger on a server with one budget."""
    with Ledger.create(postgres_url) as ledger:
        ledger.account("visits", budget=Budget.pure(1))
    return postgres_url
