"""What one `dovetail release` does: the calls inside the package, and its processor time beside bare imports.

    python -m benchmarks.release_trace

The trace counts calls of the package's functions (comprehensions left out), the files that they are in, and
how often a call lies in another package than the one before. Modules are loaded before, by another question
in another place, so that importing does not count. Times are user times of whole processes, the least of
several; bytecode is written before, as an installer does.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections import Counter
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import dovetail

ASKED = ("release", "adult", "--by", "sex", "--within", "10", "--budget", "epsilon=1")
OTHER = ("release", "adult", "--by", "education", "--within", "20", "--budget", "epsilon=1")
# What the command cannot do without.
LIBRARIES = (
    *("typer", "rich.console", "rich.text", "numpy", "flint", "duckdb", "sqlglot", "sqlglot.dialects.duckdb"),
    *("sqlalchemy", "sqlalchemy.dialects.sqlite", "sqlite3", "platformdirs", "csv", "logging", "tomllib"),
)
ROOT = Path(dovetail.__file__).parent
TIMES = 8


class Trace:
    """Counts calls of the package's functions."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.switches = 0
        self._package = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or not code.co_filename.startswith(str(ROOT)):
            return
        file = str(Path(code.co_filename).relative_to(ROOT))
        package = file.split(os.sep)[0]
        self.switches += self._package not in ("", package)
        self._package = package
        self.calls[file, code.co_qualname] += 1

    def of(self, *names: str) -> int:
        """Return how often functions of these names were called."""
        return sum(count for (_, name), count in self.calls.items() if name in names)


def run(words: tuple[str, ...]) -> None:
    """Run a command with a home of its own, quietly."""
    from dovetail.cli import main

    with TemporaryDirectory() as home, redirect_stdout(StringIO()), suppress(SystemExit):
        os.environ["XDG_DATA_HOME"] = home
        sys.argv = ["dovetail", *words]
        main()


def traced() -> Trace:
    """Return the trace of the command."""
    run(OTHER)
    trace = Trace()
    sys.setprofile(trace)
    try:
        run(ASKED)
    finally:
        sys.setprofile(None)
    return trace


def processor_time(*command: str) -> float:
    """Return the least user time of a process, in seconds."""
    found = []
    with TemporaryDirectory() as folder:
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        for _ in range(TIMES + 1):
            home = {"XDG_DATA_HOME": f"{folder}/{len(found)}", "PYTHONPYCACHEPREFIX": f"{folder}/bytecode"}
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            subprocess.run(
                [sys.executable, *command], env=clean | home, check=True, stdout=subprocess.DEVNULL
            )
            found.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
    return min(found[1:])


def main() -> None:
    """Print the trace and the times."""
    trace = traced()
    files = {file for file, _ in trace.calls}
    ledgers = trace.of("Ledger.open", "Ledger.create")
    lines = [
        f"{trace.calls.total():,} calls in {len(files)} files, {trace.switches} package switches",
        f"{trace.of('Session.__init__')} session, {ledgers} ledger, {trace.of('quote')} pricing",
    ]
    bare = processor_time("-c", f"import {', '.join(LIBRARIES)}")
    asked = processor_time("-m", "dovetail", *ASKED)
    lines += [
        f"processor time {asked:.2f} s: the bare imports take {bare:.2f} s, so {asked - bare:.2f} s more",
        f"dovetail version {processor_time('-m', 'dovetail', 'version'):.2f} s",
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
