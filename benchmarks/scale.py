"""Measure the private 50-cell histogram against the bare aggregation in each engine, at growing size.

    python -m benchmarks.scale [--engine duckdb postgresql spark] [--rows 10000000 100000000] [--rounds 5]

Every engine reads the same rows: DuckDB and Spark from one Parquet file, PostgreSQL from a table of a server
that is started for the purpose. Both sides take turns, and a ratio compares times of the same round. The
private side is a whole answer: checked, priced, reserved in a durable ledger, aggregated, noised and stored.
Target: at most 1.3 times the bare aggregation. Spark needs its own environment (`make test-spark` makes it).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import dovetail as dv

from .engines import ENGINES
from .release import KEYS, make_file, peak_memory
from .report import timed

TARGET = 1.3
BARE = "SELECT key, COUNT(*) FROM {table} GROUP BY key"
SCHEMA = dv.Schema([dv.Column("key", "text", values=KEYS)])


def histogram(engine: str, path: Path, rows: int, rounds: int) -> bool:
    """Print one line; return whether the target was met."""
    with (
        ENGINES[engine](path) as place,
        dv.Session(
            place.source,
            table=place.table,
            name="rows",
            schema=SCHEMA,
            budget=dv.Budget.pure(10**6),
            ledger=path.with_name(f"{engine}{rows}.ledger"),
            protects="rows",
            same_data=False,
        ) as session,
    ):
        before = peak_memory()
        times = timed(
            {
                "bare": lambda: place.run(BARE.format(table=place.name)),
                "private": lambda: session.histogram("key", noise=dv.Geometric("0.1"), fresh=True),
            },
            rounds,
        )
        grown = peak_memory() - before
    ratio = times.ratio("private", "bare")
    verdict = "ok" if ratio <= TARGET else "MISSED"
    print(
        f"{engine:<11} {rows:>13,} {times['bare']:>9.3f} s {times['private']:>9.3f} s {ratio:>7.2f}x "
        f"{TARGET:>6}x {verdict}  (this process grew by {grown} MB)",
        flush=True,
    )
    return ratio <= TARGET


def main() -> int:
    """Run the chosen engines and sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--engine", nargs="*", choices=ENGINES, default=["duckdb", "postgresql"])
    parser.add_argument("--rows", type=int, nargs="*", default=[10**7, 10**8])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"{'engine':<11} {'rows':>13} {'bare':>11} {'private':>11} {'ratio':>8} {'at most':>7}")
    met = True
    with tempfile.TemporaryDirectory() as name:
        for rows in options.rows:
            path = Path(name) / f"rows{rows}.parquet"
            make_file(path, rows)
            for engine in options.engine:
                met &= histogram(engine, path, rows, options.rounds)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
