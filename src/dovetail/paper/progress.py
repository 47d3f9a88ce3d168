"""Show progress on a terminal, and nowhere else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .reproduction import Progress as Callback


@contextmanager
def terminal_progress() -> Iterator[Callback | None]:
    """Yield a progress callback that draws bars on standard error; None where that is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True)) as bars:
        tasks = {}

        def show(title: str, share: float) -> None:
            if title not in tasks:
                tasks[title] = bars.add_task(title, total=1.0)
            bars.update(tasks[title], completed=share)

        yield show
