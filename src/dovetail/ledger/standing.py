"""Where a dataset stands: its budget and the sum that was spent of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select

from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge

from .amounts import charge_of
from .schema import datasets


def row_of(connection: Connection, dataset: int) -> Mapping[str, Any]:
    """Return a dataset's row by column name."""
    query = select(datasets).where(datasets.c.id == dataset)
    return dict(connection.execute(query).mappings().one())


def standing(row: Mapping[str, Any]) -> tuple[Budget, Charge]:
    """Return the budget and the sum that a dataset's row holds."""
    return Budget.from_dict(json.loads(row["budget"])), charge_of(row)
