"""Read arithmetic between aggregates, and HAVING: both act on the noisy table and cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sqlglot import exp

from dovetail.errors import InvalidQuery, shown

from .constants import constant_of, spelled_node
from .formula import Computed, Formula, Number, Test, Tests, aggregates_in
from .where import OPERATORS, chain

MOST_SIGNS = 50
_SIGNS: dict[type, str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_JOINS: dict[type, str] = {exp.And: "and", exp.Or: "or"}
Leaf = Callable[[Any], Formula]


def is_computed(node: Any) -> bool:
    """Tell whether a parsed part is arithmetic."""
    while isinstance(node, exp.Paren):
        node = node.this
    return type(node) in _SIGNS or isinstance(node, exp.Neg)


def check_size(node: Any) -> None:
    """Refuse what would take long to compute in every group."""
    if sum(1 for _ in node.find_all(exp.Binary, exp.Neg, exp.Not)) > MOST_SIGNS:
        raise InvalidQuery(
            f"This has more than {MOST_SIGNS} operators.", "Compute it from the table that comes back."
        )


def formula_of(node: Any, leaf: Leaf) -> Formula:
    """Return the formula that a parsed part spells; `leaf` reads whatever is no arithmetic."""
    if node.comments:
        raise InvalidQuery("Comments are not allowed here.")
    if isinstance(node, exp.Paren):
        return formula_of(node.this, leaf)
    if type(node) in _SIGNS:
        return Computed(_SIGNS[type(node)], formula_of(node.this, leaf), formula_of(node.expression, leaf))
    if isinstance(node, exp.Neg):
        return Computed("-", Number(Fraction(0)), formula_of(node.this, leaf))
    if isinstance(node, exp.Literal) and not node.is_string:
        number = constant_of(node)
        assert isinstance(number, Fraction)
        return Number(number)
    return leaf(node)


def tests_of(node: Any, leaf: Leaf) -> Test | Tests:
    """Return what a parsed HAVING keeps."""
    if isinstance(node, exp.Paren) and not node.comments:
        return tests_of(node.this, leaf)
    if type(node) in _JOINS and not node.comments:
        return Tests(_JOINS[type(node)], tuple(tests_of(part, leaf) for part in chain(node)))
    if isinstance(node, exp.Not) and not node.comments:
        return Tests("not", (tests_of(node.this, leaf),))
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        value, low, high = (formula_of(node.args[side], leaf) for side in ("this", "low", "high"))
        return Tests("and", (_noisy(Test(">=", value, low), node), _noisy(Test("<=", value, high), node)))
    if type(node) in OPERATORS:
        test = Test(OPERATORS[type(node)], formula_of(node.this, leaf), formula_of(node.expression, leaf))
        return _noisy(test, node)
    raise InvalidQuery(
        f"HAVING cannot contain {shown(spelled_node(node))}.",
        "You can compare aggregates with numbers and with each other, and use AND, OR, NOT and BETWEEN.",
    )


def _noisy(found: Test, node: Any) -> Test:
    if not any(True for _ in aggregates_in(found)):
        raise InvalidQuery(f"{shown(spelled_node(node))} compares no aggregate.", "Write it after WHERE.")
    return found
