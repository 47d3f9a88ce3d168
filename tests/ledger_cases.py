"""Requests and charges for the ledger's tests."""

from __future__ import annotations

from dovetail.ledger import DatasetAccount, Ledger
from dovetail.privacy import Budget, Charge
from dovetail.release.account import Request, Reservation

TENTH = Charge.approximate("0.1")


def asked(body: str = "count", charge: Charge = TENTH, **rest: object) -> Request:
    """Return one question of an analyst called ann."""
    return Request(body=body, charge=charge, **({"analyst": "ann"} | rest))  # type: ignore[arg-type]


def filled(ledger: Ledger, answers: int = 3) -> DatasetAccount:
    """Let a ledger hold one of everything."""
    account = ledger.account("visits", budget=Budget.pure(1), source="/data/visits.csv")
    for number in range(answers):
        made = account.reserve(asked(f"count {number}", key=f"k{number}"))
        assert isinstance(made, Reservation)
        account.settle(made, f"noised {number}")
    plan = account.open_plan("design", TENTH, 3, "ann")
    account.reserve(asked("planned", plan=plan.id))
    return account
