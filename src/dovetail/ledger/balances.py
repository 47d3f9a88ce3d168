"""What was spent of a budget or of an allotment, per vintage, and how a charge is added to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, select

from dovetail.privacy.budget import Budget
from dovetail.privacy.charge import Charge

from .amounts import caps, charge_of, columns
from .failures import sound
from .prepared_statements import Read, recall, run
from .record_writer import RecordWriter
from .schema import balances, datasets

# What a dataset bears as a whole: all of it where vintages share the budget.
SHARED = 0

Row = Mapping[str, Any]

_DATASET = select(datasets).where(datasets.c.id == bindparam("of"))
_BALANCE = select(balances).where(
    balances.c.subject == bindparam("of"), balances.c.vintage == bindparam("in_vintage")
)
_BALANCES = select(balances).where(balances.c.subject == bindparam("of")).order_by(balances.c.vintage)


def dataset_row(connection: Connection, dataset: int) -> Row:
    """Return a dataset's row by column name."""
    row: Row = recall(connection, _DATASET, {"of": dataset}).rows[0]._asdict()
    return row


def balance(connection: Connection, subject: int, vintage: int = SHARED) -> Row:
    """Return what was spent of a dataset's budget or of a grant's allotment, for one vintage."""
    row: Row = run(connection, *balance_read(subject, vintage)).rows[0]._asdict()
    return row


def balance_read(subject: int, vintage: int = SHARED) -> Read:
    """Return the read that `balance` makes."""
    return _BALANCE, {"of": subject, "in_vintage": vintage}


def all_balances(connection: Connection, subject: int) -> list[Row]:
    """Return the balances of all vintages; the one that all share comes first."""
    return [row._asdict() for row in run(connection, *balances_read(subject)).rows]


def balances_read(subject: int) -> Read:
    """Return the read that `all_balances` makes."""
    return _BALANCES, {"of": subject}


def spent_of(row: Row) -> Charge:
    """Return the sum that a balance holds."""
    with sound():
        return charge_of(row)


def most_spent(connection: Connection, subject: int) -> Charge:
    """Return, entry by entry, the most that was spent on any vintage: charges of disjoint ones do not add."""
    rows = all_balances(connection, subject)
    return spent_of(rows[0]) if len(rows) == 1 else Charge.largest(*map(spent_of, rows))


@lru_cache(maxsize=256)
def budget_of(text: str) -> Budget:
    """Read a budget as the ledger keeps it."""
    with sound():
        return Budget.from_dict(json.loads(text))


def open_balance(writer: RecordWriter, subject: int, vintage: int, budget: Budget, borne: Charge) -> None:
    """Begin a balance with what is borne already."""
    row = {"subject": subject, "vintage": vintage, "latest": writer.next}
    writer.insert(balances, row | columns(borne) | caps(budget))


def write_sums(writer: RecordWriter, sums: Sequence[tuple[Row, Charge]]) -> list[list[int]]:
    """Give balances the sums that were found to fit; return which, as the event tells it.

    The filter was asked under the lock, so `latest` cannot have moved; CHECK looks once more at the caps.
    """
    for row, spent in sums:
        writer.update(balances, row, columns(spent) | {"latest": writer.next})
    return [[row["subject"], row["vintage"]] for row, _ in sums]


def set_caps(writer: RecordWriter, subject: int, budget: Budget) -> None:
    """Let the database hold every balance of a subject to a changed limit."""
    for row in all_balances(writer.connection, subject):
        writer.update(balances, row, caps(budget) | {"latest": writer.next})
