from contextlib import nullcontext
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
from dovetail.errors import InvalidParameter, InvalidQuery, MissingKeys
from dovetail.query import Column, Count, Histogram, Schema

printable = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=20
)


@given(
    st.lists(printable, min_size=1, max_size=4, unique=True),
    st.lists(printable, min_size=1, max_size=5),
    printable,
    st.booleans(),
)
def test_toml_gives_back_the_same_schema(
    names: list[str], values: list[str], other: str, missing: bool
) -> None:
    listed = [*values, None] if missing else values
    schema = Schema(Column(n, "text", values=listed, other=other, reviewed=not missing) for n in names)
    assert Schema.from_toml(schema.to_toml()) == schema


def test_every_type_survives_toml(tmp_path: Path) -> None:
    schema = Schema(
        [
            Column("n", "integer", low=-(2**62), high=2**62, step=2, values=[1, 2, None]),
            Column("x", "number", low="-1/3", high=0.1, step="1/64"),
            Column("b", "boolean", values=[True, False]),
            Column("d", "date", low="1900-01-01", high=date(2100, 1, 1)),
            Column("t", "timestamp", low=datetime(1970, 1, 1, 12, 30), high="2100-01-01"),
        ]
    )
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema
    column = schema.get("x")
    assert column is not None
    assert column.low == Fraction(-1, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not toml",
        'schema = "dovetail.schema/2"\n[columns.a]\ntype = "text"',
        'schema = "dovetail.schema/1"',
        'schema = "dovetail.schema/1"\n[columns.a]\ntype = "text"\nreviewd = false',
        'schema = "dovetail.schema/1"\n[columns.a]\ntype = "text"\nreviewed = "no"',
        'schema = "dovetail.schema/1"\n[columns.a]\ntype = "integer"\nvalues = ["x"]',
        'schema = "dovetail.schema/1"\n[columns.a]\ntype = "varchar"',
        'schema = "dovetail.schema/1"\n[columns.a]\nlow = 1',
    ],
)
def test_a_schema_text_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        Schema.from_toml(text)


@pytest.mark.parametrize(
    "options",
    [
        {"type": "integer", "low": 3, "high": 2},
        {"type": "number", "low": float("nan")},
        {"type": "text", "low": 1},
        {"type": "number", "values": [1.5]},
        {"type": "integer", "step": 0},
        {"type": "text", "values": []},
        {"type": "text", "values": "abc"},
        {"type": "text", "values": [1]},
    ],
)
def test_a_column_states_only_what_its_type_allows(options: dict[str, object]) -> None:
    with pytest.raises((InvalidParameter, InvalidQuery)):
        Column("a", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "table",
    [
        pandas.DataFrame({"code": ["x", "y"]}),
        polars.DataFrame({"code": ["x", "y"]}),
        pyarrow.table({"code": ["x", "y"]}),
        pandas.Series(["x", "y", "x"]),
        ("x", "y"),
    ],
)
def test_values_may_come_from_a_public_table(table: object) -> None:
    assert Column("code", "text", values=table).values == ("x", "y")


def test_a_drafted_schema_is_refused_until_it_is_confirmed(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,sex,born,ratio\n40,F,1980-01-01,0.5\n50,M,1970-01-01,1\n60,,1960-01-01,2\n")
    draft = dovetail.Schema.draft(path)
    assert [column.type for column in draft] == ["integer", "text", "date", "number"]
    assert draft.get("sex").values == ("F", "M", None)  # type: ignore[union-attr]
    assert draft.get("age").low == 40  # type: ignore[union-attr]
    assert not any(column.reviewed for column in draft)
    again = Schema.from_toml(draft.to_toml())
    for query in (Histogram("sex"), Count("sex = 'F'"), Histogram("sex", keys=["F"])):
        with pytest.raises(InvalidQuery, match=r"schema.confirm\('sex'\)"):
            query.checked(again.table())
    assert Histogram("sex").checked(again.confirm("sex").table()).cells == 3
    with pytest.raises(InvalidParameter):
        draft.confirm()


def test_keys_are_never_taken_from_the_data() -> None:
    table = Schema([Column("town", "text"), Column("age", "integer")]).table()
    for columns in (["town"], ["age"], ["town", "age"]):
        with pytest.raises(MissingKeys, match=r"Schema\.draft"):
            Histogram(*columns).checked(table)


def test_what_another_thread_forgets_meanwhile_is_read_again() -> None:
    """The threads of a service share the table of an analyst's session; each keeps only so much."""

    class Forgetful(dict[Any, Any]):
        def __contains__(self, key: object) -> bool:
            known = super().__contains__(key)
            self.clear()
            return known

    schema = Schema([Column("seen", "date", low="2024-01-01", high="2024-12-31")])
    table = replace(schema.table(), _possible=Forgetful(), _read=Forgetful(), conditions=Forgetful())
    asked = Count("seen.month = 3").checked(table)
    assert Count("seen.month = 3").checked(table) == asked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[columns.age]\ntype = 'integer'", 'said in its first line: schema = "dovetail.schema/1"'),
        ("schema = 'dovetail.schema/2'", "'dovetail.schema/2' must be"),
        ("schema = 'dovetail.schema/1'\n[colums.age]", "key='colums' must be one of columns"),
        ("schema = 'dovetail.schema/1'\ncolumns = 3", "columns=3 must be a table"),
        ("schema = 'dovetail.schema/1'", "one \\[columns.NAME\\] for each column"),
    ],
)
def test_a_text_that_is_no_schema_is_refused_by_what_it_lacks(text: str, said: str) -> None:
    with pytest.raises(InvalidParameter, match=said):
        Schema.from_toml(text)


HEAD = 'schema = "dovetail.schema/1"\n'
COLUMN = '[columns.age]\ntype = "integer"\n'


@pytest.mark.parametrize(
    "key",
    [
        "a" + ".a" * 16,
        '"a b"' + " . 'c'" * 16,
        "[a" + ".a" * 16 + "]",
        "[[a" + ".a" * 16 + "]]",
        "x = {a" + ".a" * 16,
    ],
)
def test_a_key_of_very_many_parts_is_refused_before_it_is_read(key: str) -> None:
    """Time and memory grow with the square of its parts: one of 100,000 filled the memory of a machine."""
    with pytest.raises(InvalidParameter, match="not nested so deeply"):
        Schema.from_toml(f"{HEAD}{key} = 1\n{COLUMN}")


@pytest.mark.parametrize(
    "line",
    [
        'note = "DOTS"',
        "note = 'DOTS'",
        'note = """\n"DOTS" \\""" DOTS"""',
        "note = '''\nDOTS ''DOTS'''",
        '# DOTS "DOTS',
        "values = ['\"', 'DOTS']",
    ],
)
def test_dots_in_texts_and_comments_are_no_keys(line: str) -> None:
    said = line.replace("DOTS", "a" + ".a" * 40)
    with pytest.raises(InvalidParameter) if not said.startswith("#") else nullcontext() as refused:
        Schema.from_toml(f"{HEAD}{said}\n{COLUMN}")
    assert refused is None or "nested" not in str(refused.value)
