"""Keys that are found out: failures on the way, misuse of delta, and roads around the price."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.engines import duckdb as engine_of_duckdb
from dovetail.engines.duckdb import DuckDB
from dovetail.errors import (
    BudgetExceeded,
    DataError,
    DovetailError,
    InvalidParameter,
    InvalidQuery,
    MissingKeys,
    MissingPrice,
    UnsupportedSQL,
)
from dovetail.ledger import Ledger
from dovetail.release import mechanism

NOISE = dv.Geometric(1)
WORDS = pyarrow.table(
    {"word": [f"word{n % 5}" for n in range(500)], "n": [n % 5 for n in range(500)], "x": [1.5] * 500}
)
PAY: dict[str, Any] = {"keys": "discover", "noise": NOISE, "delta": "1e-6"}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[dv.Session]:
    budget = dv.Budget.approximate(100, "1e-3")
    with dv.Session(WORDS, name="words", budget=budget, ledger=tmp_path / "words.ledger") as opened:
        yield opened


def events(session: dv.Session) -> list[dict[str, Any]]:
    with Ledger.open(session.ledger_place) as book:
        listed: list[dict[str, Any]] = json.loads(book.export("json"))["events"]
    return listed


def test_a_failure_between_batches_shows_nothing_and_stays_charged(
    session: dv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which groups came before the engine failed would tell about the rows."""
    honest = DuckDB.batches

    def failing(self: DuckDB, statement: Any) -> Iterator[Any]:
        for number, rows in enumerate(honest(self, statement)):
            if number == 1:
                raise DataError("The data 'words' cannot be read.")
            yield rows

    monkeypatch.setattr(engine_of_duckdb, "BATCH", 2)
    monkeypatch.setattr(DuckDB, "batches", failing)
    with pytest.raises(DataError) as caught:
        session.histogram("word", request="mine", **PAY)
    assert "word0" not in str(caught.value)
    assert "word0" not in json.dumps(events(session))
    spent = session._account.standing().spent
    assert (spent.epsilon_units, spent.delta_units > 0) == (10**9, True)
    monkeypatch.setattr(DuckDB, "batches", honest)
    again = session.histogram("word", **PAY)
    assert not again.stored
    assert len(again.keys) == 5
    assert session._account.standing().spent == spent + again.charge


def test_batches_give_the_same_keys_as_one(session: dv.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_of_duckdb, "BATCH", 2)
    assert [key for (key,) in session.histogram("word", **PAY).keys] == [f"word{n}" for n in range(5)]


def test_a_stop_between_batches_does_not_lock_the_session(
    session: dv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A debugger or a notebook keeps the traceback, and with it whatever was half read."""
    honest = mechanism.draws

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(mechanism, "draws", interrupted)
    with pytest.raises(KeyboardInterrupt) as kept:
        session.histogram("word", **PAY)
    monkeypatch.setattr(mechanism, "draws", honest)
    answered: list[Any] = []
    other = threading.Thread(target=lambda: answered.append(session.count(noise=NOISE)), daemon=True)
    other.start()
    other.join(timeout=10)
    assert answered, "the engine is locked"
    assert kept.value is not None


def test_a_key_lost_to_a_crash_before_the_commit_is_not_shown(
    session: dv.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> Any:
        raise OSError("no space left")

    monkeypatch.setattr(type(session._account), "settle_with_standing", full)
    with pytest.raises((OSError, DovetailError)) as caught:
        session.histogram("word", **PAY)
    assert "word0" not in str(caught.value)
    assert session._account.standing().spent.delta_units > 0


Ask = Callable[[dv.Session], Any]
HISTOGRAM = dv.Histogram("word", keys="discover")
MISUSED: dict[str, tuple[Ask, type[DovetailError]]] = {
    **{
        f"delta={value!r}": (lambda s, v=value: s.histogram("word", **(PAY | {"delta": v})), InvalidParameter)
        for value in (0, -1, 1, 2, "0.2", "1e-19", float("nan"), float("inf"), True, "1_0", "", b"1", [], 1j)
    },
    "no delta": (lambda s: s.histogram("word", keys="discover", noise=NOISE), MissingPrice),
    "no price": (lambda s: s.histogram("word", keys="discover"), MissingPrice),
    "delta alone": (lambda s: s.histogram("word", keys="discover", delta="1e-6"), DovetailError),
    "delta of a count": (lambda s: s.count(noise=NOISE, delta="1e-6"), InvalidParameter),
    "delta of listed keys": (lambda s: s.histogram("word", **(PAY | {"keys": ["a"]})), InvalidParameter),
    "delta of a plan": (
        lambda s: s.histogram("word", keys="discover", delta="1e-6", plan=s.plans[0]),
        InvalidParameter,
    ),
    "a plan": (lambda s: s.histogram("word", keys="discover", plan=s.plans[0]), InvalidParameter),
    "delta twice": (
        lambda s: s.histogram("word", keys="discover", spend=dv.Budget.approximate(1, "1e-6"), delta="1e-6"),
        InvalidParameter,
    ),
    "more than the budget's half": (
        lambda s: s.histogram("word", **(PAY | {"delta": "0.01"})),
        BudgetExceeded,
    ),
    "a batch that cannot share so little": (
        lambda s: s.batch([HISTOGRAM] * 3, noise=NOISE, delta="2e-18"),
        MissingPrice,
    ),
    "delta of SQL": (
        lambda s: s.sql("SELECT word, COUNT(*) FROM data GROUP BY word", noise=NOISE, delta="1e-6"),
        DovetailError,
    ),
    "discover in capitals": (lambda s: s.histogram("word", **(PAY | {"keys": "DISCOVER"})), InvalidParameter),
    "discover among keys": (
        lambda s: s.histogram("word", **(PAY | {"keys": {"word": ["discover"]}})),
        InvalidParameter,
    ),
    "discover a number": (lambda s: s.histogram("x", **PAY), InvalidQuery),
    "discover the sums": (
        lambda s: s.batch([dv.Sum("x", 0, 1, 1, by=("word",), keys="discover")], noise=NOISE, delta="1e-6"),
        InvalidQuery,
    ),
    "discover the weights": (lambda s: s.linear("word", "discover", step=1, noise=NOISE), DovetailError),
    "noise that ends": (
        lambda s: s.histogram("word", **(PAY | {"noise": dv.TruncatedGeometric(1, 5)})),
        InvalidParameter,
    ),
}


@pytest.mark.parametrize("case", MISUSED)
def test_what_is_asked_or_paid_wrongly_is_refused_and_spends_nothing(session: dv.Session, case: str) -> None:
    ask, error = MISUSED[case]
    session.plan(dv.Geometric("0.1"), queries=2)
    before = session._account.standing()
    with pytest.raises(error) as caught:
        ask(session)
    assert len(str(caught.value)) < 700
    assert session._account.standing() == before


@pytest.mark.parametrize(
    "text",
    [
        "SELECT word, COUNT(*) FROM data GROUP BY word",
        "SELECT COUNT(*) FROM data GROUP BY word",
        "SELECT n, COUNT(*) FROM data GROUP BY n",
        "SELECT word, n, COUNT(*) FROM data GROUP BY 1, 2",
        "SELECT DISTINCT word FROM data",
        "SELECT word FROM data GROUP BY word HAVING COUNT(*) > 10",
        "SELECT 'discover', COUNT(*) FROM data GROUP BY word",
        "SELECT COUNT(DISTINCT word) FROM data",
        "SELECT MAX(word) FROM data",
        "SELECT word, COUNT(*) FROM data GROUP BY GROUPING SETS ((word), ())",
    ],
)
def test_sql_does_not_find_keys_out(session: dv.Session, text: str) -> None:
    before = session._account.standing()
    with pytest.raises((UnsupportedSQL, MissingKeys, InvalidQuery)) as caught:
        session.sql(text, noise=NOISE)
    assert "word0" not in str(caught.value)
    assert session._account.standing() == before


def test_many_small_deltas_end_where_half_of_the_budget_s_delta_ends(tmp_path: Path) -> None:
    budget = dv.Budget.approximate(1000, "1e-6")
    with dv.Session(WORDS, name="words", budget=budget, ledger=tmp_path / "a.ledger") as session:
        pay = PAY | {"delta": "1e-7", "fresh": True}
        for _ in range(5):
            price = session.histogram("word", **pay).charge
        assert 2 * 10 * price.delta_units > 10**12, "ten of them are more than half"
        for _ in range(10):
            with suppress(BudgetExceeded):
                session.histogram("word", **pay)
        with pytest.raises(BudgetExceeded):
            session.histogram("word", **pay)
        assert session._account.standing().spent.delta_units * 2 <= 10**12
        session.count(noise=NOISE)  # What has no delta can still be paid.


def test_a_first_question_may_take_all_of_delta_and_closes_the_other_way(tmp_path: Path) -> None:
    budget = dv.Budget.approximate(2, "1e-6")
    with dv.Session(WORDS, name="words", budget=budget, ledger=tmp_path / "a.ledger") as session:
        session.histogram("word", **(PAY | {"delta": "1e-6"}))
        spent = session._account.standing().spent
        assert spent.delta_units * 2 > 10**12
        # Now only sums of epsilon count: a Gaussian, which has none, cannot be paid any more.
        with pytest.raises(BudgetExceeded):
            session.count(noise=dv.DiscreteGaussian(1000))
        session.count(noise=NOISE)
        with pytest.raises(BudgetExceeded):
            session.count(noise=dv.Geometric("0.001"), where="n > 1")
