"""Run every benchmark, each module here that offers a TITLE and rows(), and write what they found.

python -m benchmarks                     all, into docs/benchmarks.md, a picture and README.md
python -m benchmarks sampling ledger     these two, nothing is written
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from importlib import import_module
from pkgutil import iter_modules

import benchmarks

from .page import PAGE, README, excerpt, written
from .report import Row, show
from .size_curve import PICTURE, draw


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; the exit code says whether every target was met."""
    began, met = time.perf_counter(), True
    sections: list[tuple[str, list[Row]]] = []
    for module in iter_modules(benchmarks.__path__):
        if module.name.startswith("__") or (names and module.name not in names):
            continue
        benchmark = import_module(f"benchmarks.{module.name}")
        if hasattr(benchmark, "rows"):
            rows: list[Row] = []
            met &= show(benchmark.TITLE, _kept(benchmark.rows(), rows))
            sections.append((benchmark.TITLE, rows))
    if not names:
        PAGE.write_text(written(sections, time.perf_counter() - began), encoding="utf-8")
        README.write_text(excerpt(README.read_text(encoding="utf-8"), sections), encoding="utf-8")
        draw(row for _, rows in sections for row in rows)
        print(f"\nWritten to {PAGE}, {README} and {PICTURE}")
    return 0 if met else 1


def _kept(rows: Iterable[Row], into: list[Row]) -> Iterator[Row]:
    for row in rows:
        into.append(row)
        yield row


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
