"""Write measurements as a page of the documentation, with what they were measured with."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from .report import Row, shown_ratio

ROOT = Path(__file__).parent.parent
PAGE, README = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
# The rows that README shows, by how their case begins, and its words for them.
SHOWN = {
    "scale 3, 10 million, NumPy": "exact integer noise, beside NumPy's floating-point Laplace",
    "scale 3, opendp": "exact integer noise, beside OpenDP",
    "10,000,000 rows, OpenDP": "private histogram of 10 million rows, beside OpenDP",
    "10,000,000 rows, bare DuckDB": "the same, beside DuckDB without any privacy",
    "(1, 1e-6) after 10 queries: variance, Gaussian": "variance of 10 answers at (1, 1e-6), Gaussian noise",
    "(1, 1e-6) after 100 queries: variance, Gaussian": "variance of 100 answers at (1, 1e-6), Gaussian noise",
}
_MARKED = re.compile(r"(<!-- bench[^>]*-->\n).*?(<!-- /bench -->)", re.DOTALL)
PEERS = ("numpy", "opendp", "diffprivlib", "python-dp", "dp-accounting", "duckdb", "polars")
_HEAD = """# Beside other libraries

For readers who choose a library or check a claim.

Written by `make bench` on {date}, in one run of {minutes:.0f} minutes: Python {python} on {machine}
with {cores} cores; {versions}.

A **ratio** is theirs by ours where less is better (time, error, memory) and ours by theirs for speeds: above
1, Dovetail is ahead. The candidates of a row take turns in one run, so that other load on the machine affects
them alike, and ratios are medians. The **spread** is how far apart the medians of the two halves of the
rounds lie; a row with more than a fifth is measured up to four times as long. Times differ from machine to
machine. A row that misses its target fails the run.
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


def excerpt(readme: str, sections: Sequence[tuple[str, Sequence[Row]]]) -> str:
    """Return README with its table made anew from these measurements."""
    rows = [row for _, listed in sections for row in listed]
    lines = ["| what was measured | Dovetail | other | ratio |", "|---|---|---|---|"]
    for begin, words in SHOWN.items():
        row = next(row for row in rows if row.case.startswith(begin))
        ratio = "" if row.ratio is None else shown_ratio(row.ratio)
        lines.append(f"| {words} | {row.ours} | {row.theirs} | {ratio} |")
    table = "\n".join(lines)
    return _MARKED.sub(lambda found: f"{found[1]}{table}\n{found[2]}", readme)


def _table(rows: Sequence[Row]) -> str:
    lines = ["| case | Dovetail | other | ratio | spread | target |", "|---|---|---|---|---|---|"]
    for row in rows:
        ratio = "" if row.ratio is None else shown_ratio(row.ratio)
        target = "" if row.target is None else shown_ratio(row.target)
        missed = " (missed)" if row.verdict == "MISSED" else ""
        lines.append(
            f"| {row.case} | {row.ours} | {row.theirs} | {ratio} | {row.spread} | {target}{missed} |"
        )
    return "\n".join(lines)
