"""An analyst looks for a second budget, or for more answers than were paid for."""

from __future__ import annotations

import dataclasses
import pickle
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet
import pytest

import dovetail as dv
from dovetail.errors import BudgetExceeded, BudgetMismatch, InvalidParameter, LedgerCorrupt
from dovetail.ledger import Ledger, SharedBudget, source_name
from dovetail.privacy import Charge
from dovetail.release.account import Request

ONE = dv.Budget.pure(1)
PEOPLE = pyarrow.table({"age": [20, 30, 40], "sex": ["F", "M", "F"]})


def in_memory(tmp_path: Path, name: str = "people", **options: object) -> dv.Session:
    options = {"budget": ONE, "ledger": tmp_path / "one.ledger"} | options
    return dv.Session(PEOPLE, name=name, **options)  # type: ignore[arg-type]


def written(tmp_path: Path, name: str) -> Path:
    pyarrow.parquet.write_table(PEOPLE, tmp_path / name)
    return tmp_path / name


def test_a_plan_pays_only_for_the_noise_that_it_was_opened_with(tmp_path: Path) -> None:
    with in_memory(tmp_path) as session:
        plan = session.plan(dv.Geometric("0.1"), queries=2)
        for forged in (
            dataclasses.replace(plan, noise=dv.Geometric(20)),
            dataclasses.replace(plan, id=plan.id + 1),
            dataclasses.replace(plan, slots=1000),
            dataclasses.replace(plan, neighbours="replace"),
        ):
            with pytest.raises(InvalidParameter, match="plan"):
                session.count(plan=forged)
        assert session.count(plan=pickle.loads(pickle.dumps(plan))).noise == dv.Geometric("0.1")


def test_a_plan_of_another_ledger_is_refused_though_it_has_the_same_number(tmp_path: Path) -> None:
    with (
        in_memory(tmp_path, ledger=tmp_path / "rich.ledger", budget=dv.Budget.pure(100)) as rich,
        in_memory(tmp_path, ledger=tmp_path / "poor.ledger") as poor,
    ):
        mine, theirs = poor.plan(dv.Geometric("0.1"), queries=2), rich.plan(dv.Geometric(10), queries=2)
        assert mine.id == theirs.id
        with pytest.raises(InvalidParameter, match="a plan of these data"):
            poor.count(plan=theirs)


def test_a_plan_stretches_its_noise_for_a_question_of_larger_sensitivity(tmp_path: Path) -> None:
    with in_memory(tmp_path) as session:
        plan = session.plan(dv.Geometric("0.1"), queries=3)
        answer = session.sum("age", low=0, high=100, step=1, plan=plan)
        assert dv.privacy_loss(answer.noise, sensitivity=100).epsilon <= 0.1 * (1 + 1e-12)


def test_the_same_question_twice_in_one_batch_is_paid_twice(tmp_path: Path) -> None:
    with in_memory(tmp_path) as session:
        noise = dv.Geometric("0.25")
        first, second = session.batch([dv.Count(), dv.Count()], noise=noise)
        assert first.charge == second.charge
        assert first.charge.epsilon_units == 500_000_000
        batches = [session.price([dv.Count()] * k, noise=noise, fresh=True).epsilon_units for k in (1, 2, 4)]
        assert batches == [250_000_000, 500_000_000, 1_000_000_000]
        plan = session.plan(dv.Geometric("0.01"), queries=3)
        session.batch([dv.Count(), dv.Count()], plan=plan)
        with pytest.raises(BudgetExceeded):
            session.batch([dv.Count("age > 1"), dv.Count("age > 1")], plan=plan)


def test_a_question_put_in_a_batch_is_another_question_and_pays(tmp_path: Path) -> None:
    with in_memory(tmp_path) as session:
        session.count(noise=dv.Geometric("0.25"))
        session.batch([dv.Count(), dv.Count("age > 30")], noise=dv.Geometric("0.25"))
        assert str(session.remaining) == "epsilon 0.25"


def test_equivalent_spellings_share_an_answer_and_others_pay(tmp_path: Path) -> None:
    with in_memory(tmp_path) as session:
        pay = {"noise": dv.Geometric("0.1")}
        session.count(where="age >= 30 AND sex = 'F'", **pay)
        for same in ("sex = 'F' AND AGE >= 30", "NOT (age < 30 OR sex <> 'F')", "30 <= Age AND Sex = 'F'"):
            assert session.count(where=same, **pay).stored, same
        assert str(session.remaining) == "epsilon 0.9"
        # The same rows by another road: not recognised, so it pays.
        assert not session.count(where="age > 29 AND sex = 'F'", **pay).stored
        assert str(session.remaining) == "epsilon 0.8"


def test_fresh_answers_and_new_request_keys_pay_each_time(tmp_path: Path) -> None:
    with in_memory(tmp_path) as session:
        pay = {"noise": dv.Geometric("0.4"), "fresh": True}
        session.count(request="a", **pay)
        session.count(request="a", **pay)
        session.count(request="b", **pay)
        assert str(session.remaining) == "epsilon 0.2"
        with pytest.raises(BudgetExceeded):
            session.count(request="c", **pay)


def test_a_stored_answer_is_one_for_every_analyst_and_a_key_is_not(tmp_path: Path) -> None:
    pay = {"noise": dv.Geometric("0.4")}
    with in_memory(tmp_path, analyst="ann") as ann, in_memory(tmp_path, analyst="bob") as bob:
        first = ann.count(request="k", **pay)
        again = bob.count(**pay)
        assert (again.stored, again.value) == (True, first.value)
        # Bob's key "k" is not ann's: it names no answer of hers.
        assert not bob.count(where="age > 1", request="k", **pay).stored


def test_a_source_cannot_be_charged_to_the_budget_of_other_data(tmp_path: Path) -> None:
    ledger = tmp_path / "one.ledger"
    spent, rich = written(tmp_path, "spent.parquet"), written(tmp_path, "rich.parquet")
    with dv.Session(spent, budget=ONE, ledger=ledger) as session:
        session.count(noise=dv.Geometric(1))
    with dv.Session(rich, budget=ONE, ledger=ledger, same_data=False) as session:
        session.count(noise=dv.Geometric("0.1"))
    with pytest.raises(BudgetMismatch, match=r"charged to the budget of 'spent', not to that of 'rich'"):
        dv.Session(spent, name="rich", ledger=ledger)
    with Ledger.open(ledger) as book:
        book.account("rich", source=source_name(spent), share=False)  # the curator's own decision
    dv.Session(spent, name="rich", ledger=ledger).close()


def test_what_is_protected_cannot_change_under_a_budget(tmp_path: Path) -> None:
    with in_memory(tmp_path, neighbours="replace") as session:
        session.count(noise=dv.Geometric("0.1"))
    with pytest.raises(BudgetMismatch, match="protects a row replaced, not a row added or removed"):
        in_memory(tmp_path)
    in_memory(tmp_path, neighbours="replace").close()


def test_one_name_is_one_budget_however_its_letters_are_composed(tmp_path: Path) -> None:
    short, long = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    with in_memory(tmp_path, name=short) as session:
        session.count(noise=dv.Geometric("0.4"))
    with in_memory(tmp_path, name=long) as session:
        assert str(session.remaining) == "epsilon 0.6"
    with Ledger.open(tmp_path / "one.ledger") as book:
        assert str(book.account(long).remaining()) == "epsilon 0.6"


@pytest.mark.parametrize(
    "invisible", ["people\u200b", "\u2060people", "pe\u00adople", "people\u202e", "a\nb"]
)
def test_a_name_with_invisible_letters_is_refused(tmp_path: Path, invisible: str) -> None:
    with pytest.raises(InvalidParameter):
        in_memory(tmp_path, name=invisible)


def test_a_link_and_a_detour_lead_to_one_budget(tmp_path: Path) -> None:
    path = written(tmp_path, "people.parquet")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "link.parquet").symlink_to(path)
    with dv.Session(path, budget=ONE) as session:
        session.count(noise=dv.Geometric("0.4"))
    with dv.Session(tmp_path / "folder" / ".." / "people.parquet") as session:
        assert str(session.remaining) == "epsilon 0.6"
    with (
        pytest.warns(SharedBudget, match="second name"),
        dv.Session(tmp_path / "folder" / "link.parquet", budget=ONE) as session,
    ):
        assert str(session.remaining) == "epsilon 0.6"


@pytest.mark.filterwarnings("ignore::dovetail.ledger.SharedBudget")
@pytest.mark.parametrize(
    "table", ["VISITS", "main.visits", '"visits"', 'MAIN."Visits"', "source.main.visits"]
)
def test_a_table_has_one_budget_however_it_is_spelled(tmp_path: Path, table: str) -> None:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE visits AS SELECT range AS x FROM range(10)")
    with dv.Session(path, table="visits", budget=ONE) as session:
        session.count(noise=dv.Geometric("0.4"))
    with dv.Session(path, table=table, budget=ONE) as session:
        assert str(session.remaining) == "epsilon 0.6"


@pytest.mark.parametrize(
    "address",
    [
        "postgres://bob@db/clinic",
        "postgresql://DB:5432/clinic",
        "postgresql+psycopg://ann:secret@db/clinic?sslmode=require",
        "postgresql://ann@/clinic?host=db",
    ],
)
def test_a_server_has_one_budget_whoever_asks_and_however_it_is_spelled(address: str) -> None:
    assert source_name(address, "visits") == "postgresql://db/clinic#visits"


@pytest.mark.parametrize(
    "address",
    ["postgresql://db:5433/clinic", "postgresql://db2/clinic", "postgresql:///clinic?host=/tmp/server"],
)
def test_another_server_is_other_data(address: str) -> None:
    assert source_name(address) != source_name("postgresql://db/clinic")


def test_a_deleted_ledger_is_noticed_by_its_witness_alone(tmp_path: Path) -> None:
    place, witness = tmp_path / "a.ledger", tmp_path / "elsewhere.witness"
    with Ledger.create(place, witness=witness) as book, in_memory(tmp_path, ledger=book) as session:
        session.count(noise=dv.Geometric(1))
    place.unlink()
    with pytest.raises(LedgerCorrupt, match="older or another ledger"):
        Ledger.open(place, create=True, witness=witness)
    assert not place.exists()
    # What is not defended: without a witness the budget begins anew.
    with in_memory(tmp_path, ledger=place) as session:
        assert str(session.remaining) == "epsilon 1"


def test_two_ledgers_are_two_budgets_which_is_not_defended(tmp_path: Path) -> None:
    for name in ("a.ledger", "b.ledger"):
        with in_memory(tmp_path, ledger=tmp_path / name) as session:
            session.count(noise=dv.Geometric(1))
            assert str(session.remaining) == "epsilon 0"
            with pytest.raises(dv.BudgetExceeded):
                session.count(where="age > 1", noise=dv.Geometric(1))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_hundred_requests_at_once_for_the_last_of_delta_sell_half_of_it(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Half of delta pays for events; a tenth of that half each, so that exactly ten are sold."""
    place = str(tmp_path / "a.ledger" if kind == "sqlite" else request.getfixturevalue("postgres_url"))
    tenth = Charge.approximate("0.01", "1e-7")
    with Ledger.create(place) as book:
        book.account("words", budget=dv.Budget.approximate(100, "2e-6"))

    def ask(number: int) -> bool:
        with Ledger.open(place, patience=60) as book:
            try:
                book.account("words").reserve(Request(f'{{"n": {number}}}', tenth, "ann"))
            except BudgetExceeded:
                return False
            return True

    with ThreadPoolExecutor(20) as pool:
        assert sum(pool.map(ask, range(100))) == 10
    with Ledger.open(place) as book:
        assert book.account("words").spent() == tenth.times(10)


def test_a_session_does_not_travel(tmp_path: Path) -> None:
    with in_memory(tmp_path) as session, pytest.raises(TypeError):
        pickle.dumps(session)
