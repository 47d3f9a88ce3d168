"""What a run may spend where nobody says it: all that remains, in the budget's own currency."""

from __future__ import annotations

import pytest

from dovetail.answers.quote import Standing
from dovetail.errors import BudgetExceeded, InvalidParameter
from dovetail.online.session_runs import _budget
from dovetail.privacy import Budget, Charge

PURE, APPROXIMATE = Budget.pure(1), Budget.approximate(1, "1e-6")
ZETA = Budget.zeta("0.5", max_epsilon=2)


@pytest.mark.parametrize(
    ("whole", "spent", "rest"),
    [
        (PURE, Charge.zero(), PURE),
        (PURE, Charge.approximate("0.25"), Budget.pure("0.75")),
        (APPROXIMATE, Charge.approximate("0.25", "4e-7"), Budget.approximate("0.75", "1e-7")),
        (ZETA, Charge.zero(), ZETA),
        (Budget.zeta(1, max_epsilon=2), Charge.zero(), Budget.zeta(1, max_epsilon=2)),
    ],
    ids=str,
)
def test_all_that_remains_is_spent(whole: Budget, spent: Charge, rest: Budget) -> None:
    assert _budget(None, Standing(whole, spent)) == rest


@pytest.mark.parametrize(
    ("whole", "spent"),
    [
        (PURE, Charge.approximate(1)),
        (APPROXIMATE, Charge.approximate(1)),
        (APPROXIMATE, Charge.approximate("0.1", "1e-6")),
        (ZETA, Charge.approximate("0.5")),  # zeta is used up before the worst case is
    ],
    ids=str,
)
def test_where_nothing_remains_no_run_begins(whole: Budget, spent: Charge) -> None:
    with pytest.raises(BudgetExceeded, match="Nothing remains"):
        _budget(None, Standing(whole, spent))


def test_what_is_named_is_spent_if_it_is_of_the_same_kind() -> None:
    assert _budget(PURE, Standing(Budget.pure(3))) == PURE
    assert _budget(PURE, Standing(None)) == PURE
    for spend, whole in ((APPROXIMATE, PURE), (PURE, APPROXIMATE), (ZETA, PURE)):
        with pytest.raises(InvalidParameter, match="same kind"):
            _budget(spend, Standing(whole))


def test_where_no_budget_is_known_one_must_be_named() -> None:
    with pytest.raises(InvalidParameter, match="where no budget is known"):
        _budget(None, Standing(None))
    with pytest.raises(InvalidParameter, match="a budget"):
        _budget(1, Standing(PURE))  # type: ignore[arg-type]
