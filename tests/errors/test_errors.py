"""Errors form one tree, say what to do, and survive a trip between processes."""

from __future__ import annotations

import copy
import inspect
import json
import pickle
from fractions import Fraction

import pytest

from dovetail import errors
from dovetail.errors import (
    BudgetExceeded,
    DovetailError,
    InvalidParameter,
    MissingPrice,
    Place,
    UnsupportedSQL,
    UpdatesExhausted,
    shown,
)
from dovetail.errors.remedies import ChoosePayment, Give, LeaveOut

CLASSES = [
    value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, DovetailError)
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


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls is not InvalidParameter])
def test_errors_survive_pickling_with_all_they_carry(cls: type[DovetailError]) -> None:
    error = cls("This happened.", Give("within"), "Or wait.")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(again) is cls
        assert str(again) == "This happened. Give within=5. Or wait."
        assert again.to_dict() == error.to_dict()


def test_a_parameter_survives_even_where_its_value_does_not() -> None:
    error = InvalidParameter("cost", lambda x: x, "a function", LeaveOut("cost"))
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(again) == str(error)
        assert (again.parameter, again.given, again.allowed) == ("cost", error.given, "a function")
        assert again.remedies == (LeaveOut("cost"),)


def test_an_error_is_data() -> None:
    error = UnsupportedSQL("A join cannot be answered.", "Join the tables beforehand.", place=Place(2, 7))
    assert json.loads(json.dumps(error.to_dict())) == {
        "code": "unsupported-sql",
        "problem": "A join cannot be answered.",
        "parameter": None,
        "given": None,
        "allowed": None,
        "place": {"line": 2, "column": 7},
        "remedies": [{"remedy": "advice", "text": "Join the tables beforehand."}],
    }
    assert (error.line, error.column) == (2, 7)
    assert MissingPrice().remedies == (ChoosePayment(),)


def test_a_budget_error_carries_both_sides() -> None:
    error = BudgetExceeded("Not enough.", requested=Fraction(1), remaining=Fraction(1, 2))
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "Not enough."
    assert (again.requested, again.remaining) == (1, Fraction(1, 2))
    assert again.to_dict()["remaining"] == "1/2"


def test_an_amount_that_nobody_told_is_null_and_not_the_word_none() -> None:
    told = UpdatesExhausted("Used.", asked=3, updates=2).to_dict()
    assert (told["requested"], told["remaining"], told["asked"], told["updates"]) == (None, None, 3, 2)


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
