"""A service whose rows are read by Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from fastapi.testclient import TestClient

import dovetail as dv
from dovetail.ledger import Ledger
from dovetail.service.app import create_app
from dovetail.service.config_file import read_settings
from dovetail.service.registration import seed

pytestmark = pytest.mark.spark
CONFIG = """
[service]
ledger = "a.ledger"

[limits]
patience = 500

[connections]
cluster = "local[2]"

[datasets.visits]
connection = "cluster"
table = "{path}"
schema = "visits-schema.toml"
budget = {{ epsilon = 2000 }}
"""
SCHEMA = dv.Schema(
    [
        dv.Column("age", "integer", low=0, high=99),
        dv.Column("day", "date", low="1969-12-30", high="1970-01-05"),
    ]
)


def test_a_configured_source_of_spark_answers(spark: Any, tmp_path: Path) -> None:
    rows = {"age": [30, 40, None], "day": pyarrow.array([0, 1, None], pyarrow.date32())}
    pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / "visits.parquet")
    SCHEMA.write(tmp_path / "visits-schema.toml")
    place = tmp_path / "service.toml"
    place.write_text(CONFIG.format(path=tmp_path / "visits.parquet"))
    settings = read_settings(place)
    with Ledger.create(settings.ledger) as ledger:
        seed(settings, ledger)
        ledger.people.add("ann", "analyst")
        ledger.people.grant("ann", "visits", dv.Budget.pure(1500))
        headers = {"Authorization": f"Bearer {ledger.people.make_key('ann').text}"}
        with TestClient(create_app(settings, ledger), base_url="http://localhost", headers=headers) as client:

            def answered(number: int, **said: Any) -> Any:
                body = {**said, "pay": {"spend": {"epsilon": 100}}}
                given = client.post(
                    "/v1/datasets/visits/answers", json=body, headers={"Idempotency-Key": f"k{number}"}
                )
                assert given.status_code == 200, given.text
                return given.json()["answers"][0]["rows"]

            assert answered(1, question={"ask": "count", "where": "age >= 35"})[0]["value"] == "1"
            years = answered(2, sql="SELECT day.year, COUNT(*) FROM visits GROUP BY day.year")
            assert years
            median = {"ask": "median", "column": "day"}
            assert answered(3, question=median)
