"""The command line: parse, call, render.

Each command lives in a file of `commands` and imports what it needs when it runs, so that `--help` is quick.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    from .app import app_for

    app_for(sys.argv[1:])(prog_name="dovetail")
