"""Measure private answers against the same aggregation by hand in each engine, at growing size.

    python -m benchmarks.scale [--engine duckdb duckdb-file postgresql spark-cluster] [--rows 100000000]
                               [--rounds 3] [--case count histogram ranges marginals persons]

Every engine reads the same rows: DuckDB from a folder of Parquet files and from a database of its own, Spark
from the folder, PostgreSQL from a table of a server that is started for the purpose. Both sides take turns,
and a ratio compares times of the same round. Times are the processors', of this process and of the engine's,
so that other work on the machine does not count. The private side is a whole answer: checked, priced,
reserved in a durable ledger, aggregated, noised and stored. Target: at most 1.2 times the time by hand. The
memory is the peak of this process during a private answer, beside it that of the Java process that drives
Spark.
Spark needs its own environment: `make scale` makes it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import dovetail as dv
from dovetail.ledger import Ledger

from .engines import ENGINES, Place
from .persons import MAX_ROWS, PLAIN
from .release import KEYS, make_file
from .report import timed

TARGET = 1.2
PARTS = 4
NOISE = dv.Geometric("0.1")
SPEND = dv.Budget.pure(1)
SCHEMA = dv.Schema(
    [
        dv.Column("key", "text", values=KEYS),
        dv.Column("sex", "text", values=["f", "m"]),
        dv.Column("age", "integer", values=range(121), low=0, high=120),
    ]
)
PERSONS = {"unit": "person", "max_rows": MAX_ROWS, "max_cells": MAX_ROWS}


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the same by hand, and whom the session protects."""

    ask: Callable[[dv.Session], object]
    by_hand: str
    protects: dict[str, Any]


ROWS: dict[str, Any] = {"protects": "rows"}
CASES = {
    "count": Case(
        lambda session: session.count(where="amount < 250 AND age >= 40", noise=NOISE, fresh=True),
        "SELECT COUNT(*) FROM {table} WHERE amount < 250 AND age >= 40",
        ROWS,
    ),
    "histogram": Case(
        lambda session: session.histogram("key", noise=NOISE, fresh=True),
        "SELECT key, COUNT(*) FROM {table} GROUP BY key",
        ROWS,
    ),
    "ranges": Case(
        lambda session: session.ranges("age", spend=SPEND, fresh=True),
        "SELECT age, COUNT(*) FROM {table} GROUP BY age",
        ROWS,
    ),
    "marginals": Case(
        lambda session: session.marginals("key", "age", "sex", spend=SPEND, fresh=True),
        "SELECT key, age, sex, COUNT(*) FROM {table} GROUP BY key, age, sex",
        ROWS,
    ),
    "persons": Case(lambda session: session.histogram("key", noise=NOISE, fresh=True), PLAIN, PERSONS),
}


def measured(engine: str, folder: Path, rows: int, rounds: int, cases: list[str]) -> bool:
    """Print a line a question; return whether every target was met."""
    met = True
    with ENGINES[engine](folder) as place:
        for name in cases:
            case = CASES[name]
            with opened(place, folder.with_name(f"{engine}{rows}{name}.ledger"), case.protects) as session:
                met &= _line(engine, name, rows, rounds, place, session)
    return met


def opened(place: Place, ledger: Path | Ledger, protects: dict[str, Any]) -> dv.Session:
    """Open a session on the rows of a place, with a budget for any number of answers."""
    return dv.Session(
        place.source,
        table=place.table,
        name="rows",
        schema=SCHEMA,
        budget=dv.Budget.pure(10**6),
        ledger=ledger,
        same_data=False,
        **protects,
    )


def _line(engine: str, name: str, rows: int, rounds: int, place: Place, session: dv.Session) -> bool:
    case = CASES[name]
    keys = ", ".join(f"'{key}'" for key in KEYS)
    text = case.by_hand.format(table=place.name, ordered=place.ordered, keys=keys, most=MAX_ROWS)
    java = [] if place.server is None or "spark" not in engine else [place.server]
    processes = [os.getpid(), *java]
    for process in processes:
        Path(f"/proc/{process}/clear_refs").write_text("5")  # the peak begins anew
    case.ask(session)
    memory = " + ".join(str(_peak(process)) for process in processes)
    sides = {"by hand": lambda: place.run(text), "private": lambda: case.ask(session)}
    times = timed(sides, rounds, place.processor_seconds)
    ratio = times.ratio("private", "by hand")
    verdict = "ok" if ratio <= TARGET else "MISSED"
    print(
        f"{engine:<13} {rows:>13,} {name:<9} {times['by hand']:>8.3f} s {times['private']:>8.3f} s "
        f"{ratio:>6.2f}x {ratio.spread:>6.0%} {memory:>10} MB  {verdict}",
        flush=True,
    )
    return bool(ratio <= TARGET)


def _peak(process: int) -> int:
    """Return the largest resident size of a process since it began anew, in MB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    raise AssertionError


def make_folder(folder: Path, rows: int) -> None:
    """Write the rows as Parquet files of one folder."""
    folder.mkdir()
    for part in range(PARTS):
        make_file(folder / f"{part}.parquet", rows, part, PARTS)


def main() -> int:
    """Run the chosen engines, sizes and questions; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--engine", nargs="*", choices=ENGINES, default=["duckdb", "duckdb-file", "postgresql"]
    )
    parser.add_argument("--rows", type=int, nargs="*", default=[10**7, 10**8])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--case", nargs="*", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    print(
        f"{'engine':<13} {'rows':>13} {'question':<9} {'by hand':>10} {'private':>10} {'ratio':>7} "
        f"{'spread':>6} {'memory':>13}  at most {TARGET}x"
    )
    met = True
    with tempfile.TemporaryDirectory() as name:
        for rows in options.rows:
            folder = Path(name) / f"rows{rows}"
            make_folder(folder, rows)
            for engine in options.engine:
                # A process each: the memory of one engine is no other's.
                with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
                    met &= child.submit(measured, engine, folder, rows, options.rounds, options.case).result()
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
