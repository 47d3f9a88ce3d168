"""A service that runs for the tests in a browser: the real application, a real ledger, real HTTP."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dovetail as dv
from dovetail.ledger import Ledger
from dovetail.privacy import Budget

PEOPLE = (
    ("carl", "curator"),
    ("ann", "analyst"),
    ("bob", "analyst"),
    ("eve", "analyst"),
    ("olga", "auditor"),
)


@dataclass
class Running:
    """Where it runs, whom it knows, and its ledger."""

    address: str
    folder: Path
    ledger: Ledger
    keys: dict[str, str]
    server: Any
    stopped: bool = field(default=False)

    def stop(self) -> None:
        """Stop answering, as if the process were gone."""
        if not self.stopped:
            self.stopped = True
            self.server.should_exit = True
            self.server.thread.join(30)


@contextmanager
def running(
    folder: Path,
    *,
    budget: Budget | None = None,
    declared: tuple[Any, ...] = (),
    **settings: Any,
) -> Iterator[Running]:
    """Serve the Adult data, or what is declared; `ann` and `bob` hold grants of the first data set."""
    import uvicorn

    from dovetail.service.app import create_app
    from dovetail.service.registration import seed
    from dovetail.service.settings import DeclaredDataset, Settings

    whole = budget or Budget.approximate(9, "1e-6")
    about = {"title": "Adult census", "description": "People of the census of 1994."}
    schema = dv.datasets.adult().schema or dv.Schema()
    offered = declared or (DeclaredDataset("adult", {"shipped": "adult"}, whole, schema, about=about),)
    path = str(folder / "service.ledger")
    ledger = Ledger.create(path)
    (folder / "data").mkdir(exist_ok=True)
    settings.setdefault("data_roots", {"data": folder / "data"})
    settled = Settings(path, datasets=offered, cookie_secret=b"s" * 32, **settings)
    seed(settled, ledger)
    keys = {}
    for name, role in PEOPLE:
        ledger.people.add(name, role)
        keys[name] = ledger.people.make_key(name).text
    for name in ("ann", "bob"):
        ledger.people.grant(name, offered[0].name, whole)
    app = create_app(settled, ledger)
    app.service.served.refresh(now=True)
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, access_log=False))
    server.thread = threading.Thread(target=server.run, daemon=True)  # type: ignore[attr-defined]
    server.thread.start()  # type: ignore[attr-defined]
    while not server.started:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    made = Running(f"http://127.0.0.1:{port}", folder, ledger, keys, server)
    try:
        yield made
    finally:
        made.stop()
