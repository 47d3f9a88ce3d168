"""The same rows under another spelling: one budget, or a refusal that says what to do."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path

import psycopg
import pytest

import dovetail as dv
from dovetail.engines import Source
from dovetail.errors import BudgetMismatch, InvalidParameter, LedgerError
from dovetail.ledger import Ledger, SharedBudget, location

ONE = dv.Budget.pure(1)
COST = dv.Geometric("0.4")

pytestmark = pytest.mark.usefixtures("home")


@pytest.fixture
def months(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "months"
    folder.mkdir(parents=True)
    for name, rows in (("jan", 3), ("feb", 5)):
        (folder / f"{name}.csv").write_text("x\n" + "1\n" * rows)
    return folder


def spend(source: object, **options: object) -> str:
    with dv.Session(source, budget=ONE, **options) as session:  # type: ignore[arg-type]
        session.count(noise=COST)
        return str(session.remaining)


def test_a_file_of_a_folder_shares_the_folder_s_budget(months: Path) -> None:
    assert spend(months) == "epsilon 0.6"
    with pytest.warns(SharedBudget, match="'jan' is a second name for the source of 'months'"):
        assert spend(months / "jan.csv") == "epsilon 0.2"
    assert [place.name for place in months.parent.rglob("*.ledger")] == ["months.ledger"]
    # Another question about other rows, although its text is the same: not the folder's stored answer.
    with (
        pytest.warns(SharedBudget),
        dv.Session(months / "jan.csv") as session,
        pytest.raises(dv.BudgetExceeded),
    ):
        session.count(where="x = '1'", noise=COST)


def test_whoever_says_that_data_are_the_same_is_not_warned_that_they_share(months: Path) -> None:
    """The warning advised a session to give share=True, which it does not take."""
    spend(months)
    with pytest.warns(SharedBudget, match="in a session same_data=True"):
        spend(months / "jan.csv")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for file in ("jan.csv", "feb.csv"):
            dv.Session(months / file, same_data=True).close()


def test_a_folder_around_a_file_with_a_budget_says_what_to_do(months: Path) -> None:
    spend(months / "jan.csv")
    with pytest.raises(
        LedgerError, match=r"jan\.csv\.ledger' already.*Move that ledger to .*months\.ledger'"
    ):
        spend(months)
    (months / "jan.csv.ledger").rename(months.with_name("months.ledger"))
    with pytest.warns(SharedBudget):
        assert spend(months) == "epsilon 0.2"
    with dv.Session(months / "jan.csv") as session:
        assert str(session.remaining) == "epsilon 0.2"
    with pytest.warns(SharedBudget), dv.Session(months / "feb.csv") as session:
        assert str(session.remaining) == "epsilon 0.2"


def test_several_files_with_budgets_are_not_asked_together(months: Path, tmp_path: Path) -> None:
    spend(months / "jan.csv")
    spend(months / "feb.csv", same_data=False)
    with pytest.raises(LedgerError, match=r"several ledgers: .*feb\.csv\.ledger.*jan\.csv\.ledger"):
        spend(months)
    one = tmp_path / "one.ledger"
    spend(months / "jan.csv", ledger=one, same_data=False)
    spend(months / "feb.csv", ledger=one, same_data=False)
    for together in (months, sorted(months.glob("*.csv"))):
        with pytest.raises(BudgetMismatch, match="budgets of their own: 'jan', 'feb'"):
            spend(together, name="both", ledger=one)


def test_a_folder_further_out_and_one_further_in(months: Path) -> None:
    assert spend(months.parent) == "epsilon 0.6"
    with pytest.warns(SharedBudget):
        assert spend(months) == "epsilon 0.2"
    with pytest.warns(SharedBudget), dv.Session(months / "feb.csv") as session:
        assert str(session.remaining) == "epsilon 0.2"


def test_ledgers_in_the_user_s_folder_are_found_too(
    months: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(location.os, "access", lambda *_: False)
    spend(months / "jan.csv")
    assert len(list(home.glob("*.ledger"))) == 1
    with pytest.raises(LedgerError, match="Move that ledger"):
        spend(months)


def test_a_ledger_that_is_there_for_other_data_does_not_count(months: Path) -> None:
    other = months.parent / "other.csv"
    other.write_text("x\n1\n")
    spend(other, ledger=months.with_name("months.ledger"))
    spend(other, ledger=months / "jan.csv.ledger", name="elsewhere")
    assert spend(months / "feb.csv", same_data=False) == "epsilon 0.6"
    assert (months / "feb.csv.ledger").exists()


def test_a_link_in_a_folder_leads_to_one_budget(months: Path) -> None:
    outside = months.parent / "mar.csv"
    outside.write_text("x\n1\n")
    (months / "mar.csv").symlink_to(outside)
    assert spend(outside) == "epsilon 0.6"
    with pytest.warns(SharedBudget):
        assert spend(months) == "epsilon 0.2"


def test_a_list_of_files_has_the_budget_of_its_files(months: Path, tmp_path: Path) -> None:
    files, ledger = sorted(months.glob("*.csv")), tmp_path / "one.ledger"
    with pytest.raises(InvalidParameter, match="ledger=None"):
        spend(files, name="both")
    with pytest.raises(InvalidParameter, match="name=None"):
        spend(files, ledger=ledger)
    with dv.Session(files, name="both", budget=dv.Budget.pure(100), ledger=ledger) as session:
        assert session.count(noise=dv.Geometric(20)).value == 8
    for same in (files[::-1], months, files[0]):
        with pytest.warns(SharedBudget), dv.Session(same, name="x", ledger=ledger) as session:
            assert str(session.remaining) == "epsilon 80"


def test_an_unrelated_neighbour_has_its_own_budget(months: Path) -> None:
    beside = months.with_name("months2")
    beside.mkdir()
    (beside / "jan.csv").write_text("x\n1\n")
    assert spend(months) == spend(beside, same_data=False) == "epsilon 0.6"


def test_spellings_of_a_server_share_one_budget(postgres_url: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE visits (x int); CREATE SCHEMA other; CREATE TABLE other.visits (x int)"
        )
        connection.execute("INSERT INTO visits VALUES (1)")
    ledger = tmp_path / "a.ledger"
    name = postgres_url.rpartition("/test_")[2].partition("?")[0]
    escaped = postgres_url.replace(f"test_{name}", f"%74est_{name}")
    assert escaped != postgres_url
    assert spend(postgres_url, table="visits", name="a", ledger=ledger) == "epsilon 0.6"
    with pytest.warns(SharedBudget):
        assert spend(escaped, table="public.visits", name="b", ledger=ledger) == "epsilon 0.6"
    # The search path of an address does not lead to another table.
    path = postgres_url + "&options=-csearch_path%3Dother"
    with dv.Session(path, table="visits", name="a", budget=ONE, ledger=ledger) as session:
        assert session.count(noise=COST).stored
    with dv.Session(path, table="other.visits", name="c", budget=ONE, ledger=ledger) as session:
        assert str(session.remaining) == "epsilon 1"


def test_what_cannot_be_known_is_said_when_a_budget_begins(
    months: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "dovetail.session"):
        spend(months)
        assert "copies and hard links" in caplog.text
        caplog.clear()
        spend(months)
        assert "copies and hard links" not in caplog.text


def test_a_ledger_tells_whether_it_knows_data(months: Path) -> None:
    spend(months)
    with Ledger.open(months.with_name("months.ledger")) as book:
        assert book.knows(*Source.of(months / "jan.csv").identity)
        assert not book.knows("/elsewhere", "postgresql://db/clinic#visits")
        assert not book.knows()
