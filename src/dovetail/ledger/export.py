"""Write the record out: JSON to keep and check elsewhere, CSV for a spreadsheet; never a secret.

The JSON carries people as numbers, so that a name that is erased later is not in it.
"""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, select

from dovetail.answers.csv_format import csv_text
from dovetail.check import choice
from dovetail.privacy.charge import ORDERS, Charge

from .schema import SCHEMA_VERSION, events, ledger, names
from .statement import called

_AMOUNTS = ("epsilon", "zeta", "delta")
_TEXTS = ("name", "key", "plan", "body", "slots", "request", "answer", "reason", "source")


def export(connection: Connection, kind: str) -> str:
    """Return every event as `csv` or `json`; amounts are decimals in CSV, and in JSON among the `charges`."""
    choice("format", kind, ("csv", "json"))
    return _json(connection) if kind == "json" else _csv(connection)


def _json(connection: Connection) -> str:
    about = connection.execute(select(ledger)).one()
    datasets = {row.name: row.dataset for row in connection.execute(select(names))}
    rows = connection.execute(select(events).order_by(events.c.sequence)).mappings().all()
    return json.dumps(
        {
            "schema": f"dovetail.ledger/{SCHEMA_VERSION}",
            "identity": about.identity,
            "head": f"{about.sequence}:{about.hash}",
            "names": datasets,
            # The content stays the text that was hashed, so that the chain can be checked from the export;
            # it counts units of 1e-9 (delta: 1e-18).
            "events": [dict(row) for row in rows],
            "charges": {row["sequence"]: told for row in rows if (told := _charge(row["content"]))},
        },
        indent=1,
    )


def _csv(connection: Connection) -> str:
    curve = [f"renyi_{order}" for order in ORDERS]
    lines: list[list[Any]] = [
        ["sequence", "at", "kind", "dataset", "analyst", *_TEXTS, *_AMOUNTS, *curve, "hash"]
    ]
    people = called(connection)
    for row in connection.execute(select(events).order_by(events.c.sequence)):
        content = json.loads(row.content)
        charge = content.get("charge")
        amounts: list[Any] = [""] * (len(_AMOUNTS) + len(ORDERS))
        if charge is not None:
            charge = Charge.from_dict(charge).to_dict()
            amounts = [charge[name] for name in _AMOUNTS] + list(charge["renyi"].values())
            amounts = ["inf" if amount is None else amount for amount in amounts]
        who = people.get(content.get("by", 0), content.get("analyst", ""))
        texts = [who, *(content.get(name, "") for name in _TEXTS)]
        lines.append([row.sequence, row.at, row.kind, row.dataset, *texts, *amounts, row.hash])
    return csv_text(lines)


def _charge(content: str) -> dict[str, Any] | None:
    charge = json.loads(content).get("charge")
    return None if charge is None else Charge.from_dict(charge).to_dict()
