"""The command line: parse, call, render.

Each command lives in a file of `commands` and imports what it needs when it runs, so that `--help` is quick.
"""

from __future__ import annotations


def main() -> None:
    """Run the command line and leave with its exit code."""
    from .app import app

    app(prog_name="dovetail")
