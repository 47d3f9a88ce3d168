"""Expressions that derive columns: understood in every spelling, or refused with what is possible."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as dv
from dovetail.errors import DovetailError, InvalidParameter, InvalidQuery
from dovetail.query import Column, Count, Histogram, Lookup, Schema, Sum
from dovetail.query.canonical_form import read_question
from dovetail.query.derived_columns import STARTS, DateStart, started
from dovetail.query.field import Field
from dovetail.query.sql import read_select

CANTONS = {"code": ["ZH", "GE", "TI"], "language": ["de", "fr", None], "number": [1, 25, 21]}
SCHEMA = Schema(
    [
        Column("admitted", "date", low="2023-01-01", high="2024-12-31"),
        Column("seen", "timestamp"),
        Column("age", "integer", low=0, high=104),
        Column("income", "number", low=0, high=100, step=1),
        Column("canton", "text"),
        Column("draft", "date", reviewed=False),
        Column("born in", "date"),
    ],
    derived={
        "life": "CASE WHEN age < 18 THEN 'child' ELSE 'adult' END",
        "winter": "CASE life WHEN 'child' THEN 1 END",
    },
    lookups=[Lookup("cantons", CANTONS, key="code", on="canton"), Lookup("loose", CANTONS, key="code")],
    zone="Europe/Zurich",
)
TABLE = SCHEMA.table()


def same(*texts: str) -> bool:
    forms = [Histogram(text).checked(TABLE).to_dict() for text in texts]
    return all(form == forms[0] for form in forms)


def test_one_column_has_many_spellings() -> None:
    assert same(
        "admitted.month",
        "ADMITTED.Month",
        "EXTRACT(MONTH FROM admitted)",
        "MONTH(admitted)",
        "(admitted.month)",
    )
    assert same("admitted.month_start", "date_trunc('MONTH', admitted)", "DATE_TRUNC('month', \"admitted\")")
    assert same("FLOOR(age / 10) * 10", "10.0 * floor(age/10)", "FLOOR(AGE/1e1) * 10")
    assert same("life", "CASE WHEN NOT age >= 18 THEN 'child' ELSE 'adult' END")
    assert same("cantons.language", "LOOKUP(canton, cantons.language)", "Cantons.LANGUAGE")
    assert not same("admitted.month", "admitted.quarter")
    assert not same("life", "CASE WHEN age < 19 THEN 'child' ELSE 'adult' END")


def test_the_name_of_a_derived_column_reads_the_same_again() -> None:
    for text in (
        '"born in".month',
        "CASE \"born in\" WHEN '2024-01-01' THEN 'it''s' END",
        "LOOKUP(canton, loose.number)",
    ):
        name = TABLE.resolve(text)
        assert TABLE.resolve(name) == name
        assert TABLE.field(name) == TABLE.field(text)


def test_sql_groups_by_derived_columns_and_joins_lookups() -> None:
    plain = Histogram("cantons.language", where="cantons.number > 2").checked(TABLE).to_dict()
    for text in (
        "SELECT c.language, COUNT(*) FROM data AS d LEFT JOIN cantons c ON d.canton = c.code "
        "WHERE c.number > 2 GROUP BY c.language",
        "SELECT cantons.language, COUNT(*) FROM data LEFT OUTER JOIN cantons ON (cantons.code = canton) "
        "WHERE data.age IS NULL OR cantons.number > 2 GROUP BY 1".replace("data.age IS NULL OR ", ""),
        "SELECT cantons.language, COUNT(*) FROM data WHERE cantons.number > 2 GROUP BY cantons.language",
    ):
        (query,) = read_select(text, TABLE).queries
        assert query.checked(TABLE).to_dict() == plain
    (query,) = read_select(
        "SELECT EXTRACT(MONTH FROM admitted) AS m, COUNT(*) FROM data GROUP BY 1 ORDER BY m", TABLE
    ).queries
    assert query.checked(TABLE).to_dict() == Histogram("admitted.month").checked(TABLE).to_dict()
    (query,) = read_select("SELECT SUM(CASE WHEN age < 18 THEN 1 ELSE 0 END) AS n FROM data", TABLE).queries
    assert query.checked(TABLE).measure.components()[0].reach.up == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("admitted.fortnight", "admitted.month_start"),
        ("EXTRACT(DOW FROM admitted)", "ISODOW"),
        ("EXTRACT(EPOCH FROM admitted)", "The parts are year"),
        ("DATE_TRUNC('decade', admitted)", "cut to year"),
        ("admitted.hour", "days, which have no hour"),
        ("age.month", "type of age is integer"),
        ("seen.year", "Declare low and high for seen"),
        ("seen.hour_start", "Declare low and high for seen"),
        ("draft.month", "not yet reviewed"),
        ("admited.month", "Did you mean admitted"),
        ("FLOOR(age / 0) * 0", "does not derive"),
        ("FLOOR(age / -10) * -10", "does not derive"),
        ("FLOOR(age / 10) * 5", "same number above 0 twice"),
        ("FLOOR(age / age) * 10", "same number above 0"),
        ("FLOOR(admitted / 10) * 10", "only numbers have such bins"),
        ("FLOOR(income / 0.001) * 0.001", "bins of income are more than 2000"),
        ("FLOOR(age / 1e-9) * 1e-9", "are more than"),
        ("FLOOR(life / 10) * 10", "derived itself"),
        ("CASE WHEN age < 18 THEN age END", "must be a constant"),
        ("CASE WHEN age < 18 THEN 'x' ELSE 1 END", "all alike"),
        ("CASE WHEN age < 18 THEN 1.5 END", "all alike"),
        ("CASE WHEN 1/(age - 5) > 2 THEN 1 END", "must be a constant"),
        ("CASE WHEN CAST(canton AS INT) = 1 THEN 1 END", "must be a constant"),
        ("CASE age + 1 WHEN 1 THEN 1 END", "must be a column"),
        ("CASE WHEN life = 'baby' THEN 1 END", "not a value of life"),
        ("CASE WHEN life < 'a' THEN 1 END", "No value of life is <"),
        ("cantons.capital", "Its columns are code, language, number"),
        ("loose.language", "LEFT JOIN loose ON column = loose.code"),
        ("LOOKUP(age, cantons.language)", "cannot be compared with age"),
        ("LOOKUP(income, cantons.language)", "cannot be the key of a lookup"),
        ("LOOKUP(canton, nowhere.language)", "There is no lookup 'nowhere'"),
        ("LOOKUP(canton)", "does not derive"),
        ("a.b.c.d", "is not a column"),
        ("UPPER(canton)", "is not a column of the data"),
        ("REGEXP_REPLACE(canton, 'a', 'b')", "is not a column of the data"),
        ("CAST(age AS TEXT)", "is not a column of the data"),
        ("age /* x */ .month", "comment|cannot be read"),
        ("CASE WHEN", "cannot be read"),
        ("f(" * 30 + ")" * 30, "nested deeper"),
    ],
)  # fmt: skip
def test_whatever_could_fail_on_a_row_is_refused_with_a_way_out(text: str, says: str) -> None:
    with pytest.raises(InvalidQuery, match=says):
        Histogram(text).checked(TABLE)
    with pytest.raises(DovetailError):
        read_select(f"SELECT {text}, COUNT(*) FROM data GROUP BY 1", TABLE)


def test_a_refused_expression_spends_nothing(tmp_path: Path) -> None:
    table = pyarrow.table({"age": [1, 2]})
    schema = Schema(
        [Column("age", "integer", low=0, high=9)], derived={"broken": "1 / age", "later": "CASE wrong"}
    )
    with dv.Session(
        table, name="t", schema=schema, budget=dv.Budget.pure(1), ledger=tmp_path / "l"
    ) as session:
        for text in ("FLOOR(age / 0) * 0", "broken", "later", "age.month"):
            with pytest.raises(InvalidQuery):
                session.histogram(text, within=5)
        assert not session.begun
        with pytest.raises(InvalidParameter, match="not one that is derived"):
            dv.Session(
                table, name="u", schema=schema, unit="FLOOR(age / 2) * 2", max_rows=1, ledger=tmp_path / "m"
            )


def test_a_constant_that_no_row_can_have_is_refused() -> None:
    for where in (
        "admitted.month = 13",
        "cantons.language = 'it'",
        "FLOOR(age / 10) * 10 = 5",
        "life IN ('a')",
    ):
        with pytest.raises(InvalidQuery, match="is not a value of"):
            Count(where).checked(TABLE)
    assert Count("admitted.month > 13").checked(TABLE)


def test_derived_columns_are_made_of_those_before_them() -> None:
    for derived in (
        {"a": "CASE b WHEN 1 THEN 1 END", "b": "CASE a WHEN 1 THEN 1 END"},
        {"a": "CASE a WHEN 1 THEN 1 END"},
    ):
        with pytest.raises(InvalidQuery, match="is not a column"):
            Histogram("a").checked(Schema([Column("n", "integer")], derived=derived).table())


def test_the_form_that_is_stored_tells_definitions_apart_and_reads_back() -> None:
    question = Histogram("life", "cantons.language", where="seen.hour = 3").checked(TABLE)
    form = question.to_dict()
    assert read_question(form).to_dict() == form
    assert [axis.field.name for axis in read_question(form).axes] == ["case", "cantons.language"]
    assert {"zone": "Europe/Zurich"} in form["where"]["column"][2]["of"]
    other = Schema(
        [Column("canton", "text")],
        lookups=[Lookup("cantons", {**CANTONS, "language": ["de", "de", None]}, key="code", on="canton")],
    )
    assert (
        Histogram("cantons.language").checked(other.table()).to_dict()
        != Histogram("cantons.language").checked(TABLE).to_dict()
    )
    assert (
        read_question(Sum("admitted.month").checked(TABLE).to_dict()).measure.words()
        == "sum of admitted.month"
    )


@given(st.sampled_from(STARTS), st.datetimes(datetime(1, 1, 8), datetime(9998, 1, 1)), st.integers(0, 3000))
def test_the_starts_are_all_that_moments_between_the_bounds_have(
    unit: str, low: datetime, hours: int
) -> None:
    high = low + timedelta(hours=hours)
    labels = DateStart(Field("t", "timestamp"), unit, low, high).labels()
    moments = [low + timedelta(hours=step) for step in range(hours + 1)]
    expected = dict.fromkeys(started(unit, moment) for moment in moments)
    assert labels == tuple(expected if unit == "hour" else (each.date() for each in expected))
    assert len(labels) <= DateStart(Field("t", "timestamp"), unit, low, high).count()


def test_lookups_are_read_from_files_and_frames(tmp_path: Path) -> None:
    (tmp_path / "cantons.csv").write_text("code,language\nZH,de\nGE,fr\nTI,\n", encoding="utf-8")
    table = pyarrow.table({"code": ["ZH", "GE", "TI"], "language": ["de", "fr", None]})
    pyarrow.parquet.write_table(table, tmp_path / "cantons.parquet")
    sources: list[Any] = [
        tmp_path / "cantons.csv", str(tmp_path / "cantons.parquet"), table, table.to_pandas(),
        polars.from_arrow(table), table.to_pydict(),
    ]  # fmt: skip
    made = [Lookup("cantons", source, key="code", on="canton") for source in sources]
    assert all(lookup == made[0] for lookup in made)
    (tmp_path / "people.toml").write_text(
        'schema = "dovetail.schema/1"\nzone = "Europe/Zurich"\n[columns.canton]\ntype = "text"\n'
        "[derived]\nlatin = \"CASE cantons.language WHEN 'fr' THEN TRUE ELSE FALSE END\"\n"
        '[lookups.cantons]\nfile = "cantons.csv"\nkey = "code"\non = "canton"\n'
    )
    schema = Schema.read(tmp_path / "people.toml")
    assert schema.lookups == (made[0],)
    assert Histogram("latin").checked(schema.table()).axes[0].labels == (True, False)
    schema.write(tmp_path / "again.toml")
    assert 'file = "cantons.csv"' in (tmp_path / "again.toml").read_text()
    assert Schema.read(tmp_path / "again.toml") == schema
    assert Schema.from_toml(SCHEMA.to_toml()) == SCHEMA
    assert Schema.from_toml(Schema(lookups=[made[0]]).to_toml()).lookups == (made[0],)


@pytest.mark.parametrize(
    ("table", "key", "says"),
    [
        ({"k": ["a", "a"]}, "k", "all different; 'a' is not"),
        ({"k": ["a", None]}, "k", "without missing values"),
        ({"k": []}, "k", "1 to 10000 rows"),
        ({"k": list(range(10_001))}, "k", "1 to 10000 rows"),
        ({"k": ["a"]}, "key", "a column of lookup l: k"),
        ({"k": ["a", "b"], "v": [1]}, "k", "equally long"),
        ({"k": [1.5]}, "k", "of one type"),
        ({"k": ["a", 1]}, "k", "of one type"),
        ({"k": [datetime(2024, 1, 1)]}, "k", "of one type"),
        ("k", "k", "cannot be read"),
        (5, "k", "a CSV or Parquet file"),
        ([], "k", "a CSV or Parquet file"),
    ],
)
def test_a_lookup_is_checked_when_it_is_declared(table: Any, key: str, says: str) -> None:
    with pytest.raises(DovetailError, match=says):
        Lookup("l", table, key=key)


def test_keys_that_are_alike_for_the_data_are_refused() -> None:
    schema = Schema(
        [Column("n", "integer")], lookups=[Lookup("l", {"k": ["1", "01"], "v": ["a", "b"]}, key="k", on="n")]
    )
    with pytest.raises(InvalidQuery, match="Two keys of lookup l are 1 for n"):
        Histogram("l.v").checked(schema.table())


@pytest.mark.parametrize("zone", ["EST", "Europe/Bern'", "Mars/Base", "+02:00", 5, "europe/zurich ", ""])
def test_zones_have_one_name(zone: Any) -> None:
    with pytest.raises(InvalidParameter, match="a region and a city"):
        Schema(zone=zone)
    assert Schema(zone="UTC") == Schema()


def test_names_of_derived_columns_and_lookups_are_their_own() -> None:
    stored = {"month": TABLE.stored["age"]}
    for schema in (
        Schema(derived={"month": "a.month"}),
        Schema(lookups=[Lookup("Month", {"k": [1]}, key="k")]),
    ):
        with pytest.raises(InvalidParameter, match="that the source does not use"):
            schema.table(stored)
    with pytest.raises(InvalidParameter, match="named differently"):
        Schema([Column("a", "date")], derived={"a": "a.month"})
    with pytest.raises(InvalidParameter, match="different names"):
        Schema(lookups=[Lookup("a", {"k": [1]}, key="k"), Lookup("A", {"k": [1]}, key="k")])
