"""A measure is one file and one registration: no other module asks which measure it has before it."""

from __future__ import annotations

import ast
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail
from dovetail.errors import InvalidQuery
from dovetail.query import (
    Column,
    Contributions,
    Count,
    CountDistinct,
    Histogram,
    Linear,
    Marginals,
    Maximum,
    Mean,
    Median,
    Minimum,
    Quantiles,
    Ranges,
    Schema,
    Std,
    Sum,
    Variance,
)
from dovetail.query.canonical_form import read_question
from dovetail.query.measures import MEASURES, read_measure

SOURCE = Path(dovetail.__file__).parent
# Where a typed query makes its measure.
MAKERS = {Path(f"query/{name}.py") for name in ("queries", "distributions", "marginals", "contributions")}
NAMES = {measure.__name__ for measure in MEASURES.values()}
TABLE = Schema(
    [
        Column("x", "number"),
        Column("n", "integer"),
        Column("k", "text", values=["a", None], other="rest"),
        Column("day", "date"),
        Column("at", "timestamp"),
        Column("yes", "boolean"),
    ]
).table()


def known_by_name(text: str) -> list[str]:
    """Return where a module names a measure of the package, or asks which kind it has."""
    found = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.ImportFrom(module=module, names=names) if "measures" in (module or "").split("."):
                found += [f"imports {alias.name}" for alias in names if alias.name in NAMES]
            case ast.Attribute(value=value, attr="kind") if _is_measure(value):
                found.append(ast.unparse(node))
            case ast.Call(func=ast.Name(id="isinstance" | "type"), args=[asked, *_]) if _is_measure(asked):
                found.append(ast.unparse(node))
    return found


def _is_measure(node: ast.expr) -> bool:
    return ast.unparse(node).split(".")[-1] == "measure"


def test_no_module_knows_a_measure_by_name() -> None:
    modules = {path.relative_to(SOURCE): path for path in SOURCE.rglob("*.py")}
    others = {
        name: path
        for name, path in modules.items()
        if name not in MAKERS and not name.is_relative_to("query/measures")
    }
    assert len(others) > 150
    assert {
        str(name): found for name, path in others.items() if (found := known_by_name(path.read_text()))
    } == {}


@pytest.mark.parametrize(
    "text",
    [
        "if isinstance(question.measure, Average): pass",
        "from dovetail.query.measures import Average",
        "from .measures.average import Average",
        "wide = 2 if question.measure.kind == 'mean' else 1",
        "same = type(measure) is other",
    ],
)
def test_a_module_that_did_would_be_found(text: str) -> None:
    assert known_by_name(text)


def test_each_measure_has_a_file_that_no_other_measure_looks_into() -> None:
    """So each of them came in through the door: take its file and its line away, and nothing else breaks."""
    files = {measure.__module__.split(".")[-1] for measure in MEASURES.values()}
    assert len(files) == len(MEASURES)
    for path in (SOURCE / "query" / "measures").glob("*.py"):
        if path.stem not in ("__init__", "registry"):
            imported = {
                node.module
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.ImportFrom)
            }
            assert not imported & files, path.name


QUERIES = [
    Count(),
    Count("x > 0.25 and (k = 'a' or k is null) and day <> '2024-02-29'"),
    Count("n in (1, 2) and not k in ('a', 'b') and yes = true and at >= '2024-01-01T12:00:00'"),
    Histogram("k", "n", keys={"n": [3, None, -1]}, where="x is not null"),
    Histogram("x", bins=[0, Fraction(1, 3), 2]),
    Histogram("day", bins=["2024-01-01", "2025-01-01"]),
    Histogram("n", keys="discover"),
    CountDistinct("yes", keys=[True, False]),
    Sum("x", low=-1, high=2, step="1/4", by=("k",)),
    Mean("n", low=0, high=9, step=1),
    Linear("day", {"2024-01-01": 1, "2024-01-02": "-0.5"}, step="0.25"),
    Ranges("n", low=0, high=99, step=1, by=("k",)),
    Marginals("k", "yes", "x", keys={"yes": [True, False]}, bins={"x": [0, 1, 2]}, strategy="residuals"),
    Median("x", low=-1, high=2, step="1/4"),
    Minimum("n", low=0, high=9, step=1),
    Maximum("x", low=-1, high=2, step="1/4", by=("k",)),
    Quantiles("n", ("1/3", 1), low=0, high=9, step=1, kind="cont"),
    Variance("n", low=0, high=9, step=1),
    Std("x", low=-1, high=2, step="1/4", by=("k",), sample=True),
    Linear("k", {"a": 1, None: "0.5"}, step="0.5"),
    Contributions(),
    Contributions(("k",), most_rows=9, most_cells=2),
]


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_a_question_is_read_back_from_its_canonical_form(query: object) -> None:
    question = query.checked(TABLE)  # type: ignore[attr-defined]
    again = read_question(question.to_dict())
    assert again.to_dict() == question.to_dict()
    assert again.cells == question.cells
    assert again.measure.words() == question.measure.words()
    assert again.measure.components() == question.measure.components()


def test_every_measure_is_read_back() -> None:
    assert {type(query.checked(TABLE).measure) for query in QUERIES} == set(MEASURES.values())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"rows": 0},
        {"count": "cells"},
        {"count": ["rows"]},
        {"count": "rows", "sum": 1},
        {"mean": 0},
        {"sum": {"column": ["x", "number"], "low": 0, "high": 1}},
        {"linear": [1], "step": "1"},
        {"sum": {"column": ["x", "number"], "low": 0, "high": 1, "step": "1/0"}},
    ],
    ids=str,
)
def test_a_measure_that_was_not_written_by_one_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(InvalidQuery, match="This measure is not known"):
        read_measure(data)


def test_weights_of_bins_are_refused() -> None:
    axes = Histogram("x", bins=[0, 1]).checked(TABLE).axes
    with pytest.raises(InvalidQuery, match="This measure is not known"):
        read_measure({"linear": [1], "step": "1"}, axes)


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=3), max_size=2))
def test_no_other_text_is_a_measure(data: dict[str, object]) -> None:
    with pytest.raises(InvalidQuery):
        read_measure(data)
