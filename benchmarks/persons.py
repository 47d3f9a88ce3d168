"""Measure a histogram that bounds what each person adds, against plain SQL and OpenDP's truncation.

    python -m benchmarks.persons [--engine duckdb postgresql spark] [--rows 10000000] [--rounds 3] [--opendp]

A person has four rows on average, of which two count. Plain SQL does the same bounding in the same engine: a
person's rows in order, of which evenly spaced ones are kept from a start that the person decides. Targets: at
most 1.3 times that, and at least twice as fast as OpenDP (needs the bench environment; Spark its own).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import dovetail as dv

from .engines import ENGINES
from .release import KEYS, make_file
from .report import Row, show, timed

ROWS = 10**7
MAX_ROWS = 2
NOISE = dv.Geometric("0.1")
# The same choice as ours, by hand.
PLAIN = """
SELECT key, count(*) FROM (
    SELECT key, person, row_number() OVER (PARTITION BY person ORDER BY {ordered}) AS place,
           count(*) OVER (PARTITION BY person) AS places
    FROM {table} WHERE person IS NOT NULL AND key IN ({keys})) AS placed
WHERE (place * {most} + (person * 48271 + 11) % 2147483647) % places < {most} GROUP BY key
"""
TARGETS = {"plain SQL": 1 / 1.3, "OpenDP": 2.0}


def measured(path: Path, engine: str, count: int, rounds: int, opendp: bool) -> Iterator[Row]:
    """Give one line per rival."""
    with ENGINES[engine](path) as place:
        keys = ", ".join(f"'{key}'" for key in KEYS)
        plain = PLAIN.format(table=place.name, ordered=place.ordered, keys=keys, most=MAX_ROWS)
        rivals: dict[str, Callable[[], object]] = {"plain SQL": lambda: place.run(plain)}
        if opendp:
            rivals["OpenDP"] = lambda: through_opendp(path, count)
        with dv.Session(
            place.source,
            table=place.table,
            name="rows",
            schema=dv.Schema([dv.Column("key", "text", values=KEYS)]),
            unit="person",
            max_rows=MAX_ROWS,
            max_cells=MAX_ROWS,
            budget=dv.Budget.pure(10**6),
            ledger=path.with_name(f"{engine}.ledger"),
        ) as session:
            # By pairs: what one rival leaves behind in memory would slow down whoever follows it.
            for name, rival in rivals.items():
                sides = {"theirs": rival, "ours": partial(session.histogram, "key", noise=NOISE, fresh=True)}
                times = timed(sides, rounds)
                yield Row(
                    f"{engine}, {count:,} rows, {count // 4:,} persons, {name}",
                    f"{times['ours']:.2f} s",
                    f"{times['theirs']:.2f} s",
                    times.ratio("theirs", "ours"),
                    round(TARGETS[name], 2),
                )


def through_opendp(path: Path, count: int) -> object:
    """Ask OpenDP for the same histogram, with its own truncation to as many rows per person."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.scan_parquet(path).select("key", "person"),
        privacy_unit=dp.unit_of(contributions=MAX_ROWS, identifier="person"),
        privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=count)],
    )
    query = context.query().truncate_per_group(MAX_ROWS).group_by("key").agg(dp.len(signed=False))
    return query.with_keys(pl.LazyFrame({"key": KEYS})).release().collect()


def main() -> int:
    """Run and print; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--engine", nargs="*", choices=ENGINES, default=["duckdb"])
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--opendp", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "persons.parquet"
        make_file(path, options.rows)
        found = (
            row
            for engine in options.engine
            for row in measured(path, engine, options.rows, options.rounds, options.opendp)
        )
        return 0 if show("Bounding what a person adds", found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
