"""Run every benchmark: each module here that offers a TITLE and rows()."""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules

import benchmarks

from .report import show


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all; the exit code says whether every target was met."""
    met = True
    for module in iter_modules(benchmarks.__path__):
        if module.name.startswith("__") or (names and module.name not in names):
            continue
        benchmark = import_module(f"benchmarks.{module.name}")
        if hasattr(benchmark, "rows"):
            met &= show(benchmark.TITLE, benchmark.rows())
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
