"""What each analyst asked of each dataset and was charged for it: a statement for the custodian."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection, select

from dovetail.privacy.budget import Budget, Remaining
from dovetail.privacy.charge import Charge

from .amounts import added_up
from .grants import grants_of
from .registry import first_name
from .schema import datasets, events, plans, requests
from .statement import called


@dataclass(frozen=True, slots=True)
class AnalystStatement:
    """One analyst's account with one dataset.

    `charged` adds up all their questions and plans; of disjoint vintages, what any row bears is less.
    """

    analyst: str
    dataset: str
    answered: int
    failed: int
    unanswered: int
    plans: int
    charged: Charge
    latest: str
    allotment: Budget | None = None
    remaining: Remaining | None = None


def statements(connection: Connection, dataset: int | None = None) -> list[AnalystStatement]:
    """Return the statements of everybody who was charged or was granted something, by dataset and name."""
    states: dict[tuple[int, int], Counter[str]] = {}
    for about, by, state in connection.execute(
        select(requests.c.dataset, requests.c.principal, requests.c.state)
    ):
        states.setdefault((about, by), Counter())[state] += 1
    for about, by in connection.execute(select(plans.c.dataset, plans.c.owner)):
        states.setdefault((about, by), Counter())["plan"] += 1
    granted = {(each.dataset, each.principal): each for each in grants_of(connection)}
    charged, latest = _charged(connection)
    who = called(connection)
    titles = {row.id: first_name(connection, row.id) for row in connection.execute(select(datasets.c.id))}
    listed = []
    for pair in {*states, *granted}:
        if dataset in (None, pair[0]):
            count, grant = states.get(pair, Counter()), granted.get(pair)
            listed.append(
                AnalystStatement(
                    who[pair[1]],
                    titles[pair[0]],
                    count["answered"],
                    count["failed"],
                    count["reserved"],
                    count["plan"],
                    charged.get(pair, Charge.zero()),
                    latest.get(pair, ""),
                    None if grant is None else grant.allotment,
                    None if grant is None else grant.allotment.remaining(grant.spent),
                )
            )
    return sorted(listed, key=lambda each: (each.dataset, each.analyst))


def _charged(connection: Connection) -> tuple[dict[tuple[int, int], Charge], dict[tuple[int, int], str]]:
    """Add up the charges in the record, by dataset and principal, and find the latest; many are alike."""
    kinds: dict[tuple[int, int], Counter[str]] = {}
    latest: dict[tuple[int, int], str] = {}
    for table, who in ((requests, requests.c.principal), (plans, plans.c.owner)):
        joined = table.join(events, events.c.sequence == table.c.id)
        columns = (table.c.dataset, who.label("principal"), events.c.at, events.c.content)
        for row in connection.execute(select(*columns).select_from(joined)):
            pair, content = (row.dataset, row.principal), json.loads(row.content)
            latest[pair] = max(latest.get(pair, ""), row.at)
            if "charge" in content:
                kinds.setdefault(pair, Counter())[json.dumps(content["charge"])] += 1
    return {pair: added_up(charges) for pair, charges in kinds.items()}, latest
