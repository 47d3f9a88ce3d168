"""Answers given before: free, never stale in silence, and good enough for whoever asks for less."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.answers.provenance import day
from dovetail.errors import InvalidQuery, StaleAnswer
from dovetail.ledger import Ledger
from dovetail.noise import Geometric
from dovetail.release.mechanism import ReleasedCells, write_released
from dovetail.release.stored_answers import accepted, asked_of, bodies, recalled

TEN = dv.Budget.pure(10)
AGES = pyarrow.table({"age": list(range(100)), "sex": ["F", "M"] * 50})
SEXES = {"sex": ["F", "M"]}
WORDS = pyarrow.table({"word": ["a", "b"] * 200, "n": [1, 2] * 200})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "one.ledger"


def opened(place: Path, **options: Any) -> dv.Session:
    return dv.Session(options.pop("source", AGES), name="people", budget=TEN, ledger=place, **options)


def asked(place: Path, version: str | None, **pay: Any) -> dv.Answer:
    with opened(place, version=version) as session:
        return session.histogram("sex", keys=SEXES, **(pay or {"noise": Geometric(1)}))


def forms(answer: dv.Answer) -> dict[str, str]:
    """Return the first line of every form."""
    picture = answer.plot()
    found = {
        "text": str(answer).split("\n")[0],
        "notebook": answer._repr_html_().split("<table>")[0],
        "json": answer.to_json().split('"dataset"')[0],
        "frame": " ".join(map(str, answer.to_pandas().iloc[0])),
        "arrow": str(answer.table.slice(0, 1).to_pylist()),
        "csv": " ".join(answer.to_csv().split("\n")[:2]),
        "plot": picture.get_title(),
    }
    picture.figure.clear()
    return found


def test_an_answer_about_another_version_is_marked_in_the_first_line_of_every_form(place: Path) -> None:
    new = asked(place, "January")
    assert (new.stored, new.stale) == (False, False)
    with pytest.warns(StaleAnswer, match="the data have changed since.*fresh=True"):
        old = asked(place, "February")
    assert (old.value, old.stored, old.stale, old.answered_at) == (new.value, True, True, new.answered_at)
    mark = f"stored {day(new.answered_at)}; the data have changed since"
    for name, line in forms(old).items():
        assert mark in line, name
    for name, line in forms(new).items():
        assert "changed" not in line, name
    assert json.loads(old.to_json())["stale"] is True
    assert "stale" in pyarrow.Table.from_pandas(old.to_pandas()).column_names


def test_stored_and_the_time_stand_in_every_form(place: Path) -> None:
    asked(place, "January")
    again = asked(place, "January")
    at = again.answered_at
    assert f"given before, on {at:%Y-%m-%d %H:%M}" in str(again)
    assert f"given before, on {at:%Y-%m-%d %H:%M}" in again._repr_html_()
    told = {"note": None, "stale": False, "stored": True, "answered_at": at.isoformat()}
    assert {name: json.loads(again.to_json())[name] for name in told} == told
    assert told.items() <= again.to_pandas().attrs.items()
    assert again.table.schema.metadata[b"dovetail.stored"] == b"True"
    assert again.to_csv().split("\n")[0] == "sex,value,low,high,stored,answered_at"
    assert again.to_csv().split("\n")[1].endswith(f",True,{at.isoformat()}")


def test_fresh_pays_for_a_new_one_and_both_versions_are_found_again(place: Path) -> None:
    first = asked(place, "January")
    new = asked(place, "February", noise=Geometric(1), fresh=True)
    assert (new.stored, str(new.remaining)) == (False, "epsilon 8")
    assert asked(place, "January").answered_at == first.answered_at
    assert asked(place, "February").answered_at == new.answered_at


def test_a_select_is_marked_too(place: Path) -> None:
    text = "SELECT COUNT(*) AS n FROM people"
    with opened(place, version="1") as session:
        first = session.sql(text, noise=Geometric(1))
    with opened(place, version="2") as session, pytest.warns(StaleAnswer):
        again = session.sql(text, noise=Geometric(1))
    mark = f"stored {day(first.answered_at)}; the data have changed since"
    assert again.stale
    assert str(again).startswith(mark + "\n")
    assert again._repr_html_().startswith(f"<p><strong>{mark}</strong></p>")
    assert again.table["stale"].to_pylist() == [mark]
    assert list(json.loads(again.to_json()))[1:3] == ["note", "stale"]


def test_a_file_that_was_written_again_is_another_version(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age\n40\n")
    with dv.Session(path, budget=TEN) as session:
        session.count(noise=Geometric(1))
        assert not session.count(noise=Geometric(1)).stale
        os.utime(path, ns=(1, 1))
        with pytest.warns(StaleAnswer):
            assert session.count(noise=Geometric(1)).stale
        assert not session.count(noise=Geometric(1), fresh=True).stale
        assert not session.count(noise=Geometric(1)).stale
    with opened(tmp_path / "other.ledger", source=path, version="v1") as session:
        session.count(noise=Geometric(1))
        os.utime(path, ns=(2, 2))
        # A label that was given counts more than the time.
        assert not session.count(noise=Geometric(1)).stale


def test_frames_without_a_label_say_that_it_is_about_the_rows_of_then(place: Path) -> None:
    first = asked(place, None)
    again = asked(place, None)
    assert (again.stored, again.stale, again.versioned) == (True, False, False)
    assert "about the rows at that time: the data have no version" in str(again)
    assert "rows at that time" not in str(first)
    with pytest.warns(StaleAnswer, match="may have changed"):
        named = asked(place, "January")
    assert str(named).startswith(f"stored {day(first.answered_at)}; the data may have changed since\n")


def test_the_version_is_taken_before_a_row_is_read(tmp_path: Path, home: Path, monkeypatch: Any) -> None:
    """A file that is written while it is read must not look as if its answer were about the new rows."""
    path = tmp_path / "people.csv"
    path.write_text("age\n40\n")
    with dv.Session(path, budget=TEN) as session:
        fetch = session._engine.fetch

        def slow(statement: Any) -> Any:
            os.utime(path, ns=(5, 5))
            return fetch(statement)

        monkeypatch.setattr(session._engine, "fetch", slow)
        session.count(noise=Geometric(1))
        with pytest.warns(StaleAnswer):
            assert session.count(noise=Geometric(1)).stale


@pytest.mark.parametrize(
    ("within", "probability", "free"),
    [(5, "0.95", True), (6, "0.95", True), (5, "0.9", True), (4, "0.95", False), (5, "0.99", False)],
)
def test_an_answer_that_is_exact_enough_serves_whoever_asks_for_less(
    place: Path, within: int, probability: str, free: bool
) -> None:
    first = asked(place, "1", within=5)
    with opened(place, version="1") as session:
        pay: dict[str, Any] = {"within": within, "probability": probability}
        quote = session.quote(dv.Histogram("sex", keys=SEXES), **pay)
        assert (quote.stored is not None) == free
        price = session.price(dv.Histogram("sex", keys=SEXES), **pay)
        answer = session.histogram("sex", keys=SEXES, **pay)
    assert answer.stored == free
    if free:
        assert price.epsilon == 0
        assert (answer.value, answer.noise, answer.charge) == (first.value, first.noise, first.charge)
        assert answer.level == Fraction(probability)
        assert quote.errors() == (first.noise.quantile_abs(Fraction(probability)),)
        assert "nothing: answered on" in str(quote)
    else:
        assert price == quote.charge == answer.charge


def test_only_the_same_question_about_the_same_version_serves(place: Path) -> None:
    asked(place, "1", within=5)
    others: list[dict[str, Any]] = [{"where": "age > 3"}, {"keys": {"sex": ["F"]}}]
    with opened(place, version="1") as session:
        for other in others:
            assert not session.histogram("sex", **({"keys": SEXES} | other), within=6).stored
        # A price and a noise are typed: they get what they name.
        assert not session.histogram("sex", keys=SEXES, noise=Geometric("0.4")).stored
        assert not session.histogram("sex", keys=SEXES, within=7, fresh=True).stored
    assert not asked(place, "2", within=6).stored


def test_an_error_that_the_rows_decide_about_is_never_taken_for_enough(place: Path) -> None:
    mean = dv.Mean("age", low=0, high=99, step=1)
    with opened(place, version="1") as session:
        session.mean("age", low=0, high=99, step=1, spend=dv.Budget.pure(2))
        assert session.quote(mean, spend=dv.Budget.pure(1)).stored is None
        with pytest.raises(InvalidQuery, match="depends on the number of rows"):
            session.quote(mean, within=1000)
        for questions in ([mean], [dv.Count(), mean]):
            quote = session.quote(questions, spend=dv.Budget.pure(1))
            # Such an accuracy is refused; if it were not, no stored answer would have it.
            enough = accepted(replace(quote, payment=replace(quote.payment, within=Fraction(1000))))
            assert enough is not None
            assert not enough(bodies(quote, "people")[0])


def test_an_answer_that_is_just_as_exact_as_asked_for_serves(place: Path) -> None:
    with opened(place) as session:
        (error,) = session.quote(dv.Count(), noise=Geometric(1)).errors()
        assert error is not None
        first = session.count(noise=Geometric(1))
        assert session.count(within=error).reference == first.reference
        assert not session.count(within=error - 1).stored


def test_where_one_of_several_questions_finds_keys_no_other_answer_serves(tmp_path: Path) -> None:
    """Which keys show depends on the rows, so another noise is never said to be as good."""
    found, counted = dv.Histogram("sex", keys="discover"), dv.Count()
    budget = dv.Budget.approximate(10, "1e-3")
    with dv.Session(AGES, name="people", budget=budget, ledger=tmp_path / "keys.ledger") as session:
        pay: Any = {"within": 50, "delta": "1e-6"}
        assert accepted(session.quote([counted], within=50)) is not None
        assert accepted(session.quote([found], **pay)) is None
        assert accepted(session.quote([found, counted], **pay)) is None
        assert accepted(session.quote([counted], spend=dv.Budget.pure(1))) is None


def test_a_batch_is_served_by_the_same_batch_only(place: Path) -> None:
    batch = [dv.Count("age > 3"), dv.Count("age > 4")]
    with opened(place, version="1") as session:
        session.batch(batch, within=5)
        assert all(answer.stored for answer in session.batch(batch, within=6))
        assert not session.count(where="age > 3", within=6).stored


def test_a_retry_key_is_looked_at_first_and_serves_for_free_too(place: Path) -> None:
    with opened(place, version="1") as session:
        paid = session.count(within=5, request="a")
        assert session.count(within=6, request="b").answered_at == paid.answered_at
        with pytest.raises(dv.RequestConflict):
            session.count(within=6, request="a")


def test_own_answers_are_nobody_else_s_not_even_in_a_quote(place: Path) -> None:
    asked(place, "1", within=5)
    with Ledger.open(place) as ledger:
        ledger.set_policy("people", answers="own")
    query = dv.Histogram("sex", keys=SEXES)
    with opened(place, version="1", analyst="bea") as session:
        # The ledger knows her: of somebody whom it does not know it could find no answer anyway.
        session.count(noise=Geometric(1))
        for within in (5, 6):
            assert session.quote(query, within=within).stored is None
        assert not session.histogram("sex", keys=SEXES, within=6).stored
    with opened(place, version="1") as session:
        assert session.quote(query, within=6).stored is not None
    with Ledger.open(place) as ledger:
        ledger.set_policy("people", access="granted")
        ledger.verify()
    with opened(place, version="1") as session:
        # Who may not ask is told nothing, and still sees the price.
        assert session.quote(query, within=6).stored is None


def test_a_quote_that_was_free_is_charged_if_it_is_so_no_more(place: Path) -> None:
    asked(place, "1", within=5)
    with opened(place, version="1", analyst="bea") as session:
        quote = session.quote(dv.Histogram("sex", keys=SEXES), within=5)
        assert quote.stored is not None
        with Ledger.open(place) as ledger:
            ledger.set_policy("people", answers="own")
        answer = session.answer(quote)[0]
    assert (answer.stored, answer.charge) == (False, quote.charge)
    assert answer.charge.epsilon


def test_the_record_is_whole_with_questions_in_its_index(place: Path) -> None:
    asked(place, "1", within=5)
    asked(place, "1", within=2)
    with Ledger.open(place) as ledger:
        ledger.verify()


def test_found_keys_come_back_with_their_share_of_delta(tmp_path: Path) -> None:
    queries = [dv.Histogram("word", keys="discover"), dv.Histogram("n", keys="discover"), dv.Count()]
    terms: dict[str, Any] = {"protects": "rows", "budget": dv.Budget.approximate(9, "1e-6")}
    with dv.Session(WORDS, name="words", ledger=tmp_path / "a.ledger", **terms) as session:
        quote = session.quote(queries, noise=Geometric(1), delta="1e-8")
        given = session.answer(quote)
        asked = [each.to_dict() for each in quote.asked]
        body = json.dumps({"asked": asked, "neighbours": "add-remove", "source": ""})
        stored = write_released([ReleasedCells(each.cells, each.found) for each in given], given[0].charge)
        standing = session._account.standing()
        again = recalled("words", body, stored, given[0].answered_at, standing, given[0].level)
    assert [each.threshold for each in again] == [each.threshold for each in given]
    assert [each.value for each in again] == [each.value for each in given]
    assert [each.keys for each in again] == [each.keys for each in given]
    assert all(each.stored for each in again)


def test_answers_of_an_online_run_are_not_read_back_one_by_one() -> None:
    nothing: Any = None
    assert asked_of('{"online": 1}') == []
    with pytest.raises(InvalidQuery, match="online run"):
        recalled("words", '{"online": 1}', "{}", nothing, nothing, nothing)
