"""Where a dataset stands: its budget and the sum that was spent of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, select

from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge

from .amounts import charge_of
from .failures import sound
from .prepared_statements import run
from .schema import datasets

_ROW = select(datasets).where(datasets.c.id == bindparam("of"))


def row_of(connection: Connection, dataset: int) -> Mapping[str, Any]:
    """Return a dataset's row by column name."""
    found: dict[str, Any] = run(connection, _ROW, {"of": dataset}).rows[0]._asdict()
    return found


def standing(row: Mapping[str, Any]) -> tuple[Budget, Charge]:
    """Return the budget and the sum that a dataset's row holds."""
    with sound():
        return budget_of(row["budget"]), charge_of(row)


@lru_cache(maxsize=256)
def budget_of(text: str) -> Budget:
    """Read a budget as the ledger keeps it."""
    return Budget.from_dict(json.loads(text))
