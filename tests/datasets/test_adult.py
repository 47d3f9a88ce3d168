from collections import Counter
from pathlib import Path

import pyarrow.parquet

import dovetail.datasets
from dovetail.engines import Source
from dovetail.query import Schema

COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital_status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital_gain",
    "capital_loss",
    "hours_per_week",
    "native_country",
    "income",
]


def rows() -> dict[str, list[object]]:
    return pyarrow.parquet.read_table(dovetail.datasets.adult().data).to_pydict()


def test_adult_is_the_whole_training_set() -> None:
    table = rows()
    assert list(table) == COLUMNS
    assert {len(values) for values in table.values()} == {32_561}
    unknown = {name: Counter(values)["?"] for name, values in table.items()}
    assert {name: count for name, count in unknown.items() if count} == {
        "workclass": 1_836,
        "occupation": 1_843,
        "native_country": 583,
    }
    assert Counter(table["income"]) == {"<=50K": 24_720, ">50K": 7_841}


def test_the_schema_covers_every_row_and_was_reviewed() -> None:
    table, schema = rows(), dovetail.datasets.adult().schema
    assert isinstance(schema, Schema)
    assert [column.name for column in schema] == COLUMNS
    for column in schema:
        assert column.reviewed
        if column.values is not None:
            assert set(table[column.name]) <= set(column.values)
        if column.low is not None:
            assert all(column.low <= value <= column.high for value in table[column.name])


def test_the_licence_travels_with_the_data() -> None:
    source = dovetail.datasets.adult()
    assert isinstance(source, Source)
    assert source.shipped
    note = (Path(source.data).parent / "adult.md").read_text()
    assert "CC BY 4.0" in note
    assert "10.24432/C5XW20" in note
    assert Path(source.data).stat().st_size < 300_000
