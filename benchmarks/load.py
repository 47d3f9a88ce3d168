"""Let many clients use a service for a long time, and check every reply and the budget to the last digit.

    python -m benchmarks.load --clients 32 --minutes 30 --ledger sqlite

It takes as long as it is told and is no part of the benchmarks. Every client is an analyst with a key and an
allotment of their own, and sends one request after another. What is checked: no status but those expected
(503 is a busy ledger, and is tried again under the same key), every answer charged as told, the record
verifies. How fast the memory of each worker grows is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx2

from dovetail.ledger import Ledger

from .postgresql_server import postgresql_server
from .service import new_analyst, serving

# How often each kind is asked: among a hundred requests.
MIX = {"fresh count": 40, "stored": 25, "quote": 25, "refused": 10}
PRICES = ("0.0001", "0.0002", "0.000301", "0.000407", "0.000503")
ALLOTMENT = "5000"
WARM_UP = 0.2
_EVERY = 5.0
_EXPECTED = {"fresh count": {200}, "stored": {200}, "quote": {200}, "refused": {409}}


@dataclass
class Seen:
    """What the clients saw."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    told: dict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    lost: Counter[str] = field(default_factory=Counter)
    memory: dict[int, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))


class Client:
    """An analyst who sends one request after another."""

    def __init__(self, name: str, key: str, address: str, seen: Seen, seed: int) -> None:
        self.name, self._seen, self._random = name, seen, random.Random(seed)
        headers = {"Authorization": f"Bearer {key}"}
        self._http = httpx2.AsyncClient(base_url=address, headers=headers, timeout=60, verify=False)
        self._number = 0

    async def work(self, until: float) -> None:
        """Ask until it is time to stop."""
        async with self._http:
            await self._ask("fresh count", _asked("age >= 40", PRICES[0], fresh=False))
            kinds = self._random.choices(list(MIX), list(MIX.values()), k=10_000)
            while time.monotonic() < until:
                kind = kinds[self._number % len(kinds)]
                await self._ask(kind, self._body(kind))

    def _body(self, kind: str) -> dict[str, Any]:
        if kind == "stored":
            return _asked("age >= 40", PRICES[0], fresh=False)
        where = f"age >= {self._random.randrange(17, 90)}"
        price = ALLOTMENT + "1" if kind == "refused" else self._random.choice(PRICES)
        return _asked(where, price, fresh=True)

    async def _ask(self, kind: str, body: dict[str, Any]) -> None:
        """Send a request until it is answered, under one key."""
        path = f"/v1/datasets/adult/{'quotes' if kind == 'quote' else 'answers'}"
        self._number += 1
        key, begun = f"{self.name}-{self._number}", time.monotonic()
        while True:
            reply = await self._sent(kind, path, body, key)
            # 408: the body came too slowly from a busy machine; an earlier attempt may be charged already.
            if reply is not None and reply.status_code not in (202, 408, 503):
                break
            await asyncio.sleep(0.5)
        self._seen.seconds[kind].append(time.monotonic() - begun)
        if kind == "fresh count" and reply.status_code == 200:
            # Also where a retry got it, which the service calls a stored answer.
            self._seen.told[self.name] += Fraction(reply.json()["price"]["epsilon"])

    async def _sent(self, kind: str, path: str, body: Any, key: str) -> httpx2.Response | None:
        try:
            reply = await self._http.post(path, json=body, headers={"Idempotency-Key": key})
        except httpx2.TransportError as error:
            self._seen.lost[type(error).__name__] += 1
            return None
        self._seen.statuses[kind, reply.status_code] += 1
        return reply


def _asked(where: str, epsilon: str, *, fresh: bool) -> dict[str, Any]:
    pay = {"spend": {"epsilon": epsilon}, "fresh": fresh}
    return {"question": {"ask": "count", "where": where}, "pay": pay}


async def _watch(process: int, seen: Seen, until: float) -> None:
    """Note the memory of the service's processes that answer."""
    begun = time.monotonic()
    while time.monotonic() < until:
        for each in _workers(process):
            lines = Path(f"/proc/{each}/status").read_text().splitlines()
            size = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
            seen.memory[each].append((time.monotonic() - begun, size / 1024))
        await asyncio.sleep(_EVERY)


def _workers(process: int) -> list[int]:
    children = map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
    return [each for each in children if b"spawn_main" in Path(f"/proc/{each}/cmdline").read_bytes()] or [
        process
    ]


def slope(points: list[tuple[float, float]], blocks: int = 12) -> tuple[float, float]:
    """Return how fast something grows per hour, and the half-width of its 95 % interval.

    Means of blocks are used: neighbouring points are not independent. What came first is warming up.
    """
    later = points[int(len(points) * WARM_UP) :]
    size = max(1, len(later) // blocks)
    parts = [later[start : start + size] for start in range(0, len(later) - size + 1, size)]
    times = [statistics.mean(time for time, _ in part) / 3600 for part in parts]
    sizes = [statistics.mean(value for _, value in part) for part in parts]
    if len(parts) < 4:
        return 0.0, float("inf")
    line = statistics.linear_regression(times, sizes)
    left = [size - line.intercept - line.slope * at for at, size in zip(times, sizes, strict=True)]
    spread = sum(each**2 for each in left) / (len(parts) - 2)
    middle = statistics.mean(times)
    # 2.23: Student's t with 10 degrees of freedom, for twelve blocks.
    return line.slope, 2.23 * (spread / sum((at - middle) ** 2 for at in times)) ** 0.5


@contextmanager
def ledger_at(kind: str, folder: Path) -> Iterator[str]:
    """Yield where the ledger is kept; a PostgreSQL server is started for it."""
    if kind == "sqlite":
        yield str(folder / "load.ledger")
        return
    with postgresql_server() as (address, _):
        yield address


def main() -> int:
    """Load a service, print one table, and return 0 if everything held."""
    given = _arguments()
    seen = Seen()
    with tempfile.TemporaryDirectory() as folder, ledger_at(given.ledger, Path(folder)) as place:
        settings = f'ledger = "{place}"\nworkers = {given.workers}'
        with serving(Path(folder), settings) as (address, curator, process):
            names = [f"analyst{number}" for number in range(given.clients)]
            keys = [new_analyst(address, curator, name, ALLOTMENT) for name in names]
            begun = time.monotonic()
            asyncio.run(_all(names, keys, address, seen, process.pid, begun + 60 * given.minutes))
            seconds = time.monotonic() - begun
        with Ledger.open(place) as ledger:
            ledger.verify()
            named = {each.id: each.name for each in ledger.people.all()}
            grants = ledger.people.grants()
            spent = {named[grant.principal]: Fraction(grant.spent.epsilon) for grant in grants}
            total = Fraction(ledger.account("adult").spent().epsilon)
    return _report(given, seen, seconds, spent, total)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.load")
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--ledger", choices=["sqlite", "postgres"], default="sqlite")
    return parser.parse_args()


async def _all(
    names: list[str], keys: list[str], address: str, seen: Seen, process: int, until: float
) -> None:
    pairs = enumerate(zip(names, keys, strict=True))
    clients = [Client(name, key, address, seen, number) for number, (name, key) in pairs]
    await asyncio.gather(_watch(process, seen, until), *(client.work(until) for client in clients))


def _report(
    given: argparse.Namespace, seen: Seen, seconds: float, spent: dict[str, Fraction], total: Fraction
) -> int:
    """Print what was measured; return 0 if everything held."""
    asked = sum(map(len, seen.seconds.values()))
    print(
        f"{given.clients} clients, {given.ledger} ledger, {given.workers} workers, {seconds / 60:.1f} minutes"
    )
    print(f"{asked:,} requests, {asked / seconds:.1f} a second; load average {os.getloadavg()[0]:.1f}")
    print(f"{'kind':14}{'requests':>10}{'a second':>10}{'p50 ms':>9}{'p99 ms':>9}  statuses")
    bad = 0
    for kind, times in seen.seconds.items():
        told = {status: many for (of, status), many in seen.statuses.items() if of == kind}
        bad += sum(many for status, many in told.items() if status not in _EXPECTED[kind] | {202, 503})
        cuts = statistics.quantiles(times, n=100)
        figures = (
            f"{len(times):>10,}{len(times) / seconds:>10.1f}{cuts[49] * 1e3:>9.1f}{cuts[98] * 1e3:>9.1f}"
        )
        print(
            f"{kind:14}{figures}  {', '.join(f'{status}: {many:,}' for status, many in sorted(told.items()))}"
        )
    for process, points in seen.memory.items():
        rate, width = slope(points)
        ends = f"{points[0][1]:.0f} MB at first, {points[-1][1]:.0f} MB at last"
        print(f"memory of worker {process}: {ends}; {rate:+.1f} ± {width:.1f} MB an hour after the warm-up")
    exact = spent == dict(seen.told) and total == sum(spent.values())
    print(f"connections lost: {sum(seen.lost.values())} {dict(seen.lost) or ''}")
    print(f"charged {float(total)}; the clients were told {float(sum(seen.told.values()))}: {_same(exact)}")
    return int(bool(bad or not exact))


def _same(exact: bool) -> str:
    return "equal to the last digit, for each analyst" if exact else "NOT EQUAL"


if __name__ == "__main__":
    sys.exit(main())
