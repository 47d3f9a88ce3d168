"""Say remedies in the words of the HTTP interface: its one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.errors import remedies as r
from dovetail.errors.python_words import both, bought, either, less

# How a parameter is given in a body; None where the interface has no such thing.
PARAMETERS: dict[str, str | None] = {
    "at": '"at": "zeta", "epsilon" or ["1", "1e-6", 10]',
    "bins": '"bins": {"age": [0, 18, 65, 120]}',
    "budget": '"budget": {"epsilon": 1}',
    "budget:delta": '"budget": {"epsilon": 1, "delta": "1e-6"}',
    "clamp": '"clamp": true',
    "delta": '"delta": "1e-8"',
    "epsilon": '"epsilon": 1',
    "fresh": '"fresh": true',
    "goals": None,
    "high": '"high": 100',
    "keys": '"keys": {"region": ["north", "south"]}',
    "keys:discover": '"keys": "discover"',
    "ledger": None,
    "low": '"low": 0',
    "max_rows": '"max_rows": 5',
    "name": '"name": "people"',
    "noise": '"noise": {"kind": "piecewise-geometric", "rates": ["1/2"], "breaks": []}',
    "plan": '"plan": the id of a plan',
    "probability": '"probability": 0.95',
    "protects": '"protects": "rows"',
    "queries": '"queries": 20',
    "same_data": None,
    "same_data:no": None,
    "share": None,
    "spend": '"spend": {"epsilon": 0.1}',
    "spend:delta": '"spend": {"epsilon": 0.5, "delta": "1e-8"}',
    "step": '"step": 1',
    "table": '"table": "visits"',
    "unit": '"unit": "person"',
    "version": None,
    "vintage": '"vintages": ["2026-01"]',
    "where": '"where": "age >= 40"',
    "within": '"within": 5',
}
_CURATOR = "Ask the curator of the data"
# Queries that have another name here than the methods of a session.
_QUERIES = {"min": "minimum", "max": "maximum"}
_WORDS: dict[type[r.Remedy], Callable[[Any], str]] = {
    r.Advice: lambda remedy: remedy.text,
    r.Give: lambda remedy: _given(remedy.parameters),
    r.Spend: lambda remedy: f'Give "spend": {{"epsilon": "{remedy.epsilon}"}}.',
    r.LeaveOut: lambda remedy: f"Leave {member(remedy.parameter)} out.",
    r.KeepOne: lambda remedy: f"Keep one of {both(map(member, remedy.parameters))}.",
    r.DidYouMean: lambda remedy: f"Did you mean {remedy.word}?",
    r.ChoosePayment: lambda _: (
        'Give "pay" one of: {"within": 5, "probability": 0.95} for an accuracy, {"spend": {"epsilon": 0.1}} '
        'for a price, {"noise": ...} for a noise, {"plan": ...} for a plan that was opened.'
    ),
    r.ProtectPersons: lambda _: f"{_CURATOR} whether persons can be protected.",
    r.Declare: lambda remedy: f"{_CURATOR} to declare {both(remedy.what)} for {remedy.column} in the schema.",
    r.DraftSchema: lambda _: "POST /v1/drafts proposes a schema from the rows, for the curator to review.",
    r.Confirm: lambda remedy: f"{_CURATOR} to confirm {remedy.column} in the schema.",
    r.Ask: lambda remedy: (
        f'Ask {{"ask": "{_QUERIES.get(remedy.statistic, remedy.statistic)}"}} about {remedy.column} with '
        f"{both(map(_shown, remedy.all_of)) if remedy.all_of else either(map(_shown, remedy.one_of))}."
    ),
    r.AskForLess: less,
    r.SeeContributions: lambda _: f"{_CURATOR} how many rows persons have and which bounds suit them.",
    r.PayKnowingly: lambda remedy: (
        f'To pay that, give "spend": {{"epsilon": "{remedy.epsilon}"}} instead of "within".{bought(remedy)}'
        if remedy.answers is None
        else f"To pay that, open the plan first: POST to the plans of the dataset.{bought(remedy)}"
    ),
    r.ShareBudget: lambda _: f"{_CURATOR} whether they are.",
    r.SeePlans: lambda _: "GET /v1/plans lists your plans; POST to the plans of the dataset opens another.",
    r.ChangeBudget: lambda _: "The curator can change it with POST /v1/budgets.",
    r.ChooseProtected: lambda remedy: (
        f"The curator decides whom the data protect: each person with all their rows ({remedy.column} as the "
        "unit), or single rows, which does not protect persons who have several."
    ),
    r.DeclareVintage: lambda remedy: f"{_CURATOR} to declare the vintage {remedy.label}.",
    r.CreateLedger: lambda _: "Ask the operator of the service to start it with a ledger.",
    r.OpenLedger: lambda _: "Ask the operator of the service to open the existing ledger.",
    r.VerifyLedger: lambda _: "GET /v1/verify checks the record and returns its head.",
    r.MigrateLedger: lambda _: "Ask the operator of the service to migrate the ledger.",
    r.StartWitness: lambda _: "Ask the operator of the service to start a witness on this host.",
    r.Install: lambda remedy: f"Ask the operator of the service to install dovetail-dp[{remedy.extra}].",
}


def words(remedy: r.Remedy) -> str:
    """Return a remedy as a user of the interface reads it; nothing where it has no such parameter.

    >>> words(r.Give("within")), words(r.Give("share"))
    ('Give "within": 5.', '')
    """
    return _WORDS[type(remedy)](remedy)


def member(parameter: str) -> str:
    """Return the member of a body that a parameter of Python is.

    >>> member("keys:discover")
    '"keys"'
    """
    return f'"{parameter.partition(":")[0]}"'


def _shown(parameter: str) -> str:
    return PARAMETERS.get(parameter) or member(parameter)


def _given(parameters: tuple[str, ...]) -> str:
    had = [each for each in parameters if PARAMETERS.get(each, "") is not None]
    return f"Give {either(map(_shown, had))}." if had else ""
