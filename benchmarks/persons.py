"""Measure a histogram that bounds what each person adds, against plain SQL and OpenDP's truncation.

    python -m benchmarks.persons [--rows 10000000] [--rounds 3] [--opendp]

A person has four rows on average, of which two count. Plain SQL does the same bounding: an even choice by a
hash of person, content and number among alike rows. Targets: at most 1.3 times that, and at least twice as
fast as OpenDP (needs the bench environment).
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import duckdb

import dovetail as dv

from .release import KEYS, make_file
from .report import Row, show, timed

ROWS = 10**7
MAX_ROWS = 2
# The same choice: `twin` tells alike rows apart, and the digest puts a person's rows in a random order.
PLAIN = """
SELECT key, count(*) FROM (
    SELECT key, row_number() OVER (PARTITION BY person ORDER BY
        md5('secret|' || person || '|' || length(key) || ':' || key || '|' || twin), key, twin) AS place
    FROM (SELECT person, key, row_number() OVER (PARTITION BY person, key) AS twin FROM '{path}'
          WHERE person IS NOT NULL AND key IN ({keys})))
WHERE place <= {most} GROUP BY key
"""


def measured(folder: Path, count: int, rounds: int, opendp: bool) -> list[Row]:
    """Return one line per rival."""
    path = folder / f"persons{count}.parquet"
    make_file(path, count)
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    plain = PLAIN.format(path=path, keys=", ".join(f"'{key}'" for key in KEYS), most=MAX_ROWS)
    rivals = {"plain SQL": lambda: connection.execute(plain).fetchall()}
    if opendp:
        rivals["OpenDP"] = lambda: through_opendp(path, count)
    schema = dv.Schema([dv.Column("key", "text", values=KEYS)])
    with dv.Session(
        path,
        schema=schema,
        unit="person",
        max_rows=MAX_ROWS,
        max_cells=MAX_ROWS,
        budget=dv.Budget.pure(10**6),
        ledger=folder / "persons.ledger",
    ) as session:
        ours = {"ours": lambda: session.histogram("key", noise=dv.Geometric("0.1"), fresh=True)}
        times = timed({**rivals, **ours}, rounds)
    connection.close()
    targets = {"plain SQL": 1 / 1.3, "OpenDP": 2.0}
    return [
        Row(
            f"{count:,} rows, {count // 4:,} persons, {name}",
            f"{times['ours']:.2f} s",
            f"{times[name]:.2f} s",
            times.ratio(name, "ours"),
            round(targets[name], 2),
        )
        for name in rivals
    ]


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
    query = context.query().truncate_per_group(MAX_ROWS).group_by("key").agg(dp.len())
    return query.with_keys(pl.LazyFrame({"key": KEYS})).release().collect()


def main() -> int:
    """Run and print; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--opendp", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measured(Path(name), options.rows, options.rounds, options.opendp)
    return 0 if show("Bounding what a person adds", found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
