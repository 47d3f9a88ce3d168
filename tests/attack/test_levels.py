"""Levels next to 0 and 1: every kind of answer has its bars or refuses the level by the name it was given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow
import pytest

import dovetail as dv
from dovetail.errors import InvalidParameter

AGES = pyarrow.table({"age": list(range(100)), "sex": ["F", "M"] * 50})
BOUNDS: dict[str, Any] = {"low": 0, "high": 99, "step": 1}
SEXES = {"sex": ["F", "M"]}
NEARLY_SURE = "0." + "9" * 30


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dv.Session]:
    place = tmp_path_factory.mktemp("levels") / "ages.ledger"
    with dv.Session(AGES, name="ages", budget=dv.Budget.pure(1000), ledger=place) as made:
        yield made


@pytest.fixture(scope="module")
def answers(session: dv.Session) -> dict[str, Any]:
    pay = {"spend": dv.Budget.pure(1)}
    return {
        "count": session.count(**pay),
        "histogram": session.histogram("sex", keys=SEXES, **pay),
        "mean": session.mean("age", **BOUNDS, **pay),
        "variance": session.variance("age", **BOUNDS, **pay),
        "median": session.median("age", **BOUNDS, **pay),
        "sql": session.sql("SELECT COUNT(*) FROM ages", **pay),
    }


KINDS = ("count", "histogram", "mean", "variance", "median", "sql")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", [NEARLY_SURE, "0." + "9" * 200, "1e-399", "1/" + "9" * 400])
def test_every_kind_has_bars_at_extreme_levels(answers: dict[str, Any], kind: str, level: str) -> None:
    for together in (False, True):
        assert answers[kind].interval(level, simultaneous=together) is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("level", ["0." + "9" * 201, "0." + "9" * 399])
def test_a_level_that_is_too_near_to_1_is_refused_by_its_own_name(
    answers: dict[str, Any], kind: str, level: str
) -> None:
    for together in (False, True):
        with pytest.raises(InvalidParameter, match="must be below 1 by at least 1e-200") as refused:
            answers[kind].interval(level, simultaneous=together)
        assert refused.value.parameter == "level"


def test_an_accuracy_that_is_too_sure_is_refused_by_its_own_name(session: dv.Session) -> None:
    for query in (dv.Count(), dv.Ranges("age", **BOUNDS)):
        with pytest.raises(InvalidParameter, match="must be below 1 by at least 1e-200") as refused:
            session.quote(query, within=500, probability="0." + "9" * 399)
        assert refused.value.parameter == "probability"


def test_no_level_is_shown_as_certainty(session: dv.Session) -> None:
    pay: dict[str, Any] = {"within": 200, "probability": NEARLY_SURE}
    assert "with probability more than 99.9999 %" in str(session.quote(dv.Count(), **pay))
    shown = str(session.count(**pay))
    assert "holds with probability more than 0.999999;" in shown
    ranges = session.ranges("age", **BOUNDS, spend=dv.Budget.pure(1))
    assert str(ranges.range(1, 50, level=NEARLY_SURE)).endswith("at more than 0.999999)")
