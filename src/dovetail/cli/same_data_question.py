"""Ask at a terminal whether data that no ledger knows are the same data as others with a budget."""

from __future__ import annotations

import sys

import typer

from dovetail.errors import BudgetMismatch
from dovetail.errors.remedies import Give, ShareBudget

from .error_words import shared, statement
from .terminal import say, stderr


def options_of_answer(error: BudgetMismatch) -> list[str]:
    """Return the options that a person's answer stands for; raise the error where nobody answers.

    Without an answer nothing happens: a wrong "same" would spend another budget, a wrong "other" would give
    the same people a second one.
    """
    same = next((each for each in error.remedies if isinstance(each, ShareBudget)), None)
    if same is None or not _somebody_reads():
        raise error
    screen, apart = stderr(), Give("same_data:no") in error.remedies
    own = (
        "give them a budget of their own; the two budgets add up" if apart else "ask again with another name"
    )
    say(screen, "", statement(error), "bold")
    say(screen, "  same   ", "yes: charge them to that budget", "")
    say(screen, "  other  ", f"no: {own}", "")
    say(screen, "  stop   ", "spend nothing now", "")
    answer = typer.prompt("same, other or stop", default="stop", err=True).strip().lower()
    if answer == "same":
        return shared(same)
    if answer == "other" and apart:
        return ["--other-data"]
    raise error


def _somebody_reads() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()
