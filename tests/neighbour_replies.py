"""A service whose datasets are neighbouring tables: what can be seen of each, and what is lost between them.

What would be released is replaced by numbers that are the same for all tables, so whatever still differs
comes from the rows by another way. The true integers are kept aside.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import dovetail as dv
from dovetail.engines.duckdb import DuckDB
from dovetail.ledger import DatasetAccount
from dovetail.online import first_measurement, sparse_vector
from dovetail.release import releaser
from dovetail.release.mechanism import ReleasedCells
from dovetail.service.settings import DeclaredDataset, Limits
from service.conftest import Desk, House, open_house

SCHEMA = dv.Schema(
    [
        dv.Column("x", "integer", low=0, high=4, step=1),
        # Enough values for a tree of several levels.
        dv.Column("y", "integer", low=0, high=98, step=1),
        dv.Column("pay", "number", low=-2, high=3, step="0.5"),
        dv.Column("k", "text", values=["a", "b"]),
        dv.Column("c", "integer", values=[0, 1, 2]),
    ],
    derived={"size": "CASE WHEN x < 2 THEN 'small' WHEN pay > 1 THEN 'paid' ELSE 'large' END"},
)
ROWS = [
    ("p", 1, 1.5, "a", 0),
    ("p", 3, None, "b", 2),
    ("q", None, float("nan"), "a", None),
    ("r", 2, -9.0, "b", 1),
]
# One more row, of somebody new.
MORE = [
    ("s", 0, 3.0, "a", 2),
    ("s", 2**63 - 1, float("nan"), "'; DROP TABLE t; --", None),
]
_VARYING = re.compile(
    r"[0-9a-f]{16,64}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?|\bt\d\b|\"sequence\":\s?\d+"
)


@dataclass
class Seen:
    """What an analyst and an operator see of one table; `true` is kept from both."""

    replies: list[Any] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    sql: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    true: list[Any] = field(default_factory=list)
    charges: list[Fraction] = field(default_factory=list)

    def shown(self) -> tuple[Any, ...]:
        return self.replies, self.lines, self.sql, self.events

    def note(self, reply: Any) -> Any:
        """Keep a reply: status, headers, every byte; not identifiers, times and the name of the table."""
        kept = {name: value for name, value in reply.headers.items() if name not in ("x-request-id", "etag")}
        body = reply.content if b"\x00" in reply.content[:400] else plain(reply.text)
        self.replies.append((reply.status_code, plain(json.dumps(kept)), body))
        return reply


def plain(text: str) -> str:
    return _VARYING.sub("…", text)


def released(true: Sequence[Sequence[int]]) -> ReleasedCells:
    """Return what every table releases; the numbers are as far apart as those of a small table."""
    return ReleasedCells(
        tuple(tuple((7 * at + 3 * part) % 11 for part in range(len(cell))) for at, cell in enumerate(true))
    )


def opened_tables(folder: Path, **options: Any) -> House:
    """Start a service with one dataset for each table; the first is the one without the row."""
    declared = []
    for number, table in enumerate([ROWS, *([*ROWS, row] for row in MORE)]):
        rows = [(*row, row[1] and row[1] * 17 % 120) for row in table]
        types = [
            pyarrow.string(),
            pyarrow.int64(),
            pyarrow.float64(),
            pyarrow.string(),
            pyarrow.int64(),
            pyarrow.int64(),
        ]
        columns = [
            pyarrow.array(column, kind) for column, kind in zip(zip(*rows, strict=True), types, strict=True)
        ]
        place = folder / f"t{number}.parquet"
        parquet.write_table(pyarrow.table(columns, names=["who", "x", "pay", "k", "c", "y"]), place)
        given = DeclaredDataset(f"t{number}", {"path": str(place)}, dv.Budget.pure(10**4), SCHEMA)
        declared.append(replace(given, **options))
    house = open_house(folder, declared=tuple(declared), limits=Limits(rate="100000/minute"))
    for each in declared:
        house.ledger.people.grant("ann", each.name, dv.Budget.pure(10**4))
    return house


def watch(monkeypatch: pytest.MonkeyPatch) -> list[Seen]:
    """Let every table release the same; the last of the returned list hears of the truth and of the SQL."""
    seen = [Seen()]
    spelled = DuckDB._spelled

    def recorded(self: DuckDB, statement: Any) -> str:
        seen[-1].sql.append(plain(spelled(self, statement)))
        return spelled(self, statement)

    def noised(true: Any, components: Any, noises: Any) -> ReleasedCells:
        seen[-1].true.append(([list(map(int, cell)) for cell in true], components, noises))
        return released(true)

    monkeypatch.setattr(DuckDB, "_spelled", recorded)
    monkeypatch.setattr(releaser, "noised", noised)
    monkeypatch.setattr(sparse_vector, "verdict", lambda *_: (0, 1, -1)[len(seen[-1].replies) % 3])
    monkeypatch.setattr(sparse_vector, "measure", lambda *_: 5)
    monkeypatch.setattr(first_measurement, "measure", lambda *_: 6)
    monkeypatch.setattr(
        first_measurement, "_noised", lambda noise, numbers: np.arange(numbers.size).reshape(numbers.shape)
    )
    monkeypatch.setattr(DatasetAccount, "secret", bytes(32))
    return seen


Script: TypeAlias = Callable[[Desk, str, Seen], None]


def observed(house: House, watched: list[Seen], capfd: Any, *scripts: Script) -> list[Seen]:
    """Return what is seen of each table."""
    capfd.readouterr()
    found = []
    for declared in house.settings.datasets:
        watched.append(Seen())
        for script in scripts:
            script(house.ann, declared.name, watched[-1])
        lines = [json.loads(line) for line in "".join(capfd.readouterr()).splitlines()]
        assert lines, "the log is what is compared, too"
        watched[-1].lines = [plain(json.dumps(line | {"milliseconds": 0})) for line in lines]
        found.append(watched[-1])
    for event in json.loads(house.ledger.export("json"))["events"]:
        name = str(event["dataset"])
        if re.fullmatch(r"t\d", name) and event["kind"] not in ("dataset", "grant"):
            content = {key: value for key, value in json.loads(event["content"]).items() if key != "state"}
            found[int(name[1:])].events.append(plain(f"{event['kind']} {json.dumps(content)}"))
    return found


@cache
def worst_loss(noise: Any, by: int) -> Fraction:
    """Return the largest loss of piecewise geometric noise at a shift, from its rates alone."""
    reach = (noise.breaks[-1] if noise.breaks else 0) + abs(by) + 1
    ends = [*noise.breaks, reach + abs(by)]
    steps = [
        rate
        for rate, (a, b) in zip(noise.rates, zip([0, *ends], ends, strict=False), strict=False)
        for _ in range(a, b)
    ]
    phi = [Fraction(0), *accumulate(steps)]
    return max(phi[abs(k + by)] - phi[abs(k)] for k in range(-reach, reach + 1 - max(by, 0)))


def lost(one: Any, other: Any) -> Fraction:
    """Return the privacy loss between two tables of what one question releases."""
    (mine, components, noises), (yours, _, _) = one, other
    each = [
        noise for component, noise in zip(components, noises, strict=True) for _ in range(component.parts)
    ]
    total = Fraction(0)
    for cells in zip(mine, yours, strict=True):
        total += sum(
            (worst_loss(noise, abs(a - b)) for a, b, noise in zip(*cells, each, strict=True) if a != b),
            Fraction(0),
        )
    return total


def excesses(
    found: list[Seen], asked: dict[str, Any], every: bool
) -> Iterator[tuple[str, Fraction, Fraction]]:
    """Yield, question by question, what is lost at most between neighbours, and what was charged."""
    pairs = [(one, other) for one in found for other in (found if every else found[:1])]
    for place, name in enumerate(asked):
        worst = max(lost(one.true[place], other.true[place]) for one, other in pairs)
        yield name, worst, found[0].charges[place]
