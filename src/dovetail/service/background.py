"""Run a service in a thread of this process, on a free port of this machine: for demonstrations and tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Thread
from time import sleep

import uvicorn

from dovetail.sampling import random_bytes

from .server import Start, address_of, bound_socket, configured, first_curator, prepare, worker
from .settings import Settings


@contextmanager
def background(settings: Settings) -> Iterator[Start]:
    """Serve until the block ends; its port is any that is free."""
    prepare(settings)
    settings = replace(settings, port=0, workers=1, cookie_secret=random_bytes(32))
    with closing(bound_socket(settings)) as bound:
        settings = replace(settings, port=bound.getsockname()[1])
        server = uvicorn.Server(configured(settings, worker(settings)))
        thread = Thread(target=server.run, args=([bound],))
        thread.start()
        try:
            while not server.started and thread.is_alive():
                sleep(0.01)
            yield Start(address_of(settings), *first_curator(settings))
        finally:
            server.should_exit = True
            thread.join()
