"""Numbers that are computed from noisy ones: arithmetic between the aggregates of a SELECT, and its tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from dovetail.query.measures import Measure, read_measure
from dovetail.query.partitions import Axis


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A number of an answer; `measure` reads it where the answer releases more than it."""

    answer: int
    measure: Measure | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"answer": self.answer, "measure": None if self.measure is None else self.measure.to_dict()}


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: Fraction

    def to_dict(self) -> dict[str, Any]:
        return {"number": str(self.value)}


@dataclass(frozen=True, slots=True)
class Computed:
    """`left sign right`, one of + - * /."""

    sign: str
    left: Formula
    right: Formula

    def to_dict(self) -> dict[str, Any]:
        return {"sign": self.sign, "left": self.left.to_dict(), "right": self.right.to_dict()}


Formula: TypeAlias = Aggregate | Number | Computed


@dataclass(frozen=True, slots=True)
class Test:
    """`left sign right`, a comparison of noisy numbers."""

    sign: str
    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Tests:
    """All of the parts hold ("and"), one of them does ("or"), or the only one does not ("not")."""

    word: str
    parts: tuple[Test | Tests, ...]


def aggregates_in(formula: Formula | Test | Tests) -> Iterator[Aggregate]:
    """Yield the aggregates that something is computed from.

    >>> [each.answer for each in aggregates_in(Computed("/", Aggregate(0), Aggregate(1)))]
    [0, 1]
    """
    if isinstance(formula, Aggregate):
        yield formula
    elif isinstance(formula, Computed | Test):
        yield from aggregates_in(formula.left)
        yield from aggregates_in(formula.right)
    elif isinstance(formula, Tests):
        for part in formula.parts:
            yield from aggregates_in(part)


def replaced(formula: Any, new: Mapping[int, Aggregate]) -> Any:
    """Return a formula, or a test, with other aggregates for the same numbers."""
    if isinstance(formula, Aggregate):
        return new[formula.answer]
    if isinstance(formula, Computed | Test):
        return type(formula)(formula.sign, replaced(formula.left, new), replaced(formula.right, new))
    if isinstance(formula, Tests):
        return Tests(formula.word, tuple(replaced(part, new) for part in formula.parts))
    return formula


def read_formula(data: Mapping[str, Any], axes: Sequence[tuple[Axis, ...]]) -> Formula:
    """Read what `to_dict` wrote; `axes` are those of each answer, the measure's own ones last.

    >>> read_formula({"sign": "*", "left": {"number": "1/2"}, "right": {"number": "3"}}, []).left.value
    Fraction(1, 2)
    """
    if "sign" in data:
        return Computed(data["sign"], read_formula(data["left"], axes), read_formula(data["right"], axes))
    if "number" in data:
        return Number(Fraction(data["number"]))
    answer, measure = data["answer"], data["measure"]
    return Aggregate(answer, None if measure is None else read_measure(measure, axes[answer]))
