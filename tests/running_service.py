"""A real `dovetail serve`, started as a user starts it: its processes, its people, its end."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.parse import urlsplit

import httpx2

PATIENCE = 120.0


class Running:
    """A service that was started as a user starts it."""

    def __init__(self, folder: Path, words: list[str], status: int = 200) -> None:
        self.output = folder / "output.txt"
        self.errors = folder / "errors.txt"
        command = [sys.executable, "-m", "dovetail", "serve", *words, "--port", "0", "--no-open"]
        with self.output.open("w") as out, self.errors.open("w") as err:
            self.process = subprocess.Popen(command, stdout=out, stderr=err, cwd=folder)
        self.address = self._found(r"serves at (http\S+?)\.\s")
        self.wait(status)

    def _found(self, pattern: str) -> str:
        until = monotonic() + PATIENCE
        while monotonic() < until and self.process.poll() is None:
            match = re.search(pattern, self.output.read_text())
            if match:
                return match[1]
            sleep(0.05)
        raise AssertionError(self.errors.read_text())

    def wait(self, status: int = 200) -> httpx2.Response:
        """Wait until the service is ready, or not ready any more."""
        until = monotonic() + PATIENCE
        while monotonic() < until:
            with suppress(httpx2.HTTPError):
                said = _client().get(f"{self.address}/readyz", timeout=5)
                if said.status_code == status:
                    return said
            sleep(0.05)
        raise AssertionError(self.errors.read_text())

    @property
    def workers(self) -> list[int]:
        """The processes that answer, where there are several."""
        return [each for each in children(self.process.pid) if _is_worker(Path(f"/proc/{each}/cmdline"))]

    @property
    def key(self) -> str:
        """The curator's key, which is printed once."""
        return self._found(r"Curator key\s+(dvt_\S+)")

    def ask(self, method: str, path: str, key: str, body: Any = None, retry: str = "") -> httpx2.Response:
        headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": retry or os.urandom(8).hex()}
        return _client().request(method, self.address + path, headers=headers, json=body)

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@cache
def _client() -> httpx2.Client:
    """Return what makes a connection for each request; to read certificates each time takes far longer."""
    return httpx2.Client(timeout=60, limits=httpx2.Limits(max_keepalive_connections=0))


def children(process: int) -> list[int]:
    """Return the processes that a process has started."""
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def connected(service: Running, received: int | None = None) -> socket.socket:
    """Return a connection; it may keep only so many bytes that were received and not read."""
    made = socket.socket()
    if received is not None:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, received)
    made.settimeout(60)
    parts = urlsplit(service.address)
    made.connect((parts.hostname, parts.port))
    return made


def head(key: str, path: str, length: int = 0, method: str = "POST") -> bytes:
    """Return what comes before the body of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {key}"]
    lines += ["Content-Type: application/json", f"Content-Length: {length}", "Idempotency-Key: k"]
    return "\r\n".join([*lines, "", ""]).encode()


def _is_worker(said: Path) -> bool:
    # A process that is gone, or was killed and not yet asked for, says nothing.
    with suppress(OSError):
        return b"spawn_main" in said.read_bytes()
    return False


def configured(folder: Path, ledger: str, budget: str = "1000", **service: object) -> list[str]:
    """Return the words that start a service on the Adult data with these settings."""
    lines = [f"{name} = {value}" for name, value in service.items()]
    config = folder / "service.toml"
    config.write_text(
        "\n".join(["[service]", f'ledger = "{ledger}"', *lines, "[limits]", 'rate = "100000/second"'])
        + f'\n[datasets.adult]\nsource = "adult"\nbudget = {{ epsilon = "{budget}" }}\n'
    )
    return ["--config", str(config)]


def analyst(service: Running, curator: str, epsilon: str) -> str:
    """Add an analyst with an allotment, and return the key."""
    person = service.ask("POST", "/v1/analysts", curator, {"name": f"a{os.urandom(4).hex()}"}).json()["id"]
    grant = {"person": person, "dataset": "adult", "allotment": {"epsilon": epsilon}}
    assert service.ask("POST", "/v1/grants", curator, grant).status_code == 201
    return str(service.ask("POST", "/v1/keys", curator, {"person": person}).json()["key"])
