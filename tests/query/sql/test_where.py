"""The closed language of `where`: what it means, and that nothing else gets in."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from itertools import product

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.engines import Engine, Source, connect
from dovetail.engines.aggregation import true_cells
from dovetail.errors import InvalidQuery
from dovetail.query import Column, Count, Schema
from dovetail.query.sql.tokens import LONGEST_TEXT
from dovetail.query.sql.where import read_where

SCHEMA = Schema(
    [
        Column("age", "integer"),
        Column("height", "number"),
        Column("sex", "text"),
        Column("born", "date"),
        Column("active", "boolean"),
        Column("capital gain", "integer"),
    ]
)
TABLE = SCHEMA.table()


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("age >= 40", "40 <= age"),
        ("age >= 40", "AGE >= 40.0"),
        ("NOT age < 40", "age >= 40"),
        ("age BETWEEN 20 AND 30", "age <= 30 AND age >= 20"),
        ("age IN (3, 1, 2, 1)", "age in (1,2,3)"),
        ("age IN (5)", "age = 5"),
        ("age = 1 AND sex = 'M'", "(sex = 'M') AND (age = 1)"),
        ("age = 1 AND (sex = 'M' AND active)", "active = TRUE AND age = 1 AND sex = 'M' AND age = 1"),
        ("NOT (age = 1 OR sex IS NULL)", "age <> 1 AND sex IS NOT NULL"),
        ("NOT age IN (1, 2)", "age NOT IN (2, 1)"),
        ("height < 1.50", "height < 1.5"),
        ("born < '2000-01-01'", "born < DATE '2000-01-01'"),
        ('"capital gain" > 0', '0 < "capital gain"'),
    ],
)
def test_one_question_has_one_form_however_it_is_spelled(one: str, another: str) -> None:
    assert read_where(one, TABLE) == read_where(another, TABLE)
    assert read_where(one, TABLE).to_dict() == read_where(another, TABLE).to_dict()


@pytest.mark.parametrize(
    "text",
    [
        "1/(age-5) > 0",
        "age + 1 > 2",
        "CAST(sex AS INTEGER) = 1",
        "sex::int = 1",
        "pg_sleep(10) = 1",
        "length(sex) > 3",
        "age = (SELECT 1)",
        "age IN (SELECT 1)",
        "EXISTS (SELECT 1)",
        "sex LIKE 'M%'",
        "age = age",
        "age > height",
        "1 = 1",
        "TRUE",
        "40",
        "age = NULL",
        "age > 40 -- and more",
        "age /* hidden */ > 40",
        "age > 40; DROP TABLE data",
        "data.age > 40",
        "age > ?",
        "age = :x",
        "age IN ()",
        "age",
        "NOT age",
        "SELECT 1",
        "",
        "(",
        "';--",
        "age BETWEEN SYMMETRIC 1 AND 2",
        "age IS NOT DISTINCT FROM 3",
        "CASE WHEN age > 1 THEN age > 2 END",
        "age > 1e99999999",
        "age > 40.5",
        "age > 'x'",
        "sex = 1",
        "born > '2000-13-01'",
        "active = 1",
        "weight > 3",
        "age > 9223372036854775808",
        "height > 1e309",
        "age = 1 OR " * 5 + "random()",
        "(" * 900 + "age = 1" + ")" * 900,
        "NOT " * 3000 + "age = 1",
        "age = 1 OR " * LONGEST_TEXT + "age = 2",
        "sex = 'a\0b'",
        "sex = '\ud800'",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(InvalidQuery):
        read_where(text, TABLE)


def test_a_refusal_says_what_is_possible_and_what_was_meant() -> None:
    with pytest.raises(InvalidQuery, match=r"You can use comparisons of a column with constants"):
        read_where("length(sex) > 3", TABLE)
    with pytest.raises(InvalidQuery, match=r"Did you mean height\?"):
        read_where("heigth > 3", TABLE)
    with pytest.raises(InvalidQuery, match=r"whose type is integer. Give a whole number"):
        read_where("age > 'x'", TABLE)


def test_a_long_list_of_alternatives_is_not_a_deep_one() -> None:
    text = " OR ".join(f"age = {number}" for number in range(900))
    assert len(read_where(text, TABLE).to_dict()["any"]) == 900


@settings(deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="age>=<'\"();-*/ NOT IN NULL 0123456789.,", max_size=60))
def test_any_text_is_either_understood_or_refused(text: str) -> None:
    with suppress(InvalidQuery):
        assert read_where(text, TABLE).to_dict()


# A second opinion on SQL's three-valued logic: None is unknown.
AGES: list[int | None] = [None, 1, 2, 3]
FLAGS: list[bool | None] = [None, True, False]
Tree = tuple[str, ...] | tuple[str, "Tree"] | tuple[str, "Tree", "Tree"]

leaves = st.one_of(
    st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(0, 4)),
    st.tuples(st.just("IN"), st.lists(st.integers(0, 4), min_size=1, max_size=3)),
    st.just(("NULL",)),
    st.just(("active",)),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.tuples(st.just("NOT"), inner), st.tuples(st.sampled_from(["AND", "OR"]), inner, inner)
    ),
    max_leaves=8,
)


def spell(tree: tuple) -> str:  # type: ignore[type-arg]
    match tree:
        case ("NOT", inner):
            return f"NOT ({spell(inner)})"
        case ("AND" | "OR", left, right):
            return f"({spell(left)}) {tree[0]} ({spell(right)})"
        case ("IN", values):
            return f"age IN ({', '.join(map(str, values))})"
        case ("NULL",):
            return "age IS NULL"
        case ("active",):
            return "active"
        case (operator, value):
            return f"age {operator} {value}"
    raise AssertionError(tree)


def truth(tree: tuple, age: int | None, active: bool | None) -> bool | None:  # type: ignore[type-arg]
    match tree:
        case ("NOT", inner):
            value = truth(inner, age, active)
            return None if value is None else not value
        case ("AND" | "OR", left, right):
            pair = (truth(left, age, active), truth(right, age, active))
            decisive = tree[0] == "OR"
            return decisive if decisive in pair else None if None in pair else not decisive
        case ("NULL",):
            return age is None
        case ("active",):
            return active
    if age is None:
        return None
    operator, value = tree
    compare = {
        "=": lambda: age == value,
        "<>": lambda: age != value,
        "<": lambda: age < value,
        "<=": lambda: age <= value,
        ">": lambda: age > value,
        ">=": lambda: age >= value,
        "IN": lambda: age in value,
    }
    return compare[operator]()


ROWS = list(product(AGES, FLAGS))


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    ages, flags = pyarrow.array([r[0] for r in ROWS], "int64"), pyarrow.array([r[1] for r in ROWS], "bool")
    opened = connect(Source.of(pyarrow.table({"age": ages, "active": flags}), name="rows"))
    yield opened
    opened.close()


@settings(deadline=None)
@given(tree=trees)
def test_rewriting_keeps_the_meaning_of_three_valued_logic(engine: Engine, tree: tuple) -> None:  # type: ignore[type-arg]
    question = Count(where=spell(tree)).checked(Schema().table(engine.columns()))
    assert true_cells(engine, question) == [(sum(truth(tree, *row) is True for row in ROWS),)]


def test_dates_are_read_as_dates() -> None:
    condition = read_where("born >= '1999-12-31'", TABLE)
    assert condition.value == date(1999, 12, 31)  # type: ignore[union-attr]


DECLARED = Schema(
    [
        Column("sex", "text", values=["F", "M", None]),
        Column("town", "text", values=["Bern", "Basel"], other="elsewhere"),
        Column("grade", "integer", values=[1, 2, 3]),
        Column("note", "text"),
    ]
).table()


@pytest.mark.parametrize(
    "text",
    ["sex = 'Female'", "'f' = sex", "sex <> 'X'", "sex IN ('F', 'W')", "NOT sex IN ('W', 'X')", "grade = 4"],
)
def test_a_value_that_the_schema_rules_out_is_refused_and_the_declared_ones_are_named(text: str) -> None:
    with pytest.raises(InvalidQuery, match="is not among the values that the schema declares") as refused:
        read_where(text, DECLARED)
    assert ("The values are F, M." in str(refused.value)) == ("sex" in text)


@pytest.mark.parametrize(
    ("text", "compared"),
    [
        ("sex = 'F'", [("sex", "=", "F")]),
        ("sex IS NULL", [("sex", "is null", None)]),
        ("sex >= 'A'", [("sex", ">=", "A")]),
        ("grade < 9", [("grade", "<", 9)]),
        ("grade BETWEEN 0 AND 9", [("grade", "<=", 9), ("grade", ">=", 0)]),
        ("town = 'Chur'", [("town", "=", "Chur")]),
        ("note = 'any'", [("note", "=", "any")]),
    ],
)
def test_orders_and_columns_that_may_hold_other_values_take_any_constant(
    text: str, compared: list[tuple[str, str, object]]
) -> None:
    read = read_where(text, DECLARED).to_dict()
    parts = read.get("all", [read])
    assert [(part["column"][0], part["compare"], part.get("value")) for part in parts] == compared


def test_a_typed_condition_is_held_to_the_declared_values_too() -> None:
    from dovetail.query.condition import ColumnComparison, Member, checked
    from dovetail.query.field import Field

    field = Field("sex", "text")
    for condition in (ColumnComparison(field, "=", "Female"), Member(field, ("F", "W"))):
        with pytest.raises(InvalidQuery, match="The values are F, M"):
            checked(condition, DECLARED)


def test_a_near_miss_is_guessed() -> None:
    with pytest.raises(InvalidQuery, match="Did you mean 'Basel'"):
        read_where("town = 'Bazel'", Schema([Column("town", "text", values=["Bern", "Basel"])]).table())


def test_a_table_keeps_some_conditions_and_only_its_own() -> None:
    table, other = (Schema([Column(name, "integer")]).table() for name in ("age", "year"))
    kept = read_where("age >= 40", table)
    assert read_where("age >= 40", table) is kept
    with pytest.raises(InvalidQuery):
        read_where("age >= 40", other)
    for number in range(1000):
        assert read_where(f"age >= {number}", table) == read_where(f"NOT age < {number}", table)
    assert 0 < len(table.conditions) <= 64
    read_where("age IN (" + ", ".join(map(str, range(400))) + ")", table)
    assert all(len(text) <= 500 for text in table.conditions)


@pytest.mark.parametrize(
    ("text", "hint"),
    [("age => 40", "=> is no comparison: write >=."), ("age =< 40", "=< is no comparison: write <=.")],
)
def test_signs_that_changed_places_are_told(text: str, hint: str) -> None:
    with pytest.raises(InvalidQuery) as refused:
        read_where(text, TABLE)
    assert hint in str(refused.value)
