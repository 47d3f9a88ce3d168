"""Start pgbouncer in front of a PostgreSQL server that tests started."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url

MODES = ["session", "transaction"]
_SETTINGS = """
[databases]
* = host={host} port={port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
{more}
"""


@dataclass(slots=True)
class Pooler:
    """A running pgbouncer; `address` leads through it to the database that it was started for."""

    address: str
    process: Any
    _arguments: list[str]

    def kill(self) -> None:
        """End it as a crash would."""
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        """Start it (again), and wait until it lets somebody in."""
        self.process = subprocess.Popen(
            self._arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with suppress(psycopg.OperationalError), psycopg.connect(self.address, connect_timeout=5):
                return
            assert self.process.poll() is None, "pgbouncer ended"
            time.sleep(0.05)
        raise AssertionError("pgbouncer does not answer")


@contextmanager
def pooled(address: str, mode: str, **settings: object) -> Iterator[Pooler]:
    """Run pgbouncer in front of the server of an address, on a port of this machine alone."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
    url = make_url(address)
    with socket.create_server(("127.0.0.1", 0)) as free:
        listen = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="pgb"))
    folder.chmod(0o755)
    more = "\n".join(f"{name} = {value}" for name, value in settings.items())
    host, port = url.query.get("host", url.host), url.query.get("port", url.port or 5432)
    text = _SETTINGS.format(host=host, port=port, listen=listen, mode=mode, more=more)
    (folder / "pgbouncer.ini").write_text(text)
    (folder / "pgbouncer.ini").chmod(0o644)
    # It refuses to run as root, and only the server's own user can reach its socket.
    run_as = ["-u", Path(str(host)).owner()] if os.geteuid() == 0 else []
    through = f"postgresql://postgres@127.0.0.1:{listen}/{url.database}"
    pooler = Pooler(through, None, [program, "-q", *run_as, str(folder / "pgbouncer.ini")])
    try:
        pooler.start()
        yield pooler
    finally:
        if pooler.process is not None:
            pooler.kill()
        shutil.rmtree(folder, ignore_errors=True)
