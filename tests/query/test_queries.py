from datetime import date
from itertools import combinations

import pytest

from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.query import Column, Count, Histogram, Linear, Mean, Schema, Sum
from dovetail.query.field import MOST_CELLS
from dovetail.query.measures import Weighted
from dovetail.query.partitions import MOST_UNEVEN_BINS

TABLE = Schema(
    [
        Column("age", "integer"),
        Column("height", "number"),
        Column("sex", "text", values=["F", "M"], other="unknown"),
        Column("born", "date"),
    ]
).table()


@pytest.mark.parametrize(
    "query",
    [
        Histogram("age", keys=range(MOST_CELLS + 1)),
        Histogram("age", bins=range(1_000_001)),
        Histogram("height", bins=range(MOST_UNEVEN_BINS + 2)),
        Histogram("age", "height", bins={"age": range(1001), "height": range(1001)}),
        Histogram(),
        Histogram("age", "age", keys={"age": [1]}),
        Histogram("height", keys=[1.5]),
        Histogram("sex", bins=[0, 1]),
        Histogram("sex", keys=["F"], bins=[1, 2]),
        Sum("sex", low=0, high=1, step=1),
        Linear("height", {1: 1}, step=1),
        Count("nothing > 3"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_anything_runs(query: Count) -> None:
    with pytest.raises(InvalidQuery):
        query.checked(TABLE)


@pytest.mark.parametrize(
    "query",
    [
        Histogram("age", bins=[0, 10, 10]),
        Histogram("age", bins=[10, 0]),
        Histogram("age", bins=[1]),
        Histogram("age", bins="ab"),
        Histogram("age", keys={"sex": ["F"]}),
        Histogram("age", "sex", keys=["F"]),
        Histogram("age", keys=[]),
        *(
            kind("age", low=low, high=high, step=step)
            for kind in (Sum, Mean)
            for low, high, step in [
                (10, 0, 1),
                (0, 0, 1),
                (0, float("nan"), 1),
                (0, float("inf"), 1),
                (0, 2**63, 1),
                (0, 1e308, 1),
                (0, 1, 0),
                (0, 1, -1),
                (0, 1, "0.3"),
                (0, True, 1),
                (0, "1e99999999", 1),
            ]
        ),
        Linear("sex", {}, step=1),
        Linear("sex", {"F": 2}, step=1),
        Linear("sex", {"F": float("nan")}, step=1),
        Linear("sex", {"F": 0}, step=1),
        Linear("sex", {"F": 0.1}, step=1),
        Linear("sex", ["F"], step=1),
    ],
)
def test_parameters_outside_what_is_allowed_are_refused(query: Count) -> None:
    with pytest.raises(InvalidParameter):
        query.checked(TABLE)


@pytest.mark.parametrize("kind", [Sum, Mean])
def test_bounds_that_nobody_gives_or_declares_are_asked_for(kind: type[Sum] | type[Mean]) -> None:
    with pytest.raises(InvalidQuery, match="The bounds of age are not public"):
        kind("age", None, 1, 1).checked(TABLE)


def test_bounds_must_lie_on_the_lattice_and_the_message_names_the_nearest() -> None:
    with pytest.raises(InvalidParameter, match=r"a multiple of step, which is 1/4. For example 1 or 5/4"):
        Sum("height", low=0, high="1.1", step="0.25").checked(TABLE)


def test_one_question_has_one_form_and_different_ones_differ() -> None:
    same = [Sum("AGE", low="0.0", high=50, step=1.0), Sum("age", low=0, high="5e1", step="1")]
    assert same[0].checked(TABLE).to_dict() == same[1].checked(TABLE).to_dict()
    different = [
        Count(),
        Count("age = 1"),
        Sum("age", low=0, high=50, step=1),
        Sum("age", low=0, high=51, step=1),
        Sum("age", low=0, high=50, step=2),
        Mean("age", low=0, high=50, step=1),
        Histogram("sex"),
        Histogram("sex", keys=["F"]),
        Histogram("age", bins=[0, 50]),
        Histogram("age", keys=[0, 50]),
        Linear("sex", {"F": 1}, step=1),
        Linear("sex", {"F": 1}, step="1/2"),
    ]
    for one, another in combinations([query.checked(TABLE).to_dict() for query in different], 2):
        assert one != another


def test_linear_weights_are_rounded_to_the_lattice() -> None:
    measure = Linear("sex", {"M": "-0.5", "F": 0.26}, step="0.25").checked(TABLE).measure
    assert isinstance(measure, Weighted)
    assert dict(zip(measure.keys.labels, measure.weights, strict=True)) == {"F": 1, "M": -2}


def test_cells_are_named_by_their_keys_and_edges() -> None:
    question = Histogram("sex", "born", bins={"born": ["2000-01-01", date(2001, 1, 1)]}).checked(TABLE)
    assert question.cell_keys() == [(sex, "[2000-01-01, 2001-01-01)") for sex in ("F", "M", "unknown")]


def test_one_word_discovers_every_column_that_is_not_binned() -> None:
    sex = Column("sex", "text", values=["F", "M"])
    table = Schema([Column("word", "text"), sex, Column("age", "integer")])
    found = Histogram("word", "sex", "age", keys="discover", bins={"age": [0, 99]}).checked(table.table())
    assert [axis.to_dict().get("keys") for axis in found.axes] == ["discover", "discover", None]
    some = Histogram("word", "sex", keys={"word": "discover"}).checked(table.table())
    assert [axis.to_dict().get("keys") for axis in some.axes] == ["discover", ["F", "M"]]
    assert found.discovers
    with pytest.raises(InvalidParameter, match='or keys="discover"'):
        Histogram("word", keys="find").checked(table.table())
