"""JSON of answers: decimals that a published schema describes, and readers of both formats."""

import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dv
from dovetail.answers import Answer, RangeAnswer, json_schema
from dovetail.answers.number_formats import written_numbers
from dovetail.answers.table import TableAnswer
from dovetail.errors import InvalidParameter
from dovetail.query.measures import Bar
from json_schemas import violations

FIRST = json.loads((Path(__file__).parents[1] / "data" / "answers-1.json").read_text(encoding="utf-8"))
SCHEMA = dv.Schema(
    [dv.Column("k", "text", values=["a", "b"]), dv.Column("x", "number"), dv.Column("tag", "text")]
)
ROWS = pyarrow.table({"k": ["a", "a", "b"] * 50, "x": [1.5, 2.0, 3.0] * 50, "tag": list("uvwxy") * 30})
BOUNDS = {"low": 0, "high": 4, "step": "0.5"}


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dv.Session]:
    place = tmp_path_factory.mktemp("json") / "rows.ledger"
    budget = dv.Budget.approximate("100/3", "1e-6")
    with dv.Session(ROWS, name="rows", budget=budget, ledger=place, schema=SCHEMA) as opened:
        yield opened


def asked(session: dv.Session) -> list[Answer]:
    plan = session.plan(dv.Geometric("0.1"), queries=3)
    return [
        session.histogram("k", noise=dv.Geometric("1/3")),
        session.histogram("k", noise=dv.Geometric("1/3")).consistent(),
        session.count(where="x > 1.5", plan=plan, clamp=True),
        session.sum("x", **BOUNDS, noise=dv.DiscreteGaussian(3)),
        session.mean("x", **BOUNDS, noise=dv.GeometricMixture("0.2", 1, 5)),
        session.std("x", **BOUNDS, spend=dv.Budget.pure(1)),
        session.quantiles("x", [0.25, 0.5], **BOUNDS, spend=dv.Budget.pure(1)),
        session.histogram("tag", keys="discover", noise=dv.Geometric(1), delta="1e-8"),
        session.ranges("x", **BOUNDS, spend=dv.Budget.pure(1)),
    ]


def test_words_in_any_script_are_written_as_they_are(tmp_path: Path) -> None:
    schema = dv.Schema([dv.Column("place", "text", values=["Łódź", "東京"])])
    rows = pyarrow.table({"place": ["Łódź", "東京"]})
    with dv.Session(rows, name="r", budget=dv.Budget.pure(1), ledger=tmp_path / "l", schema=schema) as opened:
        text = opened.histogram("place", noise=dv.Geometric(1)).to_json()
    assert "Łódź" in text
    assert "東京" in text


def test_every_answer_keeps_the_published_schema_and_comes_back_whole(session: dv.Session) -> None:
    for answer in asked(session):
        text = answer.to_json()
        assert list(violations(json.loads(text), json_schema())) == []
        again = type(answer).from_json(text)
        assert again.to_json() == text
        assert str(again) == str(answer)
        assert [bar.high for bar in again.bars("0.99")] == [bar.high for bar in answer.bars("0.99")]


def test_a_tree_that_was_read_back_answers_other_ranges(session: dv.Session) -> None:
    tree = session.ranges("x", **BOUNDS, spend=dv.Budget.pure(1))
    assert RangeAnswer.from_json(tree.to_json()).range(1, 2) == tree.range(1, 2)


def test_tables_and_quotes_keep_their_schemas(session: dv.Session) -> None:
    text = "SELECT k, COUNT(*) AS n, AVG(x) FROM data GROUP BY k ORDER BY n LIMIT 1"
    schema = dv.Schema([*SCHEMA.columns[:1], dv.Column("x", "number", low=0, high=4, step="0.5")])
    budget, place = dv.Budget.pure(9), session.ledger_place + "2"
    with dv.Session(ROWS, name="rows", budget=budget, ledger=place, schema=schema) as other:
        table = other.sql(text, noise=dv.Geometric(1))
        quote = other.quote(dv.Count(), within=5)
    assert list(violations(json.loads(table.to_json()), json_schema("dovetail.table/2"))) == []
    assert list(violations(json.loads(quote.to_json()), json_schema("dovetail.quote/2"))) == []
    assert TableAnswer.from_json(table.to_json()).to_json() == table.to_json()
    assert TableAnswer.from_json(table.to_json()).to_csv() == table.to_csv()


def test_prices_are_the_decimals_that_people_read(session: dv.Session) -> None:
    charge = session.price(dv.Count(), noise=dv.Geometric("0.58402"))
    assert (charge.epsilon, str(charge.epsilon)) == (Decimal("0.58402"), "0.58402")
    assert charge.delta == 0
    assert isinstance(session.remaining.epsilon, Decimal | Fraction)


def test_the_check_of_the_schema_notices_what_is_wrong(session: dv.Session) -> None:
    told = json.loads(session.count(noise=dv.Geometric(1)).to_json())
    wrong: list[dict[str, Any]] = [
        told | {"schema": "dovetail.answer/1"},
        told | {"charge": told["charge"] | {"epsilon": 10**9}},
        told | {"rows": [told["rows"][0] | {"value": 5.0}]},
        {name: value for name, value in told.items() if name != "released"},
    ]
    assert all(list(violations(each, json_schema())) for each in wrong)


@pytest.mark.parametrize("name", ["histogram", "consistent", "sum"])
def test_the_first_format_is_still_read(name: str) -> None:
    first = FIRST[name]
    answer = Answer.from_json(json.dumps(first))
    for row, told in zip(first["rows"], answer.rows(), strict=True):
        assert [Fraction(told[end]) for end in ("value", "low", "high")] == [
            Fraction(row[end]) for end in ("value", "low", "high")
        ]
    assert answer.charge.to_units() == first["charge"]
    assert json.loads(answer.to_json())["schema"] == "dovetail.answer/2"


def test_what_the_first_format_does_not_hold_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="does not hold what was released"):
        Answer.from_json(json.dumps(FIRST["mean"]))
    unseen = FIRST["consistent"] | {"rows": [{"keys": {"k": "a"}, "value": 0, "low": 0, "high": 0}]}
    with pytest.raises(InvalidParameter, match="clamping"):
        Answer.from_json(json.dumps(unseen))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "dovetail.answer/2"}', "[" * 10**5, b"\xff"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="format"):
        Answer.from_json(text)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("released", []),
        ("released", [["1"]]),
        ("released", [["1", "2"], ["3", "4"]]),
        ("noises", []),
        ("neighbours", "nobody"),
        ("neighbours", []),
        ("together", 0),
        ("together", None),
        ("query", {"measure": {"count": "rows"}, "axes": [], "where": None}),
        ("charge", []),
        ("paid_by", "plan"),
    ],
)
def test_an_answer_that_does_not_fit_its_question_is_refused_when_it_is_read(
    session: dv.Session, member: str, value: object
) -> None:
    written = json.loads(session.histogram("k", noise=dv.Geometric("1/3")).to_json())
    with pytest.raises(InvalidParameter, match="a whole answer"):
        Answer.from_json(json.dumps(written | {member: value}))


def test_a_table_of_other_columns_is_refused_when_it_is_read(session: dv.Session) -> None:
    written = json.loads(session.sql("SELECT COUNT(*) FROM data", noise=dv.Geometric("1/3")).to_json())
    for columns in ("x", [1], [{}], {"a": 1}):
        with pytest.raises(InvalidParameter, match="a whole answer"):
            TableAnswer.from_json(json.dumps(written | {"columns": columns}))


@given(st.fractions(), st.fractions(0, 10**6), st.fractions(0, 10**6))
def test_an_interval_in_decimals_is_never_narrower(value: Fraction, below: Fraction, above: Fraction) -> None:
    bar = Bar(value - below, value + above)
    told = written_numbers(value, bar, exact=False)
    assert Fraction(told["low"]) <= bar.low
    assert Fraction(told["high"]) >= bar.high
    assert float(told["value"]) == float(value)
