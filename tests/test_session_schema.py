"""The schema that a session finds beside its data."""

import logging
from pathlib import Path

import pytest

import dovetail as dv
from dovetail.errors.remedies import Confirm


def test_a_schema_beside_the_data_is_found_and_said_to_be(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "people.csv").write_text("sex,age\nF,30\nM,40\n")
    place = tmp_path / "people.toml"
    dv.Schema([dv.Column("sex", "text", values=["F", "M"])]).write(place)
    caplog.set_level(logging.INFO, "dovetail.session")
    with dv.Session(tmp_path / "people.csv", budget=dv.Budget.pure(1)) as session:
        assert session.schema.place == place
        assert str(place) in repr(session)
        assert any(str(place) in record.getMessage() for record in caplog.records)
        assert len(session.histogram("sex", noise=dv.Geometric(1)).value) == 2
    with dv.Session(tmp_path / "people.csv", schema=dv.Schema()) as session:
        assert session.schema == dv.Schema()


def test_what_a_found_schema_has_drafted_is_refused_until_it_is_confirmed(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,age\nF,30\nM,40\n")
    place = tmp_path / "people.toml"
    dv.Schema.draft(tmp_path / "people.csv").write(place)
    with dv.Session(tmp_path / "people.csv", budget=dv.Budget.pure(1)) as session:
        with pytest.raises(dv.InvalidQuery, match=r"schema\.confirm") as refused:
            session.histogram("sex", noise=dv.Geometric(1))
        assert refused.value.remedies == (Confirm("sex", str(place)),)
        assert session.remaining.epsilon == 1


def test_a_file_beside_the_data_that_is_no_schema_is_named(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("sex,age\nF,30\n")
    (tmp_path / "people.toml").write_text("[tool]\n")
    with pytest.raises(dv.InvalidParameter, match=r"people\.toml"):
        dv.Session(tmp_path / "people.csv", budget=dv.Budget.pure(1))
    assert not list(tmp_path.glob("*.ledger"))


def test_a_database_has_a_schema_for_each_table(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as made:
        made.execute("CREATE TABLE visits AS SELECT 'eyes' AS ward")
    dv.Schema([dv.Column("ward", "text", values=["eyes"])]).write(tmp_path / "clinic-visits.toml")
    with dv.Session(tmp_path / "clinic.duckdb", table="visits", budget=dv.Budget.pure(1)) as session:
        assert session.schema.get("ward") is not None


@pytest.mark.parametrize("said", [{"decimal": ","}, {"missing_words": ["-9"]}])
def test_a_column_that_is_read_otherwise_is_another_question(tmp_path: Path, said: dict[str, object]) -> None:
    """An answer about the values as they were read before would be wrong, with an interval that misses."""
    (tmp_path / "people.csv").write_text("pay;sex\n" + "2,5;F\n-9;M\n" * 50)
    bounds = {"low": -10, "high": 10, "step": "0.5"}
    for number, more in enumerate(({}, said, said)):
        schema = dv.Schema([dv.Column("pay", "number", **bounds, **more)])
        with dv.Session(tmp_path / "people.csv", budget=dv.Budget.pure(100), schema=schema) as session:
            answer = session.sum("pay", noise=dv.Geometric(1))
            assert answer.stored == (number == 2)
            assert dv.Answer.from_json(answer.to_json()).query.to_dict() == answer.query.to_dict()
