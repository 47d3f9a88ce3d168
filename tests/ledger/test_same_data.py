"""The next month under a name finds the same ledger, is asked about once, or is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest

import dovetail as dv
from dovetail.engines import Source
from dovetail.errors import BudgetMismatch, InvalidParameter, LedgerError
from dovetail.ledger import Ledger, same_data

ONE = dv.Budget.pure(1)
COST = dv.Geometric("0.25")

pytestmark = pytest.mark.usefixtures("home")


def month(folder: Path, name: str, columns: str = "ward,age") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(columns + "\n" + ",".join("1" for _ in columns.split(",")) + "\n")
    return path


def spend(source: object, **options: Any) -> tuple[str, str]:
    """Ask one question; return what remains and which ledger paid."""
    with dv.Session(source, **({"budget": ONE} | options)) as session:
        session.count(noise=COST)
        return str(session.remaining), Path(session.ledger_place).name


def test_the_second_month_under_a_name_finds_the_same_ledger_and_asks_once(tmp_path: Path) -> None:
    january, february = month(tmp_path, "jan.csv"), month(tmp_path, "feb.csv")
    assert spend(january, name="visits") == ("epsilon 0.75", "jan.csv.ledger")
    with pytest.raises(
        BudgetMismatch, match=r"jan\.csv\. Are these the same data.*same_data=True, .*vintage="
    ):
        spend(february, name="visits")
    assert spend(february, name="visits", same_data=True) == ("epsilon 0.5", "jan.csv.ledger")
    # It is on record now, so nobody is asked again.
    assert spend(february, name="visits", same_data=None)[0] == "epsilon 0.5"
    with pytest.warns(dv.ledger.SharedBudget):
        assert spend(february)[1] == "jan.csv.ledger"
    assert [place.name for place in tmp_path.glob("*.ledger")] == ["jan.csv.ledger"]


def test_other_data_choose_another_name(tmp_path: Path) -> None:
    spend(month(tmp_path, "jan.csv"), name="visits")
    other = month(tmp_path, "staff.csv", "grade")
    with pytest.raises(BudgetMismatch, match="choose another name"):
        spend(other, name="visits", same_data=False)
    assert spend(other, name="staff") == ("epsilon 0.75", "staff.csv.ledger")


def test_a_second_month_under_its_own_name_is_no_second_budget_in_silence(tmp_path: Path) -> None:
    spend(month(tmp_path, "jan.csv"))
    february = month(tmp_path, "feb.csv", "AGE,ward")
    with pytest.raises(BudgetMismatch, match=r"jan\.csv has the same columns.*as 'jan' in .*same_data=False"):
        spend(february)
    assert not (tmp_path / "feb.csv.ledger").exists()
    # A quote spends nothing and may be had.
    with dv.Session(february, budget=ONE) as session:
        assert session.price(dv.Count(), noise=COST).epsilon
    assert spend(february, same_data=False) == ("epsilon 0.75", "feb.csv.ledger")
    assert spend(february)[0] == "epsilon 0.75"


@pytest.mark.parametrize("schema_of_january", [True, False])
def test_a_second_month_in_an_encoding_that_is_declared_is_no_second_budget(
    tmp_path: Path, schema_of_january: bool
) -> None:
    schema = dv.Schema([dv.Column("entrée", "text")], encoding="windows-1252")
    for name in ("jan", "feb"):
        (tmp_path / f"{name}.csv").write_bytes("entrée,ward\n1,a\n".encode("windows-1252"))
    if schema_of_january:
        schema.write(tmp_path / "jan.toml")
    spend(tmp_path / "jan.csv", schema=schema)
    with pytest.raises(BudgetMismatch, match="has the same columns"):
        spend(tmp_path / "feb.csv", schema=schema)


def test_a_ledger_that_was_named_asks_too(tmp_path: Path) -> None:
    place = tmp_path / "elsewhere" / "all.ledger"
    place.parent.mkdir()
    spend(month(tmp_path / "a", "jan.csv"), ledger=place)
    with pytest.raises(BudgetMismatch, match="same columns"):
        spend(month(tmp_path / "b", "feb.csv"), ledger=place)
    spend(month(tmp_path / "c", "staff.csv", "grade,pay"), ledger=place)


def test_a_frame_and_a_file_of_one_name_are_asked_about(tmp_path: Path) -> None:
    place = tmp_path / "all.ledger"
    frame = pyarrow.table({"ward": ["a"], "age": [3]})
    spend(frame, name="visits", ledger=place)
    assert spend(frame, name="visits", ledger=place)[0] == "epsilon 0.75"
    with pytest.raises(BudgetMismatch, match="begun for memory://visits"):
        spend(month(tmp_path, "visits.csv"), ledger=place)


def test_rows_of_a_program_cannot_be_compared_and_stand_in_nobody_s_way(tmp_path: Path) -> None:
    place = tmp_path / "all.ledger"
    spend(pyarrow.table({"ward": ["a"], "age": [3]}), name="frame", ledger=place)
    assert spend(month(tmp_path, "visits.csv"), ledger=place)[0] == "epsilon 0.75"


def test_tables_in_files_are_compared_too(tmp_path: Path) -> None:
    for name in ("jan", "feb"):
        with duckdb.connect(str(tmp_path / f"{name}.duckdb")) as made:
            made.execute("CREATE TABLE visits AS SELECT 1 AS ward, 2 AS age")
            made.execute("CREATE TABLE staff AS SELECT 1 AS grade")
    spend(tmp_path / "jan.duckdb", table="visits")
    with pytest.raises(BudgetMismatch, match="has the same columns"):
        spend(tmp_path / "feb.duckdb", table="visits")
    spend(tmp_path / "feb.duckdb", table="staff")


def test_two_ledgers_with_one_name_are_not_chosen_between(tmp_path: Path) -> None:
    for number, name in enumerate(("jan.csv", "feb.csv")):
        spend(month(tmp_path, name), name="visits", ledger=tmp_path / f"{number}.ledger", same_data=False)
    with pytest.raises(LedgerError, match=r"Several ledgers keep a budget of 'visits'"):
        spend(month(tmp_path, "mar.csv"), name="visits")


def test_tables_of_a_database_are_compared_too(postgres_url: str, tmp_path: Path) -> None:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for name in ("may", "june"):
            connection.execute(f"CREATE TABLE {name} (ward text, age int)")
        connection.execute("CREATE TABLE staff (pay int)")
    spend(postgres_url, table="may")
    with pytest.raises(BudgetMismatch, match="may has the same columns"):
        spend(postgres_url, table="june")
    spend(postgres_url, table="staff")


def declared(place: Path, *labels: str, budget: dv.Budget = ONE, complete: bool = True) -> None:
    with Ledger.open(place, create=True) as ledger:
        account = ledger.account("visits", budget=budget, protects="a row added or removed")
        account.declare_disjoint()
        known = {each.label for each in account.vintages()}
        for label in labels:
            if label not in known:
                account.declare_vintage(label, complete=complete)


def test_a_vintage_says_which_rows_they_are_and_pays_from_its_own(tmp_path: Path) -> None:
    place = tmp_path / "all.ledger"
    declared(place, "jan", "feb")
    for label in ("jan", "feb"):
        source = month(tmp_path, f"{label}.csv")
        options = {"name": "visits", "ledger": place, "vintage": label}
        assert spend(source, **options)[0] == "epsilon 0.75"
        with dv.Session(source, **options) as session:
            answer = session.count(noise=COST)
            assert (answer.stored, answer.vintages) == (True, (label,))
            assert f"visits {label}" in answer.plot().get_title()
            session.count(where="ward = '1'", spend=dv.Budget.pure("0.75"))
            with pytest.raises(dv.BudgetExceeded, match="but only epsilon 0"):
                session.count(where="ward = '2'", noise=COST)
    with Ledger.open(place) as ledger:
        assert "remains  epsilon 0 of jan" in str(ledger.show())
        assert "answered (feb)" in str(ledger.show())
        ledger.verify()


def test_a_question_over_several_vintages_is_charged_to_each(tmp_path: Path) -> None:
    place = tmp_path / "all.ledger"
    declared(place, "jan", "feb")
    files = [month(tmp_path, f"{label}.csv") for label in ("jan", "feb")]
    both = {"name": "visits", "ledger": place, "vintage": ["feb", "jan"]}
    assert spend(files, **both)[0] == "epsilon 0.75"
    one = {"name": "visits", "ledger": place, "vintage": "jan"}
    assert spend(files[0], **one)[0] == "epsilon 0.5"
    # The most that any of them has borne.
    with dv.Session(files, **both) as session:
        assert str(session.remaining) == "epsilon 0.5"


def test_plans_and_runs_are_per_vintage(tmp_path: Path) -> None:
    place = tmp_path / "all.ledger"
    declared(place, "jan", "feb")
    for label in ("jan", "feb"):
        with dv.Session(
            month(tmp_path, f"{label}.csv"), name="visits", ledger=place, vintage=label, queries=4
        ) as session:
            assert [plan.slots for plan in session.plans] == [4]
            session.count()
            assert session.plans[0].left == 3
            assert session.remaining.epsilon == 0
    with dv.Session(tmp_path / "jan.csv", name="visits", ledger=place, vintage="jan", queries=4) as session:
        assert session.plans[0].left == 3
        mine = session.plans[0]
    with (
        dv.Session(tmp_path / "feb.csv", name="visits", ledger=place, vintage="feb") as session,
        pytest.raises(InvalidParameter, match="plan"),
    ):
        session.count(where="ward = '1'", plan=mine)


def test_vintages_are_declared_and_named(tmp_path: Path) -> None:
    place = tmp_path / "all.ledger"
    source = month(tmp_path, "jan.csv")
    with pytest.raises(InvalidParameter, match=r"declared before \(none is\).*declare_vintage\('jan'"):
        dv.Session(source, name="visits", ledger=place, budget=ONE, vintage="jan")
    assert not place.exists()
    declared(place, "jan")
    for wrong in ("Jan", ["jan", "feb"]):
        with pytest.raises(InvalidParameter, match=r"declared before \(jan\)"):
            dv.Session(source, name="visits", ledger=place, vintage=wrong)
    with (
        dv.Session(source, name="visits", ledger=place, same_data=True) as session,
        pytest.raises(InvalidParameter, match=r"vintage=None must be named.*\(jan\)"),
    ):
        session.count(noise=COST)
    with pytest.raises(InvalidParameter, match="printable"):
        dv.Session(source, name="visits", ledger=place, vintage="a\nb")


def test_a_new_version_is_not_a_new_vintage(tmp_path: Path) -> None:
    place = tmp_path / "all.ledger"
    declared(place, "jan")
    options: dict[str, Any] = {"name": "visits", "ledger": place, "vintage": "jan"}
    source = month(tmp_path, "jan.csv")
    spend(source, **options, version="1")
    with dv.Session(source, **options, version="2") as session:
        with pytest.warns(dv.errors.StaleAnswer):
            assert session.count(noise=COST).stale
        session.count(noise=COST, fresh=True)
        assert str(session.remaining) == "epsilon 0.5"


def test_others_are_told_labels_only(tmp_path: Path) -> None:
    """That a file was written again could tell that a row has changed."""
    place = tmp_path / "all.ledger"
    source = month(tmp_path, "jan.csv")
    spend(source, name="visits", ledger=place)
    with dv.Session(source, name="visits", ledger=place) as session:
        asked = session.on_behalf_of("bea")
        first = asked.count(noise=dv.Geometric("0.3"))
        source.write_text("ward,age\n2,2\n")
        again = asked.count(noise=dv.Geometric("0.3"))
    assert (again.stored, again.stale, again.value) == (True, False, first.value)


def test_what_a_name_on_record_leads_to(tmp_path: Path) -> None:
    """A table beside this one, a file, a table in a file; nothing where it cannot be looked at."""
    file, address = month(tmp_path, "jan.csv"), "postgresql://ann@host/clinic"
    table = Source(address, "visits", table="visits")
    databases = {"postgresql://host/clinic"}
    found = same_data._readable("postgresql://host/clinic#letters", table, databases)
    assert found is not None
    assert (found.data, found.table) == (address, "letters")
    assert same_data._readable("postgresql://other/clinic#letters", table, databases) is None
    assert same_data._readable("postgresql://host/clinic", table, databases) is None
    here = Source(file, "jan")
    for place, inner in ((str(file), None), (f"{file}#sheet", "sheet")):
        found = same_data._readable(place, here, {str(file)})
        assert found is not None
        assert (found.data, found.name, found.table) == (file, "jan", inner)
    assert same_data._readable(str(tmp_path / "gone.csv"), here, set()) is None
