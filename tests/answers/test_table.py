"""The table that a SELECT gives back: named, ordered and cut after the noise, with honest error bars."""

import json
from pathlib import Path

import pyarrow
import pytest

import dovetail as dv
from dovetail.errors import BudgetExceeded, UnsupportedSQL
from dovetail.query import Column, Schema

README = "SELECT sex, COUNT(*) AS n, AVG(age) FROM data WHERE age >= 40 GROUP BY sex ORDER BY n DESC LIMIT 5"


@pytest.fixture
def session(tmp_path: Path):  # type: ignore[no-untyped-def]
    with dv.Session(dv.datasets.adult(), budget=dv.Budget.pure(100), ledger=tmp_path / "a.ledger") as session:
        yield session


def test_a_select_gives_one_table_with_its_names(session: dv.Session) -> None:
    answer = session.sql(README, noise=dv.Geometric("0.5"))
    names = ["sex", "n", "n_low", "n_high", "avg_age", "avg_age_low", "avg_age_high"]
    assert answer.table.column_names == names
    rows = answer.table.to_pylist()
    assert [row["sex"] for row in rows] == ["Male", "Female"]
    assert abs(rows[0]["n"] - 9_996) < 100
    assert abs(rows[1]["avg_age"] - 51.9) < 2
    assert all(row["n_low"] < row["n"] < row["n_high"] for row in rows)
    assert answer.value == {
        "n": answer.table["n"].to_pylist(),
        "avg_age": answer.table["avg_age"].to_pylist(),
    }
    # The mean is a sum and a count, and the count is that of the rows, all of whom have an age.
    assert answer.charge.epsilon_units == 1_000_000_000
    assert list(answer.to_pandas().columns) == names


def test_the_same_select_in_other_words_is_free(session: dv.Session) -> None:
    first = session.sql(README, noise=dv.Geometric("0.5"))
    again = session.sql(
        "select avg(AGE) a, sex s, count(*) from adult where not age < 40 group by 2 order by s",
        noise=dv.Geometric("0.5"),
    )
    # Both are read from one mean, whatever the order.
    assert again.stored
    assert [again.value[name] for name in ("a", "count")] == [
        [each[place] for place in again.places]
        for each in (first.answers[0].value, [cell[1] for cell in first.answers[0].cells])
    ]
    same = session.sql(
        "select count(*), sex s, avg(AGE) a from adult where not age < 40 group by 2 order by s",
        noise=dv.Geometric("0.5"),
    )
    assert same.stored
    assert same.table.column_names[:4] == ["count", "count_low", "count_high", "s"]
    assert sorted(same.value["count"]) == sorted(first.value["n"])
    single = session.histogram("sex", where="age >= 40", noise=dv.Geometric("0.5"))
    assert (
        session.sql("SELECT COUNT(*) FROM data WHERE age >= 40 GROUP BY sex", noise=dv.Geometric("0.5")).value
        == single.value
    )


def test_sql_is_priced_before_it_is_asked(session: dv.Session) -> None:
    noise = dv.Geometric("0.5")
    assert session.price(README, noise=noise) == session.sql(README, noise=noise).charge
    with pytest.raises(UnsupportedSQL):
        session.price("SELECT 1", noise=noise)
    with pytest.raises(BudgetExceeded):
        session.sql("SELECT COUNT(*) FROM data", noise=dv.Geometric(1000))


def test_order_and_limit_act_on_the_noisy_values(session: dv.Session) -> None:
    noise = dv.Geometric("0.5")
    whole = session.sql("SELECT education, COUNT(*) AS n FROM data GROUP BY education", noise=noise)
    counts = dict(zip(whole.table["education"].to_pylist(), whole.value, strict=True))
    top = session.sql(
        "SELECT education, COUNT(*) AS n FROM data GROUP BY education ORDER BY COUNT(*) DESC LIMIT 3",
        noise=noise,
    )
    assert top.stored
    assert top.value == sorted(counts.values(), reverse=True)[:3]
    assert [counts[key] for key in top.table["education"].to_pylist()] == top.value
    named = session.sql(
        "SELECT education, COUNT(*) AS n FROM data GROUP BY education ORDER BY education DESC", noise=noise
    )
    assert named.table["education"].to_pylist() == sorted(counts, reverse=True)
    assert session.sql("SELECT COUNT(*) FROM data LIMIT 0", noise=noise).value == []


def test_error_bars_of_chosen_rows_hold_for_all_groups_at_once(session: dv.Session) -> None:
    noise = dv.Geometric("0.5")
    plain = session.sql("SELECT education, COUNT(*) FROM data GROUP BY education", noise=noise)
    top = session.sql(
        "SELECT education, COUNT(*), AVG(age) FROM data GROUP BY education ORDER BY 2 DESC LIMIT 1",
        noise=noise,
    )
    by_key = session.sql(
        "SELECT education, COUNT(*) FROM data GROUP BY education ORDER BY education LIMIT 1", noise=noise
    )
    assert half_width(plain) == half_width(by_key) == noise.error_bound("0.05")
    assert half_width(top) == noise.error_bound("0.05", 16)
    assert "chosen by noisy values" in str(top)
    assert "chosen by noisy values" not in str(by_key)
    both = top.interval(simultaneous=True).to_pylist()[0]
    assert both["count_high"] - both["count"] == noise.error_bound("0.025", 16)


def half_width(answer):  # type: ignore[no-untyped-def]
    row = answer.table.to_pylist()[0]
    return row["count_high"] - row["count"]


def test_missing_and_other_keys_come_last_whichever_way(tmp_path: Path) -> None:
    schema = Schema([Column("region", "integer", values=[3, 1, None, 2], other="elsewhere")])
    table = pyarrow.table({"region": [1, 2, 3, 4, None]})
    with dv.Session(
        table, name="r", schema=schema, budget=dv.Budget.pure(9), ledger=tmp_path / "r.ledger"
    ) as session:
        for way, expected in (("ASC", ["1", "2", "3"]), ("DESC", ["3", "2", "1"])):
            answer = session.sql(
                f"SELECT region, COUNT(*) FROM data GROUP BY region ORDER BY region {way}",
                noise=dv.Geometric(1),
            )
            assert answer.table["region"].to_pylist() == [*expected, "elsewhere", "(missing)"]


def test_a_table_answer_is_shown_and_travels(session: dv.Session, tmp_path: Path) -> None:
    answer = session.sql(
        README.replace("AS n", 'AS "<b>"').replace("BY n", "BY 2"), noise=dv.Geometric("0.5")
    )
    assert "<b>" not in answer._repr_html_()
    assert "&lt;b&gt;" in answer._repr_html_()
    lines = str(answer).splitlines()
    assert lines[0].split() == ["sex", "<b>", "avg_age"]
    assert lines[1].startswith("Male")
    assert "row added or removed" in lines[-1]
    data = json.loads(answer.to_json())
    assert data["schema"] == "dovetail.table/2"
    assert data["rows"][0]["sex"] == "Male"
    assert int(data["rows"][0]["<b>"]["low"]) < int(data["rows"][0]["<b>"]["value"])
    assert data["charge"]["epsilon"] == "1"
    answer.plot().figure.savefig(tmp_path / "plot.png")
