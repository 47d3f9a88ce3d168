"""What does a question cost over HTTP, beside the same in this process and beside the barest service?

    python -m benchmarks.service

The bare service is FastAPI with one endpoint: the same DuckDB query on the same file and two durable inserts
into SQLite, without a key, a price, a budget or noise. Both run in processes of their own; all take turns.
"""

from __future__ import annotations

import os
import re
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

import dovetail as dv

from .report import Row, seconds_of, show, timed

TITLE = "A service on the Adult data, over HTTP"
CLIENTS, ASKED = 32, 256
_IMPORTS = "fastapi, uvicorn, structlog, prometheus_client, duckdb, pyarrow, sqlalchemy, numpy, flint"
_IMPORTS += ", sqlglot, cryptography, typer, rich"
_PAY = {"noise": dv.Geometric("0.001").to_dict(), "fresh": True}
_COUNT = {"question": {"ask": "count", "where": "age >= 40"}, "pay": _PAY}


def rows() -> Iterator[Row]:
    """Measure and give one row after another."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with _serving(place) as (address, key), _bare(place) as plain:
            ours = httpx2.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=60)
            yield from _one_by_one(place, ours, httpx2.Client(base_url=plain, timeout=60))
            yield from _many(ours, httpx2.Client(base_url=plain, timeout=60))
        yield _start(place)
    yield from _imports()


def _one_by_one(place: Path, ours: httpx2.Client, plain: httpx2.Client) -> Iterator[Row]:
    number = count()
    session = dv.Session(dv.datasets.adult(), budget=dv.Budget.pure(10**6), ledger=place / "local.ledger")
    noise = dv.Geometric("0.001")
    stored = _COUNT | {"pay": _PAY | {"fresh": False}}
    times = timed(
        {
            "empty": lambda: _ok(ours.get("/v1/me")),
            "local": lambda: session.count(where="age >= 40", noise=noise, fresh=True),
            "fresh": lambda: _ask(ours, _COUNT, next(number)),
            "quote": lambda: _ok(ours.post("/v1/datasets/adult/quotes", json=_COUNT)),
            "stored": lambda: _ask(ours, stored, next(number)),
            "bare": lambda: _ok(plain.post("/count", json={"age": 40})),
        },
        rounds=60,
    )
    session.close()
    empty, fresh = times["empty"], times["fresh"]
    limit = times["local"] + 1.5 * empty
    yield Row("fresh count, in process + 1.5 empty requests", _ms(fresh), _ms(limit), limit / fresh, 1.0)
    bare = times.ratio("bare", "fresh")
    yield Row("fresh count, the bare service", _ms(fresh), _ms(times["bare"]), bare, 1 / 1.4)
    for name in ("quote", "stored"):
        ratio = times.ratio("empty", name)
        yield Row(f"{name}, an empty authenticated request", _ms(times[name]), _ms(empty), ratio, 0.5)


def _many(ours: httpx2.Client, plain: httpx2.Client) -> Iterator[Row]:
    """Let many clients ask at once, ours and the bare service in turn."""
    number = count(10**6)
    waited: list[float] = []
    work: dict[str, Callable[[], object]] = {
        "ours": lambda: _ask(ours, _COUNT, next(number)),
        "bare": lambda: _ok(plain.post("/count", json={"age": 40})),
    }

    def all_ask(name: str) -> None:
        with ThreadPoolExecutor(CLIENTS) as pool:
            each = list(pool.map(lambda _: seconds_of(work[name]), range(ASKED)))
        waited.extend(each if name == "ours" else ())

    times = timed({name: partial(all_ask, name) for name in work}, rounds=3)
    mine, theirs = (f"{ASKED / times[name]:.0f}" for name in ("ours", "bare"))
    yield Row(f"{CLIENTS} clients, answers a second", mine, theirs, times.ratio("bare", "ours"), 0.7)
    middle = statistics.median(waited)
    last = statistics.quantiles(waited, n=100)[98]
    yield Row(
        f"{CLIENTS} clients, ten medians to the 99th in 100", _ms(last), _ms(middle), 10 * middle / last, 1.0
    )


def _start(place: Path) -> Row:
    """Compare the time until the service answers with the imports alone."""
    bare, ours = [], []
    for number in range(3):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", f"import {_IMPORTS}"], check=True)
        bare.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        folder = place / f"start{number}"
        folder.mkdir()
        with _serving(folder):
            ours.append(time.perf_counter() - begun)
    limit = min(bare) + 0.7
    return Row("ready, its imports + 0.7 s", f"{min(ours):.2f} s", f"{limit:.2f} s", limit / min(ours), 1.0)


def _imports() -> Iterator[Row]:
    """Compare the processor time of importing the client with that of its libraries alone."""
    codes = {
        "libraries": "import numpy, pyarrow, flint, httpx2",
        "client": "import dovetail; dovetail.connect",
        "all": "import dovetail; dovetail.connect; import pyarrow, httpx2",
    }
    least = dict.fromkeys(codes, float("inf"))
    for _ in range(5):
        for name, code in codes.items():
            least[name] = min(least[name], _processor_seconds(code))
    for name, case, target in (
        ("client", "import of the client, its libraries", 1 / 1.3),
        ("all", "import of the client and all that it loads later", None),
    ):
        ratio = least["libraries"] / least[name]
        yield Row(case, _ms(least[name]), _ms(least["libraries"]), ratio, target)


def _processor_seconds(code: str) -> float:
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def _ask(client: httpx2.Client, body: Any, number: int) -> None:
    _ok(
        client.post(
            "/v1/datasets/adult/answers", json=body, headers={"Idempotency-Key": f"{os.getpid()}-{number}"}
        )
    )


def _ok(reply: httpx2.Response) -> None:
    if reply.status_code != 200:
        raise RuntimeError(reply.text)


@contextmanager
def _serving(place: Path) -> Iterator[tuple[str, str]]:
    """Start our service with one analyst."""
    with serving(place, 'ledger = "s.ledger"') as (address, curator, _):
        yield address, new_analyst(address, curator, "ann", "1000000")


@contextmanager
def serving(place: Path, settings: str) -> Iterator[tuple[str, str, subprocess.Popen[bytes]]]:
    """Start our service on the Adult data, without a limit to how often people ask.

    Yields its address, the curator's key and its process.
    """
    config = place / "service.toml"
    config.write_text(
        f'[service]\n{settings}\nport = 0\n[limits]\nrate = "1000000/second"\n'
        '[datasets.adult]\nsource = "adult"\nbudget = { epsilon = 1000000 }\n'
    )
    command = [sys.executable, "-m", "dovetail", "serve", "--config", str(config), "--no-open"]
    with (place / "out.txt").open("w") as out, (place / "err.txt").open("w") as log:
        process = subprocess.Popen(command, stdout=out, stderr=log)
    try:
        address = _told(place / "out.txt", r"serves at (http\S+?)\.\s")
        _wait(f"{address}/healthz")
        yield address, _told(place / "out.txt", r"Curator key\s+(dvt_\S+)"), process
    finally:
        process.terminate()
        process.wait()


def new_analyst(address: str, curator: str, name: str, epsilon: str) -> str:
    """Add an analyst with an allotment, and return the key."""
    headers = {"Authorization": f"Bearer {curator}"}
    with httpx2.Client(base_url=f"{address}/v1", headers=headers, timeout=60) as client:

        def made(path: str, body: Any) -> Any:
            reply = client.post(path, json=body, headers={"Idempotency-Key": f"{name}{path}"})
            return reply.raise_for_status().json()

        person = made("/analysts", {"name": name})["id"]
        made("/grants", {"person": person, "dataset": "adult", "allotment": {"epsilon": epsilon}})
        return str(made("/keys", {"person": person})["key"])


@contextmanager
def _bare(place: Path) -> Iterator[str]:
    """Start the bare service."""
    with (place / "bare.txt").open("w") as out:
        command = [sys.executable, "-m", "benchmarks.service", "bare", str(place / "bare.db")]
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
    try:
        address = _told(place / "bare.txt", r"(http\S+)")
        _wait(f"{address}/healthz")
        yield address
    finally:
        process.terminate()
        process.wait()


def _told(path: Path, pattern: str) -> str:
    for _ in range(6000):
        match = re.search(pattern, path.read_text())
        if match:
            return match[1]
        time.sleep(0.02)
    raise RuntimeError("the service did not start")


def _wait(address: str) -> None:
    for _ in range(6000):
        with suppress(httpx2.HTTPError):
            if httpx2.get(address).status_code == 200:
                return
        time.sleep(0.02)
    raise RuntimeError("the service does not answer")


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def serve_bare(path: str) -> None:
    """Serve the least that could be called a counter."""
    import socket
    from threading import Lock

    import duckdb
    import uvicorn
    from fastapi import FastAPI

    data = duckdb.connect()
    rows = str(dv.datasets.adult().data)
    keep = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    keep.execute("PRAGMA journal_mode=DELETE")
    keep.execute("PRAGMA synchronous=FULL")
    keep.execute("CREATE TABLE kept (at REAL, what TEXT)")
    app, lock = FastAPI(), Lock()

    def kept(what: str) -> None:
        keep.execute("INSERT INTO kept VALUES (?, ?)", (time.time(), what))

    @app.get("/healthz")
    def alive() -> dict[str, str]:
        return {"status": "ok"}

    @app.post("/count")
    def answer(body: dict[str, int]) -> dict[str, int]:
        with lock:
            kept("reserved")
            found = data.execute(f"SELECT count(*) FROM '{rows}' WHERE age >= ?", [body["age"]]).fetchone()
            kept(str(found))
        return {"count": found[0]}  # type: ignore[index]

    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    if sys.argv[1:2] == ["bare"]:
        serve_bare(sys.argv[2])
    else:
        sys.exit(not show(TITLE, rows()))
