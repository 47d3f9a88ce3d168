"""Tables for terminals, notebooks and Markdown: keys stay text, and two columns make a two-way table."""

import re
from collections.abc import Iterator

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dv
from dovetail.answers.text_tables import TextTable

HOSTILE = "<script>|*a*_\n`"
TABLE = pyarrow.table({"k": [HOSTILE, "b"] * 50, "m": ["x", "y"] * 50, "n": list(range(100))})


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dv.Session]:
    place = tmp_path_factory.mktemp("t") / "t.ledger"
    with dv.Session(TABLE, name="t", budget=dv.Budget.pure(999), ledger=place) as opened:
        yield opened


def test_two_columns_make_a_two_way_table(session: dv.Session) -> None:
    keys = {"k": ["a", "b"], "m": ["x", "y", "z"]}
    answer = session.histogram("k", "m", keys=keys, noise=dv.Geometric(1))
    lines = str(answer).splitlines()
    assert lines[0].split() == ["k", "/", "m", "x", "y", "z"]
    assert [line.count("±") for line in lines[1:3]] == [3, 3]
    assert answer.to_html().count("<tr>") == 3
    assert answer.to_markdown().splitlines()[1] == "|---|---:|---:|---:|"
    axes = answer.plot()
    assert len(axes.texts) == 6
    assert axes.figure._repr_png_()[1:4] == b"PNG"


def test_many_keys_across_stay_a_list(session: dv.Session) -> None:
    keys = {"k": ["a", "b"], "n": range(20)}
    answer = session.histogram("k", "n", keys=keys, noise=dv.Geometric(1))
    assert len(str(answer).splitlines()) == 41
    assert answer.to_markdown().count("\n| ") == 40
    assert answer.to_html().count("<tr>") == 41


def test_all_cells_are_written_where_a_notebook_shows_the_first(session: dv.Session) -> None:
    answer = session.histogram("n", keys=range(100), noise=dv.Geometric(1))
    assert "40 more cells" in answer._repr_html_()
    assert "more cells" not in answer.to_html()
    assert answer.to_html().count("<tr>") == 101


def test_a_two_way_table_is_shown_whole(session: dv.Session) -> None:
    keys = {"n": range(40), "m": ["x", "y"]}
    answer = session.histogram("n", "m", keys=keys, noise=dv.Geometric(1))
    assert answer._repr_html_() == answer.to_html()
    assert answer.to_html().count("<tr>") == 41


@pytest.mark.parametrize("columns", [("k",), ("k", "m")])
def test_hostile_keys_stay_text(session: dv.Session, columns: tuple[str, ...]) -> None:
    keys = {"k": [HOSTILE, "b"], "m": ["x", "y"]}
    answer = session.histogram(*columns, keys={name: keys[name] for name in columns}, noise=dv.Geometric(1))
    assert "<script>" not in answer.to_html() + answer.to_markdown()
    assert len(answer.to_markdown().split("\n\n")[0].splitlines()) == 4
    assert answer.plot().figure._repr_png_()[1:4] == b"PNG"


def test_tables_of_sql_have_the_same_forms(session: dv.Session) -> None:
    schema = dv.Schema([dv.Column("m", "text", values=["x", "y"])])
    place = session.ledger_place + "2"
    with dv.Session(TABLE, name="t", budget=dv.Budget.pure(9), ledger=place, schema=schema) as other:
        table = other.sql("SELECT COUNT(*) AS n, m FROM data GROUP BY m", noise=dv.Geometric(1))
    assert table.to_markdown().splitlines()[:2] == ["| n | m |", "|---:|---|"]
    assert table.to_html().startswith("<table>")


@given(st.lists(st.text(max_size=9), min_size=2, max_size=2), st.text(max_size=60))
def test_no_text_changes_the_shape_of_a_table(head: list[str], cell: str) -> None:
    table = TextTable((head[0], head[1]), ((cell, "1 ± 1"),), (False, True))
    assert len(table.text()) == 2
    assert all(len(line.splitlines()) <= 1 for line in table.text())
    lines = table.markdown()
    assert len(lines) == 3
    assert [len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) for line in lines] == [3, 3, 3]
    assert len("".join(lines).splitlines()) <= 1
    assert table.html().count("<td") == 2
