"""A worker that dies is replaced at once, also if it dies while it is asked whether it is well."""

from __future__ import annotations

import os
import signal
import socket
from threading import Thread
from time import sleep
from typing import Any

import pytest
import uvicorn

from dovetail.service.supervisor import Supervisor

_HOUR = 3600


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Serve nothing."""


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals that stop a process")
def test_a_worker_that_is_killed_while_it_is_asked_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    config = uvicorn.Config(application, workers=1, lifespan="off", timeout_worker_healthcheck=_HOUR)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        supervisor = Supervisor(config, [bound])
        supervisor.init_processes()
        (first,) = supervisor.processes
        assert first.ping(_HOUR)
        assert first.pid is not None
        os.kill(first.pid, signal.SIGSTOP)
        while first.ping(0.2):
            pass
        asking = Thread(target=supervisor.keep_subprocess_alive, daemon=True)
        asking.start()
        sleep(0.2)  # it waits for a reply by now, or will find the process dead
        os.kill(first.pid, signal.SIGKILL)
        asking.join(60)
        replaced = not asking.is_alive()
        (second,) = supervisor.processes
        second.kill()
        second.join()
    assert replaced
    assert second is not first
