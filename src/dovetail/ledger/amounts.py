"""How charges and limits are written into columns: whole units, never rounded in the spender's favour."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from math import floor
from typing import Any

from dovetail.errors import LedgerError
from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import DELTA_UNIT, UNIT, Charge

from .chain import canonical

# Both stores count in signed 64-bit integers: sums of epsilon up to 9.2e9 and of delta up to 9.2 are exact.
LARGEST = 2**63 - 1


def columns(spent: Charge) -> dict[str, Any]:
    """Return the columns that keep a sum of charges; NULL means without bound."""
    amounts = spent.to_units()
    for name in ("epsilon", "zeta", "delta"):
        if (units := amounts[name]) is not None and units > LARGEST:
            raise LedgerError(
                f"The sum of {name} would pass what a ledger can count (2^63 units).",
                "Nothing was spent. Ask with noise that costs less.",
            )
    return amounts | {"renyi": canonical(amounts["renyi"])}


def charge_of(row: Mapping[str, Any]) -> Charge:
    """Read back what `columns` wrote."""
    return _charge(row["epsilon"], row["zeta"], row["delta"], row["renyi"])


# One answer reads the same sum several times.
@lru_cache(maxsize=256, typed=True)
def _charge(epsilon: int | None, zeta: int | None, delta: int, renyi: str) -> Charge:
    return Charge.from_dict({"epsilon": epsilon, "zeta": zeta, "delta": delta, "renyi": json.loads(renyi)})


def added_up(charges: Counter[str]) -> Charge:
    """Add up charges of the record, given as their texts and how often each occurs: most are alike."""
    read = (Charge.from_dict(json.loads(text)).times(uses) for text, uses in charges.items())
    return sum(read, Charge.zero())


def caps(budget: Budget) -> dict[str, int | None]:
    """Return the limits that a sum must keep whatever the filter says, in units rounded down.

    The database itself holds them (CHECK), as a second lock. An (epsilon, delta) budget has no cap on the
    sum of pure epsilon, because its Rényi filter may admit more.
    """
    pure = budget.currency != "approximate"
    return {
        "cap_epsilon": _units(budget.epsilon_limit / UNIT) if pure else None,
        "cap_zeta": None if budget.zeta_limit is None else _units(budget.zeta_limit / UNIT),
        "cap_delta": _units(budget.delta_limit / DELTA_UNIT),
    }


def _units(limit: Fraction) -> int:
    return min(floor(limit), LARGEST)
