"""What a curator reads: every question, when, by whom, what it cost, and what remains."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from dovetail.privacy.budget import Budget, Remaining
from dovetail.privacy.charge import Charge

from .balances import Row, balance, budget_of, most_spent, spent_of
from .entry_words import body_in_words
from .grants import grants_of
from .principals import all_principals
from .registry import first_name
from .schema import datasets, events, grants, keys, plans, requests, vintages
from .vintages import listed

_SHOWN = 60


@dataclass(frozen=True, slots=True)
class DatasetStanding:
    """One dataset's budget and what became of it."""

    name: str
    budget: Budget
    spent: Charge
    remaining: Remaining
    protects: str | None = None
    vintages: tuple[tuple[str, Remaining], ...] = ()
    retired: bool = False


@dataclass(frozen=True, slots=True)
class AnalystShare:
    """What one analyst was granted of a dataset, and spent of it."""

    dataset: str
    analyst: str
    allotment: Budget
    spent: Charge
    remaining: Remaining
    state: str


@dataclass(frozen=True, slots=True)
class StatementEntry:
    """One event that a curator wants to see; `charge` is what it added to the sum.

    `body` is the JSON of a request or of a plan, `outcome` what became of a request: reserved, answered or
    failed.
    """

    sequence: int
    at: str
    dataset: str
    analyst: str
    what: str
    state: str
    charge: Charge | None
    body: str | None = None
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """The standings and the entries, oldest first; prints as a table."""

    standings: tuple[DatasetStanding, ...]
    entries: tuple[StatementEntry, ...]
    shares: tuple[AnalystShare, ...] = ()

    def __str__(self) -> str:
        lines = []
        for one in self.standings:
            over = " (retired)" if one.retired else ""
            lines += [f"{one.name}: {one.budget}{over}"]
            lines += [f"  spent    {one.spent}", f"  remains  {one.remaining}"]
            lines += [] if one.protects is None else [f"  protects {one.protects}"]
            lines += [f"  remains  {rest} of {label}" for label, rest in one.vintages]
        for each in self.shares:
            limit = f"{each.allotment} ({each.state})" if each.state else str(each.allotment)
            lines += [f"{each.analyst} may ask about {each.dataset}: {limit}"]
            lines += [f"  spent    {each.spent}", f"  remains  {each.remaining}"]
        rows = [("no.", "when (UTC)", "who", "what", "state", "charge")]
        rows += [
            (
                str(e.sequence),
                e.at[:19],
                e.analyst,
                _in_words(e),
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


def _in_words(entry: StatementEntry) -> str:
    """Return an entry as one short line; a question may hold text that a terminal would obey."""
    text = entry.what if entry.body is None else body_in_words(entry.body)
    text = text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


# The events that a curator wants to see.
_SHOWN_KINDS = (
    *("reservation", "plan", "budget", "dataset", "policy", "retired", "rename", "grant", "revoked grant"),
    *("vintage", "complete", "disjoint", "version", "principal", "erasure", "key", "revoked key"),
    *("witness", "migration"),
)


def statement(
    connection: Connection, dataset: int | None, last: int | None, analyst: int | None = None
) -> Statement:
    """Read the statement of one dataset or of all; `last` limits the entries to the newest ones.

    With `analyst`, only what that principal did and was granted.
    """
    chosen = select(datasets).order_by(datasets.c.id)
    if dataset is not None:
        chosen = chosen.where(datasets.c.id == dataset)
    titles: dict[int, str] = {}
    standings = []
    for row in connection.execute(chosen).mappings().all():
        titles[row["id"]] = first_name(connection, row["id"])
        budget, spent = budget_of(row["budget"]), most_spent(connection, row["id"])
        remaining = budget.remaining(spent)
        about = (row["protects"], _apart(connection, dict(row)), row["retired"] is not None)
        standings.append(DatasetStanding(titles[row["id"]], budget, spent, remaining, *about))
    who, labels, holders = called(connection), _labels(connection), _holders(connection)
    rows = connection.execute(_entries(dataset, last, analyst)).all()
    entries = tuple(_entry(row, titles, who, labels, holders) for row in reversed(rows))
    return Statement(tuple(standings), entries, _shares(connection, dataset, analyst, titles, who))


def _apart(connection: Connection, dataset: Row) -> tuple[tuple[str, Remaining], ...]:
    """Return what remains of each vintage where each has the whole budget."""
    if dataset["vintages"] == "shared":
        return ()
    budget = budget_of(dataset["budget"])
    return tuple(
        (each.label, budget.remaining(spent_of(balance(connection, dataset["id"], each.id))))
        for each in listed(connection, dataset["id"])
    )


def _labels(connection: Connection) -> dict[int, str]:
    return {row.id: row.label for row in connection.execute(select(vintages.c.id, vintages.c.label))}


def _holders(connection: Connection) -> dict[int, int]:
    """Return whose each grant and each key is; their numbers are those of events, so no two are the same."""
    return {
        row.id: row.principal
        for table in (grants, keys)
        for row in connection.execute(select(table.c.id, table.c.principal))
    }


def _entries(dataset: int | None, last: int | None, analyst: int | None) -> Any:
    query = (
        select(events, requests.c.state, plans.c.left)
        .outerjoin(requests, requests.c.id == events.c.sequence)
        .outerjoin(plans, plans.c.id == events.c.sequence)
        .where(events.c.kind.in_(_SHOWN_KINDS))
        .order_by(events.c.sequence.desc())
    )
    if dataset is not None:
        query = query.where(events.c.dataset == dataset)
    if analyst is not None:
        query = query.where((requests.c.principal == analyst) | (plans.c.owner == analyst))
    return query if last is None else query.limit(last)


def called(connection: Connection) -> dict[int, str]:
    """Return what everybody is called now; whose name was erased is a number."""
    return {each.id: str(each) for each in all_principals(connection)}


def _shares(
    connection: Connection,
    dataset: int | None,
    analyst: int | None,
    titles: dict[int, str],
    who: dict[int, str],
) -> tuple[AnalystShare, ...]:
    return tuple(
        AnalystShare(
            titles[each.dataset],
            who[each.principal],
            each.allotment,
            each.spent,
            each.allotment.remaining(each.spent),
            "revoked" if each.revoked else "" if each.expires is None else f"until {each.expires[:16]}",
        )
        for each in grants_of(connection, analyst, dataset)
    )


def _entry(
    row: Any, titles: dict[int, str], who: dict[int, str], labels: dict[int, str], holders: dict[int, int]
) -> StatementEntry:
    content = json.loads(row.content)
    charge = Charge.from_dict(content["charge"]) if "charge" in content else None
    state = ""
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
        case "dataset":
            what = f"created with {Budget.from_dict(content['budget'])}"
        case "grant":
            what = f"grant to {who[content['principal']]}: {Budget.from_dict(content['allotment'])}"
        case "principal":
            what = f"{content['role']} added: {who[row.sequence]}"
        case "key" | "erasure":
            what = f"{row.kind} of {who[content['principal']]}"
        case "revoked grant" | "revoked key":
            what = f"{row.kind} of {who[holders[content[row.kind.removeprefix('revoked ')]]]}"
        case "policy":
            what = f"policy: answers {content['answers']}, access {content['access']}"
        case "disjoint":
            what = "vintages declared disjoint"
        case _:
            about = [labels[content["vintage"]]] if content.get("vintage") else []
            told = (content[name] for name in ("name", "label", "version", "path") if content.get(name))
            what = " ".join((row.kind, *about, *map(str, told)))
    if "vintages" in content:
        listed_labels = ", ".join(labels[number] for number in json.loads(content["vintages"]))
        state = f"{state} ({listed_labels})".strip()
    by = who.get(content.get("by", 0), content.get("analyst", ""))
    title = titles.get(row.dataset, "")
    body, outcome = content.get("body"), row.state
    return StatementEntry(row.sequence, row.at, title, by, what, state, charge, body, outcome)
