"""Requests and charges for the ledger's tests."""

from __future__ import annotations

from dovetail.privacy import Charge
from dovetail.release.ports import Request

TENTH = Charge.approximate("0.1")


def asked(body: str = "count", charge: Charge = TENTH, **rest: object) -> Request:
    """Return one question of an analyst called ann."""
    return Request(body=body, charge=charge, **({"analyst": "ann"} | rest))  # type: ignore[arg-type]
