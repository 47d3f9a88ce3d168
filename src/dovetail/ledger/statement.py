"""What a curator reads: every question, when, by whom, what it cost, and what remains."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from dovetail.privacy.budget import Budget, Remaining
from dovetail.privacy.charge import Charge

from .registry import first_name, protected_by
from .schema import datasets, events, plans, requests
from .standing import standing

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Standing:
    """One dataset's budget and what became of it."""

    name: str
    budget: Budget
    spent: Charge
    remaining: Remaining
    protects: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One event that a curator wants to see; `charge` is what it added to the sum."""

    sequence: int
    at: str
    dataset: str
    analyst: str
    what: str
    state: str
    charge: Charge | None


@dataclass(frozen=True, slots=True)
class Statement:
    """The standings and the entries, oldest first; prints as a table."""

    standings: tuple[Standing, ...]
    entries: tuple[Entry, ...]

    def __str__(self) -> str:
        lines = []
        for one in self.standings:
            lines += [f"{one.name}: {one.budget}", f"  spent   {one.spent}", f"  remains {one.remaining}"]
            lines += [] if one.protects is None else [f"  protects {one.protects}"]
        rows = [("no.", "when (UTC)", "who", "what", "state", "charge")]
        rows += [
            (
                str(e.sequence),
                e.at[:19],
                e.analyst,
                e.what[:_SHOWN],
                e.state,
                str(e.charge) if e.charge else "-",
            )
            for e in self.entries
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines += [""] + [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        return "\n".join(lines)


def statement(connection: Connection, dataset: int | None, last: int | None) -> Statement:
    """Read the statement of one dataset or of all; `last` limits the entries to the newest ones."""
    chosen = select(datasets).order_by(datasets.c.id)
    if dataset is not None:
        chosen = chosen.where(datasets.c.id == dataset)
    called: dict[int, str] = {}
    standings = []
    for row in map(dict[str, Any], connection.execute(chosen).mappings().all()):
        called[row["id"]] = first_name(connection, row["id"])
        budget, spent = standing(row)
        protects = protected_by(connection, row["id"])
        standings.append(Standing(called[row["id"]], budget, spent, budget.remaining(spent), protects))
    query = (
        select(events, requests.c.state, plans.c.left)
        .outerjoin(requests, requests.c.id == events.c.sequence)
        .outerjoin(plans, plans.c.id == events.c.sequence)
        .where(events.c.kind.in_(("reservation", "plan", "budget", "dataset")))
        .order_by(events.c.sequence.desc())
    )
    if dataset is not None:
        query = query.where(events.c.dataset == dataset)
    rows = connection.execute(query.limit(last) if last is not None else query).all()
    return Statement(tuple(standings), tuple(_entry(row, called) for row in reversed(rows)))


def _entry(row: Any, called: dict[int, str]) -> Entry:
    content = json.loads(row.content)
    charge = Charge.from_dict(content["charge"]) if "charge" in content else None
    match row.kind:
        case "reservation":
            # A crash leaves a reservation without an answer: it stays spent, and is shown as such.
            state = "reserved, no answer" if row.state == "reserved" else row.state
            if "plan" in content:
                state += f" (plan {content['plan']})"
            what = content["body"]
        case "plan":
            state, what = f"{row.left} of {content['slots']} answers left", f"plan {content['body']}"
        case "budget":
            state = "ex post" if content["ex_post"] else ""
            what = f"budget: {Budget.from_dict(content['after'])}"
        case _:
            state, what = "", f"created with {Budget.from_dict(content['budget'])}"
    return Entry(row.sequence, row.at, called[row.dataset], content.get("analyst", ""), what, state, charge)
