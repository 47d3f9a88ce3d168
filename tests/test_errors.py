"""Errors form one tree, say what to do, and survive a trip between processes."""

from __future__ import annotations

import copy
import inspect
import pickle
from fractions import Fraction

import pytest

from dovetail import errors
from dovetail.errors import BudgetExceeded, DovetailError, InvalidParameter, shown

CLASSES = [
    value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)
]


def test_the_drawing_in_the_docstring_is_the_tree() -> None:
    drawn: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        words = line.replace("│", " ").replace("├──", "   ").replace("└──", "   ")
        name = words.strip().split(" ")[0]
        if not name or name not in vars(errors):
            continue
        indent = len(words) - len(words.lstrip())
        while path and path[-1][0] >= indent:
            path.pop()
        drawn[name] = path[-1][1] if path else "Exception"
        path.append((indent, name))
    assert drawn == {cls.__name__: cls.__bases__[0].__name__ for cls in CLASSES}


def test_every_error_has_one_root_and_a_sentence() -> None:
    for cls in CLASSES:
        assert issubclass(cls, DovetailError)
        assert cls.__doc__
    assert issubclass(InvalidParameter, ValueError)


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls not in (InvalidParameter, BudgetExceeded)])
def test_plain_errors_survive_pickling(cls: type[DovetailError]) -> None:
    again = pickle.loads(pickle.dumps(cls("what happened")))
    assert type(again) is cls
    assert str(again) == "what happened"


def test_a_parameter_survives_even_where_its_value_does_not() -> None:
    error = InvalidParameter("cost", lambda x: x, "a function", "Give one.")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(again) == str(error)
        assert (again.name, again.allowed, again.fix) == ("cost", "a function", "Give one.")


def test_a_budget_error_carries_both_sides() -> None:
    error = BudgetExceeded("not enough", requested=Fraction(1), remaining=Fraction(1, 2))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "not enough"
    assert (again.requested, again.remaining) == (1, Fraction(1, 2))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (10**5000, "an integer of about 5000 digits"),
        (Fraction(10**5000, 3), "a Fraction too long to show"),
        ([10**5000], "a list too long to show"),
        ("x" * 1000, "'" + "x" * 78 + "…"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_are_shown_within_a_line(value: object, text: str) -> None:
    assert shown(value) == text
    assert len(str(InvalidParameter("x", value, "short"))) < 120
