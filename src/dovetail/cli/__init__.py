"""The command line: parse, call, render.

Each command lives in a file of `commands` and imports what it needs when it runs, so that `--help` is quick.
"""

from __future__ import annotations

import atexit
import gc
import sys

# How often Python looks for garbage by itself.
USUAL_COLLECTION = gc.get_threshold()
# Most commands end before they leave any: looking for it while modules load takes a sixth of their time.
_RARE_COLLECTION = 400_000


def main() -> None:
    """Run the command line and leave with its exit code."""
    gc.set_threshold(_RARE_COLLECTION)
    # At its end Python looks for garbage twice, before and after it unloads modules: once will do.
    atexit.register(gc.disable)
    from .app import app_for

    app_for(sys.argv[1:])(prog_name="dovetail")
