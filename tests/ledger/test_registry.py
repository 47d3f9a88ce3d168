"""Which budget pays for which rows: of known places, of parts of them and of several at once."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from dovetail.engines.identity import _SERVER
from dovetail.errors import BudgetMismatch, InvalidParameter, LedgerError
from dovetail.ledger import Ledger, SharedBudget
from dovetail.ledger.schema import events, names
from dovetail.privacy import Budget
from ledger_cases import asked

ONE = Budget.pure(1)
SERVER = "postgresql://host/clinic#visits"


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Ledger]:
    """A folder, a file elsewhere and a table, each with a budget of its own."""
    with Ledger.create(tmp_path / "some.ledger") as ledger:
        ledger.account("folder", budget=ONE, source="/data")
        ledger.account("file", budget=ONE, source="/other/file.csv")
        ledger.account("table", budget=ONE, source=SERVER)
        yield ledger


def recorded(ledger: Ledger, after: int) -> list[tuple[str, int, Any]]:
    """What was recorded after an event, without the hashes."""
    query = select(events).where(events.c.sequence > after).order_by(events.c.sequence)
    with ledger.reading() as connection:
        rows = [(row.kind, row.dataset, json.loads(row.content)) for row in connection.execute(query)]
    hidden = ("secret_sha256", "state")
    return [(kind, of, {k: v for k, v in told.items() if k not in hidden}) for kind, of, told in rows]


@pytest.mark.parametrize(
    ("name", "source", "share", "pays"),
    [
        ("folder", "/data", None, "folder"),
        ("folder", "/data/x.csv", None, "folder"),
        ("folder", "/new", None, "folder"),
        ("file", "/other/file.csv", None, "file"),
        ("new", "/data", True, "folder"),
        ("new", "/data/x.csv", True, "folder"),
        ("new", "/other", True, "file"),
        ("new", ["/other/file.csv", "/linked.csv"], True, "file"),
        ("new", "/new", None, "new"),
        ("new", "/data", False, "new"),
        ("file", "/data", False, "file"),
        # Parts of two, and the whole of another's.
        ("new", ["/data/x.csv", "/other"], None, None),
        ("file", "/data/x.csv", None, None),
        ("file", "/data", True, None),
        ("folder", "/other", None, None),
    ],
)
def test_rows_are_charged_where_they_were_charged_before(
    book: Ledger, name: str, source: Any, share: bool | None, pays: str | None
) -> None:
    head = book.head
    if pays is None:
        with pytest.raises(BudgetMismatch):
            book.account(name, budget=ONE, source=source, share=share)
        assert book.head == head
        return
    account = book.account(name, budget=ONE, source=source, share=share)
    assert account._dataset == book.catalogue.number(pays)
    at = {source} if isinstance(source, str) else set(source)
    assert at <= set(book.sources()[name])
    book.verify()


def test_only_what_is_new_is_recorded(book: Ledger) -> None:
    number, head = book.catalogue.number("folder"), book.head.sequence
    book.account("folder", source="/data")
    assert recorded(book, head) == []
    book.account("folder", source=["/data", "/moved"])
    assert recorded(book, head) == [("source", number, {"source": "/moved"})]
    head = book.head.sequence
    book.account("second", source="/data", share=True)
    assert recorded(book, head) == [("name", number, {"name": "second"})]
    head = book.head.sequence
    book.account("apart", budget=ONE, source="/data", share=False, protects="a row added or removed")
    made = {"name": "apart", "budget": ONE.to_dict(), "protects": "a row added or removed"}
    assert recorded(book, head) == [
        ("dataset", head + 1, made | {"apart_from": [number]}),
        ("source", head + 1, {"source": "/data"}),
    ]
    book.verify()


def test_a_second_name_is_warned_of_unless_it_was_said_to_share(book: Ledger) -> None:
    book.account("second", source="/data", share=True)
    with pytest.warns(SharedBudget, match="'second' is a second name for the source of 'folder'"):
        book.account("second", source="/data")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        book.account("second", source="/data", share=True)
        book.account("folder", source="/data")
    with pytest.raises(LedgerError, match="already shares the budget of 'folder'"):
        book.account("second", share=False)


def test_what_a_server_says_of_itself_is_recorded_where_it_leads_to_nobody_else(book: Ledger) -> None:
    """A server tells the same name under both of its addresses, which were taken for two servers."""
    told, alias = f"{_SERVER}123/clinic#visits", "postgresql://alias/clinic#visits"
    number = book.catalogue.number("table")
    other = book.account("other", budget=ONE, source=alias)._dataset
    assert book.account("table", source=(SERVER, told))._dataset == number
    assert book.sources()["table"] == (SERVER, told)
    with pytest.raises(BudgetMismatch, match="budgets of their own: 'table', 'other'"):
        book.account("other", source=(alias, told))
    assert book.account("other", source=alias)._dataset == other
    assert (
        book.account("third", source=("postgresql://third/clinic#visits", told), share=True)._dataset
        == number
    )


def test_what_is_protected_is_settled_by_the_first_charge(book: Ledger) -> None:
    rows, persons = "a row added or removed", "a person added or removed"
    number = book.catalogue.number("folder")
    head = book.head.sequence
    book.account("folder", protects=rows)
    account = book.account("folder", protects=persons)
    assert recorded(book, head) == [("protects", number, {"protects": each}) for each in (rows, persons)]
    account.reserve(asked())
    head = book.head
    with pytest.raises(BudgetMismatch, match="do not add up"):
        book.account("folder", protects=rows)
    book.account("folder", protects=persons)
    book.account("folder")
    assert book.head == head
    book.account("file", protects=rows).declare_disjoint()
    with pytest.raises(BudgetMismatch, match="do not add up"):
        book.account("file", protects=persons)


def test_a_name_is_shown_as_its_curator_called_it_last(book: Ledger) -> None:
    book.rename("folder", "eins")
    book.rename("folder", "zwei")
    book.rename("folder", "eins")
    number = book.catalogue.number("folder")
    assert book.catalogue.entry("zwei").name == "eins"
    for taken in ("file", "table"):
        with pytest.raises(InvalidParameter, match="no other dataset"):
            book.rename("eins", taken)
    query = select(names.c.name, names.c.dataset).order_by(names.c.shown)
    with book.reading() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    assert [row for row in rows if row[1] == number] == [
        ("folder", number),
        ("zwei", number),
        ("eins", number),
    ]
    with pytest.raises(InvalidParameter, match=r"It holds 'folder', 'file', 'table'"):
        book.show("nowhere")
    book.verify()


def test_policies_change_one_by_one(book: Ledger) -> None:
    head, number = book.head.sequence, book.catalogue.number("file")
    book.set_policy("file", access="granted")
    book.set_policy("file", answers="own")
    book.set_policy("file", access="anyone", answers="own")
    book.set_policy("file")
    said = [(told["answers"], told["access"]) for _, _, told in recorded(book, head)]
    assert said == [("shared", "granted"), ("own", "granted"), ("own", "anyone")]
    assert {of for _, of, _ in recorded(book, head)} == {number}
    for wrong in ({"access": "nobody"}, {"answers": "all"}):
        with pytest.raises(InvalidParameter):
            book.set_policy("file", **wrong)


def test_new_rows_need_a_budget_and_known_ones_have_one(book: Ledger) -> None:
    head = book.head
    for name, source in (("new", "/new"), ("new", None)):
        with pytest.raises(InvalidParameter, match="when the dataset 'new' is first opened"):
            book.account(name, source=source)
    assert book.head == head
    assert book.account("file").budget == book.account("file", source="/other/file.csv").budget == ONE


def test_two_budgets_of_one_table_stay_apart_when_its_server_tells_its_name(book: Ledger) -> None:
    told = f"{_SERVER}123/clinic#visits"
    table = book.catalogue.number("table")
    apart = book.account("apart", budget=ONE, source=SERVER, share=False)._dataset
    assert apart != table
    # What the server says of itself is new, and leads to nobody but those who were known before.
    assert book.account("table", source=(SERVER, told))._dataset == table
    assert book.account("apart", source=(SERVER, told))._dataset == apart
    rows = "a row added or removed"
    assert book.account("apart", source=(SERVER, told), protects=rows)._dataset == apart
    # A third name shares the older one's budget.
    assert book.account("third", source=(SERVER, told), share=True)._dataset == table
    assert book.account("fourth", source=SERVER, share=True)._dataset == table
    book.verify()


def test_another_budget_than_the_one_on_record_is_refused(book: Ledger) -> None:
    head = book.head
    for source in (None, "/other/file.csv", "/moved.csv"):
        with pytest.raises(BudgetMismatch, match="To use the recorded one"):
            book.account("file", budget=Budget.pure(2), source=source)
    assert book.head == head
