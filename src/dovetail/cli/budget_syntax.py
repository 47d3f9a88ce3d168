"""Read budgets from the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.errors import InvalidParameter, InvalidQuery

if TYPE_CHECKING:
    from dovetail.privacy import Budget


_WRITTEN = "epsilon=E, epsilon=E,delta=D or zeta=Z,max-epsilon=E"


def read_budget(text: str) -> Budget:
    """Return the budget that `text` spells.

    >>> print(read_budget("epsilon=1,delta=1e-6"))
    epsilon at most 1 at delta 1e-6
    """
    parts: dict[str, str] = {}
    for item in text.split(","):
        name, equals, value = (piece.strip() for piece in item.partition("="))
        known = name in ("epsilon", "delta", "zeta", "max-epsilon")
        if not equals or not known or name in parts:
            raise InvalidParameter("budget", text, f"written {_WRITTEN}", "For example --budget epsilon=1.")
        parts[name] = value
    made = chosen(
        parts.get("epsilon"), parts.get("delta"), parts.get("zeta"), parts.get("max-epsilon"), text=text
    )
    assert made is not None
    return made


def chosen(
    epsilon: str | None,
    delta: str | None,
    zeta: str | None,
    max_epsilon: str | None,
    *,
    text: str | None = None,
) -> Budget | None:
    """Return the budget that the options name, None if they name none."""
    from dovetail.privacy import Budget

    match (epsilon is not None, delta is not None, zeta is not None, max_epsilon is not None):
        case (False, False, False, False):
            return None
        case (True, False, False, False):
            return Budget.pure(epsilon or "")
        case (True, True, False, False):
            return Budget.approximate(epsilon or "", delta or "")
        case (False, False, True, True):
            return Budget.zeta(zeta or "", max_epsilon=max_epsilon or "")
    given = {"epsilon": epsilon, "delta": delta, "zeta": zeta, "max-epsilon": max_epsilon}
    advice = "Zeta is an average, so it never stands without the worst case max-epsilon."
    if text is None:
        shown = " ".join(f"--{name} {value}" for name, value in given.items() if value is not None)
        raise InvalidQuery(
            f"{shown} is not a price: a price is --epsilon, --epsilon with --delta, or --zeta with "
            "--max-epsilon.",
            advice,
        )
    raise InvalidParameter(
        "budget", text, "epsilon alone, epsilon with delta, or zeta with max-epsilon", advice
    )
