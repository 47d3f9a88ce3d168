"""Say remedies in Python: the table behind the text of every exception."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from . import remedies as r
from .values import percent

# How a parameter is given. Where a keyword is not enough, an example stands beside it.
PARAMETERS = {
    "at": 'at="zeta", at="epsilon" or at=(epsilon, delta, queries)',
    "bins": "bins=[0, 18, 65, 120]",
    "budget": "budget=Budget.pure(1)",
    "budget:delta": "budget=Budget.approximate(1, 1e-6)",
    "clamp": "clamp=True",
    "delta": "delta=1e-8",
    "epsilon": "epsilon=1",
    "fresh": "fresh=True",
    "goals": "goals=[Goal(within=5)]",
    "keys": "keys=[...]",
    "keys:discover": 'keys="discover"',
    "ledger": 'ledger="all.ledger"',
    "max_rows": "max_rows=5",
    "name": 'name="people"',
    "noise": "noise=Geometric(0.5)",
    "plan": "plan=session.plan(design, queries=20)",
    "probability": "probability=0.95",
    "protects": 'protects="rows"',
    "queries": "queries=20",
    "same_data": "same_data=True",
    "same_data:no": "same_data=False",
    "share": "share=True, in a session same_data=True",
    "spend": "spend=Budget.pure(0.1)",
    "spend:delta": "spend=Budget.approximate(0.5, 1e-8)",
    "step": "step=1",
    "table": 'table="visits"',
    "unit": 'unit="person"',
    "version": 'Session(..., version="corrected")',
    "vintage": 'vintage="2026-01"',
    "where": "where=\"age >= 40 AND sex = 'F'\"",
    "within": "within=5",
}
_WORDS: dict[type[r.Remedy], Callable[[Any], str]] = {
    r.Advice: lambda remedy: remedy.text,
    r.Give: lambda remedy: f"Give {either(map(given, remedy.parameters))}.",
    r.Spend: lambda remedy: f"Use spend=Budget.pure({remedy.epsilon}).",
    r.LeaveOut: lambda remedy: f"Leave {named(remedy.parameter)} out.",
    r.KeepOne: lambda remedy: f"Keep one of {both(map(named, remedy.parameters))}.",
    r.DidYouMean: lambda remedy: f"Did you mean {remedy.word}?",
    r.ChoosePayment: lambda _: (
        "Choose an accuracy (within=5, probability=0.95), a price (spend=Budget.pure(0.1)), a noise "
        "(noise=Geometric(0.5)) or a plan of many answers (plan=session.plan(design, queries=20)); or share "
        "the whole budget among the answers of a session: Session(..., queries=20)."
    ),
    r.ProtectPersons: lambda _: 'Open the session with Session(..., unit="person", max_rows=5).',
    r.Declare: lambda remedy: f"Declare {both(remedy.what)} for {remedy.column} in the schema.",
    r.DraftSchema: lambda _: "Schema.draft proposes a schema from the rows, for you to review.",
    r.Confirm: lambda remedy: (
        f"Check its type and values, then confirm it: schema.confirm({remedy.column!r})"
        f"{' and schema.write(...)' if remedy.schema else ''}."
    ),
    r.Ask: lambda remedy: (
        f"Ask session.{remedy.statistic}({remedy.column!r}, ...) with "
        f"{both(map(given, remedy.all_of)) if remedy.all_of else either(map(given, remedy.one_of))}."
    ),
    r.AskForLess: lambda remedy: less(remedy),
    r.SeeContributions: lambda _: (
        "session.contributions(spend=Budget.pure(0.1)) shows how many rows persons have, at that price."
    ),
    r.PayKnowingly: lambda remedy: (
        f"To pay that, ask with spend=Budget.pure({remedy.epsilon}) instead of within=.{bought(remedy)}"
        if remedy.answers is None
        else f"To pay that, answer a quote: session.answer(session.quote(...)).{bought(remedy)}"
    ),
    r.ShareBudget: lambda remedy: (
        f"If they are, open the session with {', '.join(_shared(remedy))}, which charges that budget."
    ),
    r.SeePlans: lambda _: "See session.plans, or open a plan with session.plan(...).",
    r.ChangeBudget: lambda _: "The curator can change it with ledger.set_budget.",
    r.ChooseProtected: lambda remedy: (
        f"unit={remedy.column!r} with max_rows=5 protects each person with all their rows; "
        'protects="rows" protects single rows, but not persons who have several.'
    ),
    r.DeclareVintage: lambda remedy: (
        f"Declare it: ledger.account(NAME).declare_vintage({remedy.label!r}, complete=True)."
    ),
    r.CreateLedger: lambda _: "Make one with Ledger.create.",
    r.OpenLedger: lambda _: "Open it with Ledger.open.",
    r.VerifyLedger: lambda _: "ledger.verify() checks it, and ledger.head is its head.",
    r.MigrateLedger: lambda _: "Use Ledger.migrate.",
    r.StartWitness: lambda _: "Start a witness with ledger.start_witness(FILE).",
    r.Install: lambda remedy: f"Install it: pip install 'dovetail-dp[{remedy.extra}]'.",
}


def words(remedy: r.Remedy) -> str:
    """Return a remedy as a user of Python reads it.

    >>> words(r.Give("keys", "bins")), words(r.LeaveOut("clamp"))
    ('Give keys=[...] or bins=[0, 18, 65, 120].', 'Leave clamp= out.')
    """
    return _WORDS[type(remedy)](remedy)


def given(parameter: str) -> str:
    """Return how a parameter is given."""
    return PARAMETERS.get(parameter, f"{parameter}=...")


def named(parameter: str) -> str:
    """Return a parameter's name as a keyword.

    >>> named("keys:discover")
    'keys='
    """
    return f"{parameter.partition(':')[0]}="


def either(words: Any) -> str:
    """Join alternatives.

    >>> either(["a", "b", "c"])
    'a, b or c'
    """
    return _joined(list(words), "or")


def both(words: Any) -> str:
    """Join what belongs together.

    >>> both(["low", "high"])
    'low and high'
    """
    return _joined(list(words), "and")


def _joined(words: list[str], last: str) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _shared(remedy: r.ShareBudget) -> list[str]:
    named = {"name": remedy.name, "ledger": remedy.ledger}
    return ["same_data=True", *(f"{name}={value!r}" for name, value in named.items() if value is not None)]


def less(remedy: r.AskForLess) -> str:
    """Say what can still be asked; every front end has the same numbers."""
    smaller = "a smaller delta, " if remedy.smaller_delta else ""
    advice = f"Ask for {smaller}less accuracy, or for fewer answers."
    if remedy.within is None or remedy.probability is None:
        return advice
    return f"{advice} What remains pays for {_error(remedy.within, remedy.probability)}."


def bought(remedy: r.PayKnowingly) -> str:
    """Say what an epsilon of 1 would buy; every front end has the same numbers."""
    if remedy.within is None or remedy.probability is None:
        return ""
    each = "" if remedy.answers is None else " in each answer"
    return f" Epsilon 1 would buy {_error(remedy.within, remedy.probability)}{each}."


def _error(within: Fraction, probability: Fraction) -> str:
    error = int(within) if within.denominator == 1 else f"{float(within):.6g}"
    return f"±{error} with probability {percent(probability)}"
