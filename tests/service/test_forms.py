"""The JSON forms of what the library gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from dovetail.service import forms

QUESTIONS: list[Any] = [
    dv.Count(where="age >= 40"),
    dv.Sum("age", 0, 100, 1),
    dv.Mean("age", 0, 100, 1),
    dv.Linear("sex", {"Female": 1, "Male": "-1/2"}, "1/4"),
    dv.Variance("age", 0, 100, 1),
    dv.Std("age", 0, 100, 1),
    dv.Median("age", 0, 100, 1),
    dv.Minimum("age", 0, 100, 1),
    dv.Histogram("sex"),
    dv.Mean("age", 0, 100, 1, by=("sex",)),
    dv.Quantiles("age", (0.25, 0.5), 0, 100, 1),
]


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("forms")
    with dv.Session(
        dv.datasets.adult(), budget=dv.Budget.pure(100), ledger=folder / "forms.ledger"
    ) as session:
        yield session


@pytest.mark.parametrize("query", QUESTIONS, ids=repr)
def test_simultaneous_intervals_are_those_of_the_library(session: dv.Session, query: Any) -> None:
    [given] = session.batch([query], spend=dv.Budget.pure("0.5"))
    bars = given.bars(given.level, simultaneous=True)
    ends = [forms.told(given.query.measure, *pair) for pair in zip(given.values(), bars, strict=True)]
    assert forms.answer(given)["simultaneous"] == [[each["low"], each["high"]] for each in ends]
