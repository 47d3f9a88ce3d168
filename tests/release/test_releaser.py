"""The order of a release, whatever happens on the way."""

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow
import pytest

import dovetail as dv
from dovetail.answers import Answer, Quote
from dovetail.answers.payment import Payment
from dovetail.answers.quote import Standing
from dovetail.engines import Source, connect
from dovetail.errors import (
    AccessRefused,
    BudgetExceeded,
    DataError,
    InvalidParameter,
    InvalidQuery,
    LedgerError,
)
from dovetail.errors.remedies import AskForLess
from dovetail.ledger.new_account import NewAccount
from dovetail.noise import Geometric, GeometricMixture
from dovetail.pricing.quote import quote
from dovetail.privacy import Budget, Charge
from dovetail.query import Count, Histogram, Mean, Schema, Sum
from dovetail.release.account import PlanState, Request, Reservation, StoredAnswer
from dovetail.release.mechanism import draws
from dovetail.release.releaser import Releaser

PEOPLE = pyarrow.table({"age": [40, 50, 60], "sex": ["F", "M", "F"]})
NOISE = Geometric("0.5")


@dataclass
class Memory:
    """An account that writes down the order of events."""

    budget: Budget = field(default_factory=lambda: Budget.pure(10))
    events: list[str] = field(default_factory=list)
    answers: dict[str, StoredAnswer] = field(default_factory=dict)
    open: dict[int, Request] = field(default_factory=dict)
    total: Charge = field(default_factory=Charge.zero)
    settles: bool = True

    def standing(self, plans_of: str | None = None) -> Standing:
        return Standing(self.budget, self.total)

    def reserve(self, request: Request) -> Reservation | StoredAnswer:
        if request.body in self.answers and not request.fresh:
            return self.answers[request.body]
        if not self.budget.allows(self.total, request.charge):
            left = self.budget.remaining(self.total)
            raise BudgetExceeded("Too much.", requested=request.charge, remaining=left)
        self.total = self.total + request.charge
        self.events.append("reserve")
        self.open[len(self.events)] = request
        return Reservation(len(self.events))

    def settle_with_standing(
        self, reservation: Reservation, answer: str, plans_of: str | None = None
    ) -> tuple[datetime, Standing]:
        if not self.settles:
            raise LedgerError("the disk is full")
        self.events.append("settle")
        body, now = self.open[reservation.id].body, datetime.now(UTC)
        self.answers[body] = StoredAnswer(body, answer, now)
        return now, self.standing()

    def fail(self, reservation: Reservation, reason: str) -> None:
        self.events.append(f"fail: {reason}")

    def stored(self, request: Request) -> StoredAnswer | None:
        return self.answers.get(request.body)

    def abandon(self, public: str) -> None:
        self.events.append("abandon")

    def open_plan(self, body: str, charge: Charge, slots: int, analyst: str, **_: object) -> PlanState:
        raise NotImplementedError


@dataclass
class Watched:
    """An engine that writes down when rows are read, and can fail then."""

    engine: Any
    events: list[str]
    error: BaseException | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def fetch(self, statement: Any) -> Any:
        self.events.append("read")
        if self.error:
            raise self.error
        return self.engine.fetch(statement)


@dataclass
class Desk:
    """What a session does: quote, then answer the quote."""

    releaser: Releaser

    def quoted(self, queries: list[Any], payment: Payment) -> Quote:
        table = Schema().table(self.releaser.engine.columns())
        return quote(table, queries, payment, self.releaser.account.standing())

    def answer(self, queries: list[Any], payment: Payment) -> list[Answer]:
        return self.releaser.answer(self.quoted(queries, payment))


def desk(memory: Memory, error: BaseException | None = None) -> Desk:
    engine = connect(Source.of(PEOPLE, name="people"))
    watched = Watched(engine, memory.events, error)
    return Desk(Releaser("people", "memory://people", watched, memory, "ann"))


def test_the_charge_is_recorded_before_the_data_is_read_and_the_answer_before_it_is_shown() -> None:
    memory = Memory()
    answer = desk(memory).answer([Count("age > 45")], Payment(noise=NOISE))[0]
    assert memory.events == ["reserve", "read", "settle"]
    assert answer.charge == memory.total
    assert answer.charge.epsilon_units == 500_000_000
    stored = json.loads(next(iter(memory.answers.values())).answer)
    assert stored["cells"] == [[[answer.value]]]


def test_the_same_question_in_other_words_is_free_and_reads_nothing() -> None:
    memory = Memory()
    releaser = desk(memory)
    first = releaser.answer([Count("age > 45 AND sex = 'F'")], Payment(noise=NOISE))[0]
    again = releaser.answer([Count("NOT ('F' <> sex OR 45 >= age)")], Payment(noise=Geometric(0.5)))[0]
    assert (again.value, again.answered_at, again.stored) == (first.value, first.answered_at, True)
    assert memory.events == ["reserve", "read", "settle"]
    other = releaser.answer([Count("age > 45 AND sex = 'F'")], Payment(noise=Geometric("0.4")))[0]
    assert not other.stored
    fresh = releaser.answer([Count("age > 45 AND sex = 'F'")], Payment(noise=NOISE, fresh=True))[0]
    assert not fresh.stored
    assert memory.total.epsilon_units == 1_400_000_000


def test_clamping_is_post_processing_of_the_same_stored_answer() -> None:
    memory = Memory()
    releaser = desk(memory)
    signed = releaser.answer([Count("age > 100")], Payment(noise=Geometric("0.01")))[0]
    clamped = releaser.answer([Count("age > 100")], Payment(noise=Geometric("0.01"), clamp=True))[0]
    assert clamped.stored
    assert clamped.value == max(signed.value, 0)
    assert min(clamped.interval()) >= 0
    with pytest.raises(InvalidQuery, match="Leave clamp= out"):
        releaser.answer([Sum("age", low=-1, high=1, step=1)], Payment(noise=NOISE, clamp=True))
    assert memory.events == ["reserve", "read", "settle"]


def test_a_refused_query_reads_nothing_and_spends_nothing() -> None:
    memory = Memory(budget=Budget.pure("0.1"))
    with pytest.raises(BudgetExceeded) as caught:
        desk(memory).answer([Count()], Payment(noise=NOISE))
    assert memory.events == []
    assert memory.total == Charge.zero()
    assert caught.value.requested.epsilon_units == 500_000_000
    assert str(caught.value.remaining) == "epsilon 0.1"


@pytest.mark.parametrize("error", [DataError("gone"), KeyboardInterrupt(), MemoryError()])
def test_a_failed_read_stays_charged_and_no_answer_is_stored(error: BaseException) -> None:
    memory = Memory()
    with pytest.raises(type(error)):
        desk(memory, error).answer([Count()], Payment(noise=NOISE))
    assert memory.events[:2] == ["reserve", "read"]
    assert memory.events[2].startswith("fail: ")
    assert memory.answers == {}
    assert memory.total.epsilon_units == 500_000_000


def test_an_error_of_the_data_says_what_it_has_cost() -> None:
    with pytest.raises(DataError, match=r"gone The charge \(epsilon 0\.5\) stays spent, because rows may"):
        desk(Memory(), DataError("gone")).answer([Count()], Payment(noise=NOISE))


def test_an_answer_that_could_not_be_stored_is_not_shown_and_the_error_says_what_it_has_cost() -> None:
    memory = Memory(settles=False)
    with pytest.raises(LedgerError, match=r"The charge \(epsilon 0\.5\) stays spent, because rows were read"):
        desk(memory).answer([Count()], Payment(noise=NOISE))
    with pytest.raises(LedgerError, match="a retry of the same request does not pay again"):
        desk(memory).answer([Count()], Payment(noise=NOISE, request="a"))
    assert memory.answers == {}


def test_who_lost_the_right_meanwhile_is_refused_and_not_told_to_try_again() -> None:
    memory = Memory()

    def refuse(*_given: object) -> None:
        raise AccessRefused("You have no valid grant for this dataset.", "Nothing was spent.")

    memory.settle_with_standing = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(AccessRefused) as refused:
        desk(memory).answer([Count()], Payment(noise=NOISE, request="k"))
    assert "retry" not in str(refused.value)
    assert "no answer could be stored" not in str(refused.value)


def test_a_plan_with_too_few_answers_for_its_first_question_is_not_paid() -> None:
    memory = Memory()  # which cannot open a plan
    mean = Mean("age", low=0, high=100, step=1)
    with pytest.raises(BudgetExceeded, match="uses 2 answers, and the plan would have 1"):
        desk(memory).answer([mean], Payment(noise=NOISE, queries=1))
    with pytest.raises(NotImplementedError):
        desk(memory).answer([mean], Payment(noise=NOISE, queries=2))
    assert memory.events == []


def test_a_batch_is_reserved_once_and_costs_exactly_the_joint_loss() -> None:
    memory = Memory()
    queries = [Count(), Histogram("sex", keys=["F", "M"]), Mean("age", low=0, high=100, step=1)]
    answers = desk(memory).answer(queries, Payment(noise=GeometricMixture("0.1", "0.5", 5)))
    assert memory.events == ["reserve", "read", "read", "read", "settle"]
    assert len(answers) == 3
    assert memory.total.epsilon_units == 4 * 500_000_000
    single = desk(Memory()).quoted([Count()], Payment(noise=GeometricMixture("0.1", "0.5", 5))).charge
    assert memory.total.zeta_units is not None
    assert single.zeta_units is not None
    assert single.zeta_units < memory.total.zeta_units < 4 * single.zeta_units


def test_a_histogram_is_charged_once_not_per_cell() -> None:
    releaser = desk(Memory())
    wide = Histogram("age", bins=list(range(1001)))
    assert (
        releaser.quoted([wide], Payment(noise=NOISE)).charge
        == releaser.quoted([Count()], Payment(noise=NOISE)).charge
    )


def test_absent_keys_get_noise_too() -> None:
    query = Histogram("sex", keys=[f"key {number}" for number in range(200)])
    answer = desk(Memory()).answer([query], Payment(noise=Geometric("0.1")))[0]
    zeros = sum(value == 0 for value in answer.value)
    assert zeros < 40  # a fraction 0.05 is expected; 200 without noise


def test_sums_beyond_64_bits_are_whole_and_their_intervals_hold_the_truth() -> None:
    database = duckdb.connect()
    database.execute("CREATE TABLE wide AS SELECT 9223372036854775807 AS n FROM range(10000)")
    engine = connect(Source.of(database, name="wide", table="wide"))
    releaser = Desk(Releaser("wide", "memory://wide", engine, Memory(), "ann"))
    answer = releaser.answer([Sum("n", low=0, high=2**52, step=1)], Payment(noise=Geometric(1)))[0]
    truth = 10_000 * 2**52
    low, high = answer.interval(level=0.999999)
    assert low <= truth <= high
    assert high - low < 30 * 2**52
    # JSON keeps every digit; a column of 64 bits cannot, so it holds floats.
    (row,) = json.loads(answer.to_json())["rows"]
    assert int(row["low"]) <= answer.value == int(row["value"]) <= int(row["high"])
    assert answer.table["value"].to_pylist() == [float(answer.value)]


def test_noise_too_wide_to_draw_is_refused_before_anything_is_spent() -> None:
    memory = Memory()
    with pytest.raises(InvalidParameter, match="coarser lattice"):
        desk(memory).answer([Sum("age", low=0, high=2**52, step=1)], Payment(noise=Geometric("1e-6")))
    assert memory.events == []


def test_few_and_many_cells_draw_from_the_same_noise() -> None:
    for count in (1, 64, 65, 5000):
        assert len(draws(NOISE, count)) == count
    many = draws(Geometric("0.1"), 20_000) + [draws(Geometric("0.1"), 1)[0] for _ in range(20_000)]
    assert abs(sum(map(abs, many)) / len(many) - Geometric("0.1").mean_abs()) < 0.5


def test_an_interruption_while_it_is_reserved_leaves_nothing_reserved(tmp_path: Path) -> None:
    """Ctrl-C may come after the ledger's commit and before anybody here knows the reservation."""
    import dovetail as dv
    from dovetail.ledger import Ledger

    place = tmp_path / "a.ledger"
    with dv.Session(PEOPLE, name="people", budget=Budget.pure(1), ledger=place) as session:
        session.count(noise=Geometric("0.1"))
        account = session._releaser.account
        assert isinstance(account, NewAccount)
        reserve = account.reserve

        def interrupted(request: Request) -> Reservation | StoredAnswer:
            assert isinstance(reserve(request), Reservation)
            raise KeyboardInterrupt

        account.reserve = interrupted  # type: ignore[method-assign]
        with pytest.raises(KeyboardInterrupt):
            session.count(where="age > 45", noise=Geometric("0.1"))
        del account.reserve  # type: ignore[method-assign]
        assert str(session.remaining) == "epsilon 0.8"
        with pytest.raises(BudgetExceeded):
            session.count(where="age > 46", noise=Geometric("0.9"))
    with Ledger.open(place) as ledger:
        assert [entry.state for entry in ledger.show().entries if entry.charge] == ["answered", "failed"]
        ledger.verify()


def test_what_the_rest_buys_is_said_of_a_question_alone(tmp_path: Path) -> None:
    """Of several at once it would be said of the first as if the others cost nothing."""
    with dv.Session(
        PEOPLE, name="people", budget=Budget.pure(1), ledger=tmp_path / "people.ledger", protects="rows"
    ) as session:
        for queries, told in (([Count()], True), ([Count(), Count("age > 45")], False)):
            with pytest.raises(BudgetExceeded) as refused:
                session.batch(queries, noise=Geometric(2))
            found = [each.within for each in refused.value.remedies if isinstance(each, AskForLess)]
            assert [within is not None for within in found] == [told]


@pytest.mark.parametrize(("even", "told"), [((), True), ((True, False), True), ((False, True), False)])
def test_what_the_rest_buys_is_not_said_of_tables_that_are_best_measured_unevenly(
    even: tuple[bool, ...], told: bool
) -> None:
    class Poor(Memory):
        def reserve(self, request: Request) -> Reservation | StoredAnswer:
            left = self.budget.remaining(self.total)
            raise BudgetExceeded("Too much.", AskForLess(), requested=request.charge, remaining=left)

    made = desk(Poor())
    quoted = made.quoted([Count()], Payment(noise=NOISE))
    ways: Any = tuple(SimpleNamespace(even=each) for each in even)
    with pytest.raises(BudgetExceeded) as refused:
        made.releaser.answer(replace(quoted, asked=(replace(quoted.asked[0], ways=ways),)))
    (advice,) = refused.value.remedies
    assert isinstance(advice, AskForLess)
    assert (advice.within is not None) is told
