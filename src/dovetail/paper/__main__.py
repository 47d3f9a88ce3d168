"""`python -m dovetail.paper`: reproduce the paper from a terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import dovetail as dv

from .progress import terminal_progress
from .reproduction import DEFAULT_SEED, item_names, reproduce


def main(arguments: list[str] | None = None) -> int:
    """Run the reproduction and say where the report is; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m dovetail.paper", description="Reproduce the paper's evaluation."
    )
    parser.add_argument("--out", type=Path, help="folder for tables, figures and report.html")
    parser.add_argument("--quick", action="store_true", help="fewer samples, under a minute")
    parser.add_argument("--only", action="append", metavar="ITEM", help=f"one of {', '.join(item_names())}")
    parser.add_argument(
        "--seed", type=int, default=DEFAULT_SEED, help="fixes the experiment's own draws of queries"
    )
    given = parser.parse_args(arguments)
    out = given.out or Path("out", "paper-quick" if given.quick else "paper")
    try:
        with terminal_progress() as progress:
            done = reproduce(out, quick=given.quick, only=given.only, seed=given.seed, progress=progress)
    except dv.DovetailError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(f"{done.report}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
