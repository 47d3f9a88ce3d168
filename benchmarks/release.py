"""Measure a private histogram against the bare aggregation, many counts in one session, and memory.

    python -m benchmarks.release

The files are made by DuckDB in a temporary folder. Every comparison alternates between its sides, so that
another load on the machine meets both alike, and reports the median. Targets: the histogram costs at most 1.4
times the bare GROUP BY on 10 million rows and 1.1 times on 100 million; a count on Adult takes at most 10 ms,
ledger included.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

import dovetail as dv

from .ledger import bare_commits
from .report import Row, show, timed

TITLE = "A private histogram of 50 cells, ledger included"
CELLS = 50
KEYS = [f"k{number:02d}" for number in range(CELLS)]


def make_file(path: Path, rows: int, part: int = 0, parts: int = 1) -> None:
    """Write a table of a text key with 50 values, a number, a person, an age and a sex, in no order.

    Of rows in several parts, this writes one.
    """
    first, end = rows * part // parts, rows * (part + 1) // parts
    duckdb.sql("SET enable_progress_bar = false")
    duckdb.sql(
        f"""COPY (
            SELECT 'k' || lpad((hash(i) % {CELLS})::VARCHAR, 2, '0') AS key,
                   (hash(i + 1) % 100000) / 100.0::DOUBLE AS amount,
                   (hash(i + 2) % {max(rows // 4, 1)})::BIGINT AS person,
                   (hash(i + 3) % 121)::SMALLINT AS age,
                   CASE hash(i + 4) % 2 WHEN 0 THEN 'f' ELSE 'm' END AS sex
            FROM range({first}, {end}) AS t(i)) TO '{path}' (FORMAT parquet)"""
    )


def rows() -> Iterator[Row]:
    """Measure and give one row after another, on ten million rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield many_counts(folder)
        yield from histogram(folder, 10**7)
        yield opendp_histogram(folder, 10**7)


def histogram(folder: Path, rows: int, repeats: int = 15) -> Iterator[Row]:
    """Compare a private 50-cell histogram with DuckDB's own GROUP BY of the same file.

    Then with the floor: the same GROUP BY and two durable commits, the least in which a charge comes before
    the rows and an answer is stored before it is shown.
    """
    path = folder / f"rows{rows}.parquet"
    make_file(path, rows)
    schema = dv.Schema([dv.Column("key", "text", values=KEYS)])
    bare = duckdb.connect()
    before, commit = peak_memory(), bare_commits(folder / f"bare{rows}.db", "EXTRA")

    def aggregate() -> object:
        return bare.execute(f"SELECT key, count(*) FROM '{path}' GROUP BY key").fetchall()

    with dv.Session(
        path,
        budget=dv.Budget.pure(10**6),
        schema=schema,
        ledger=folder / f"{rows}.ledger",
        protects="rows",
    ) as session:
        times = timed(
            {
                "bare": aggregate,
                "private": lambda: session.histogram("key", noise=dv.Geometric("0.1"), fresh=True),
                "floor": lambda: (commit(), aggregate(), commit()),
            },
            repeats,
        )
    ours = f"{times['private']:.4f} s"
    yield Row(
        f"{rows:,} rows, bare DuckDB (memory {before} to {peak_memory()} MB)",
        ours,
        f"{times['bare']:.4f} s",
        times.ratio("bare", "private"),
        1 / (1.4 if rows <= 10**7 else 1.1),
    )
    floor = times.ratio("floor", "private")
    case = f"{rows:,} rows, bare DuckDB and two durable commits"
    yield Row(case, ours, f"{times['floor']:.4f} s", floor, 1 / 1.05)


def many_counts(folder: Path, counts: int = 1000) -> Row:
    """Time different counts in one session on Adult, durable ledger included, beside one bare fsync."""
    with dv.Session(
        dv.datasets.adult(), budget=dv.Budget.pure(10**6), ledger=folder / "adult.ledger"
    ) as session:
        noise, listed = dv.Geometric("0.1"), []
        session.count(noise=noise)
        for number in range(counts):
            began = time.perf_counter()
            session.count(where=f"fnlwgt > {number * 500} AND age >= {number % 60}", noise=noise)
            listed.append((time.perf_counter() - began) * 1000)
    mine = statistics.median(listed)
    case = f"one of {counts:,} counts on Adult (a bare fsync: {fsync_ms(folder):.2f} ms)"
    return Row(case, f"{mine:.2f} ms", "<= 10 ms", 10 / mine, 1.0)


def fsync_ms(folder: Path, times: int = 50) -> float:
    """Return the median milliseconds of one small durable write."""
    listed = []
    with (folder / "fsync").open("wb", buffering=0) as file:
        for _ in range(times):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
            listed.append((time.perf_counter() - began) * 1000)
    return statistics.median(listed)


def opendp_histogram(folder: Path, rows: int, repeats: int = 3) -> Row:
    """Compare with the same histogram through OpenDP's Polars context (needs the bench environment)."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    path = folder / f"rows{rows}.parquet"
    keys = pl.LazyFrame({"key": KEYS})

    def through_opendp() -> object:
        context = dp.Context.compositor(
            data=pl.scan_parquet(path).select("key"),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=[dp.polars.Margin(max_length=rows)],
        )
        query = context.query().group_by("key").agg(dp.len(signed=True)).with_keys(keys)
        return query.release().collect()

    schema = dv.Schema([dv.Column("key", "text", values=KEYS)])
    options = {"budget": dv.Budget.pure(10**6), "schema": schema, "protects": "rows"}
    with dv.Session(path, ledger=folder / "o.ledger", **options) as session:
        times = timed(
            {
                "opendp": through_opendp,
                "dovetail": lambda: session.histogram("key", noise=dv.Geometric("0.1"), fresh=True),
            },
            repeats,
        )
    theirs, mine, ratio = times["opendp"], times["dovetail"], times.ratio("opendp", "dovetail")
    return Row(f"{rows:,} rows, OpenDP with Polars", f"{mine:.3f} s", f"{theirs:.3f} s", ratio, 5.0)


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


if __name__ == "__main__":
    sys.exit(0 if show(TITLE, rows()) else 1)
