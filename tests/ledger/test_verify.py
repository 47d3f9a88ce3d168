"""Each value of each table is compared with what the events say; nothing but `verify` looks here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, LargeBinary, insert, select, update

from dovetail.errors import LedgerCorrupt
from dovetail.ledger import Ledger, schema
from dovetail.ledger.verify import verify
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Reservation
from ledger_cases import TENTH, asked

# What the events do not tell: answers of requests to the service.
UNTOLD = {"dovetail_replies", "dovetail_events"}
COLUMNS = [
    (table.name, column.name)
    for table in schema.metadata.sorted_tables
    if table.name not in UNTOLD and table.name != "dovetail_ledger"
    for column in table.columns
]


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """Return a ledger that has a row in every table."""
    folder = tmp_path_factory.mktemp("verify")
    with Ledger.create(folder / "all.ledger", witness=folder / "all.witness") as ledger:
        account = ledger.account(
            "one", budget=Budget.pure(1), source="/a.csv", protects="a row added or removed"
        )
        for name in ("ann", "bob"):
            ledger.people.add(name, address=f"{name}@example.org")
            ledger.people.make_key(name)
            ledger.people.grant(name, "one", Budget.pure("0.5"))
        account.declare_vintage("jan")
        account.set_version("3", vintage="jan")
        first = account.reserve(asked("first", key="k"))
        assert isinstance(first, Reservation)
        account.settle(first, "7")
        account.open_plan("design", TENTH, 2, "ann", name="mine")
        run = account.open_run("curve", TENTH, 3, "ann", (41, -17))
        held = account.reserve(asked("held", Charge.zero(), plan=run.id, hold=True))
        assert isinstance(held, Reservation)
        account.fire(held, "7")
        yield ledger


def other(value: Any, binary: bool) -> Any:
    if binary:
        return bytes(value)[:-1] + b"?"
    return value + 1000 if isinstance(value, int) else f"{value}?" if value is not None else "?"


def edited(connection: Connection, table: Any, column: Any) -> None:
    """Change one value of the first row."""
    row = connection.execute(select(table)).mappings().first()
    assert row is not None, table.name
    here = [each == row[each.name] for each in table.primary_key.columns]
    value = other(row[column.name], isinstance(column.type, LargeBinary))
    connection.execute(update(table).where(*here).values({column.name: value}))


@pytest.mark.parametrize(("name", "column"), COLUMNS)
def test_no_value_can_be_changed(book: Ledger, name: str, column: str) -> None:
    table = schema.metadata.tables[name]
    with book._store._own().writer.connect() as connection:
        connection.exec_driver_sql("PRAGMA ignore_check_constraints = ON")
        assert verify(connection) == book.head
        edited(connection, table, table.c[column])
        with pytest.raises((LedgerCorrupt, TypeError, ValueError)):
            verify(connection)
        connection.rollback()
    assert book.verify() == book.head


@pytest.mark.parametrize("name", sorted({name for name, _ in COLUMNS}))
def test_no_row_can_be_removed(book: Ledger, name: str) -> None:
    table = schema.metadata.tables[name]
    with book._store._own().writer.connect() as connection:
        row = connection.execute(select(table)).mappings().first()
        assert row is not None
        connection.execute(
            table.delete().where(*(each == row[each.name] for each in table.primary_key.columns))
        )
        with pytest.raises(LedgerCorrupt):
            verify(connection)
        connection.rollback()


def test_the_head_is_that_of_the_last_event(book: Ledger) -> None:
    table = schema.ledger
    for change in ({"sequence": 3}, {"hash": "0" * 64}, {"witness": 1000}, {"identity": "another"}):
        with book._store._own().writer.connect() as connection:
            connection.execute(update(table).values(change))
            with pytest.raises(LedgerCorrupt):
                verify(connection)
            connection.rollback()


def test_no_more_is_spent_than_allowed(book: Ledger) -> None:
    """Also where rows and events agree: a limit that was passed was passed by whoever wrote both."""
    from dovetail.ledger import verify as module

    with book.reading() as connection:
        identity = connection.execute(select(schema.ledger.c.identity)).scalar_one()
        replay, _ = module.replayed(connection, identity)
        subject = next(iter(replay.limits))
        expected = module.expected_rows(replay)
        replay.limits[subject] = Budget.pure("0.01")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "expected_rows", lambda _: expected)
            patch.setattr(module, "_compare_secrets", lambda *_: None)
            with pytest.raises(LedgerCorrupt, match="more than its limit"):
                module.compare(connection, replay)


def test_a_long_record_is_read_page_by_page(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    from dovetail.ledger import verify as module

    whole = book.verify()
    for size in (1, 3, whole.sequence - 1, whole.sequence, whole.sequence + 1):
        monkeypatch.setattr(module, "_PAGE", size)
        assert book.verify() == whole


def test_events_are_links_of_one_chain(book: Ledger) -> None:
    table = schema.events
    for change in ({"content": "{}"}, {"at": "2020-01-01T00:00:00+00:00"}, {"kind": "name"}, {"dataset": 99}):
        with book._store._own().writer.connect() as connection:
            connection.execute(update(table).where(table.c.sequence == 4).values(change))
            with pytest.raises(LedgerCorrupt, match="breaks at event 4"):
                verify(connection)
            connection.rollback()
    with book._store._own().writer.connect() as connection:
        last = connection.execute(select(table).order_by(table.c.sequence.desc())).mappings().first()
        assert last is not None
        connection.execute(insert(table).values(**(dict(last) | {"sequence": last["sequence"] + 2})))
        with pytest.raises(LedgerCorrupt, match="breaks"):
            verify(connection)
        connection.rollback()
