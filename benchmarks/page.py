"""Write measurements as a page of the documentation, with what they were measured with."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from .report import Row

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
PEERS = ("numpy", "opendp", "diffprivlib", "python-dp", "dp-accounting", "duckdb", "polars")
_HEAD = """# Beside other libraries

Written by `make bench` on {date}, in one run of {minutes:.0f} minutes: Python {python} on {machine}
with {cores} cores; {versions}.

A **ratio** is theirs by ours where less is better (time, error, memory) and ours by theirs for speeds: above
1, Dovetail is ahead. The candidates of a row take turns in one run, so that another load on the machine meets
them alike, and ratios are medians. Times differ from machine to machine. A row that misses its target fails
the run.
"""


def written(sections: Sequence[tuple[str, Sequence[Row]]], seconds: float) -> str:
    """Return the page as Markdown."""
    head = _HEAD.format(
        date=datetime.now(UTC).date().isoformat(),
        minutes=max(seconds / 60, 1),
        python=platform.python_version(),
        machine=platform.machine(),
        cores=os.cpu_count(),
        versions=", ".join(f"{name} {version(name)}" for name in PEERS),
    )
    return head + "".join(f"\n## {title}\n\n{_table(rows)}\n" for title, rows in sections)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| case | Dovetail | other | ratio | target |", "|---|---|---|---|---|"]
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:,.3g}"
        target = "" if row.target is None else f"{row.target:.3g}"
        missed = " (missed)" if row.verdict == "MISSED" else ""
        lines.append(f"| {row.case} | {row.ours} | {row.theirs} | {ratio} | {target}{missed} |")
    return "\n".join(lines)
