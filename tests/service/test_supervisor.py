"""A worker that dies is replaced at once, one that freezes after a while; neither holds up the others."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from time import sleep
from typing import Any

import pytest
import uvicorn
from uvicorn.supervisors.multiprocess import Process

from dovetail.service.supervisor import Supervisor

_HOUR = 3600

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="needs signals that stop a process")


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Serve nothing."""


@pytest.fixture
def supervise(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Supervisor]]:
    """Return what starts workers and waits until they serve."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with ExitStack() as after:

        def start(limit: float, workers: int = 2) -> Supervisor:
            bound = after.enter_context(socket.create_server(("127.0.0.1", 0)))
            config = uvicorn.Config(
                application, workers=workers, lifespan="off", timeout_worker_healthcheck=limit
            )
            made = Supervisor(config, [bound])
            after.callback(end, made)
            made.init_processes()
            for each in made.processes:
                while not each.is_ready(_HOUR):
                    sleep(0.05)
            return made

        yield start


def end(supervisor: Supervisor) -> None:
    for process in supervisor.processes:
        process.process.kill()
        process.join()


def send(process: Process, number: int) -> None:
    assert process.pid is not None
    os.kill(process.pid, number)
    if number == signal.SIGSTOP:
        # Until all of its threads have stopped, it may still reply.
        os.waitid(os.P_PID, process.pid, os.WSTOPPED)


def test_a_worker_that_dies_is_replaced_while_another_is_frozen(
    supervise: Callable[..., Supervisor],
) -> None:
    supervisor = supervise(_HOUR)
    frozen, killed = supervisor.processes
    send(frozen, signal.SIGSTOP)
    # One that is asked and does not reply is waited for in no round.
    for _ in range(3):
        supervisor.keep_subprocess_alive()
    send(killed, signal.SIGKILL)
    killed.join()
    supervisor.keep_subprocess_alive()
    assert supervisor.processes[0] is frozen
    assert supervisor.processes[1] is not killed
    assert supervisor.processes[1].ping(_HOUR)


def test_a_worker_that_freezes_is_replaced_after_the_limit(supervise: Callable[..., Supervisor]) -> None:
    supervisor = supervise(2)
    frozen, well = supervisor.processes
    send(frozen, signal.SIGSTOP)
    for _ in range(4):
        supervisor.keep_subprocess_alive()
        assert supervisor.processes[0] is frozen
        # However long this process itself was away: rounds count, not seconds.
        assert well.parent_conn.poll(_HOUR)
    supervisor.keep_subprocess_alive()
    assert supervisor.processes[0] is not frozen
    assert supervisor.processes[1] is well


def test_a_worker_that_wakes_up_in_time_stays(supervise: Callable[..., Supervisor]) -> None:
    supervisor = supervise(2, workers=1)
    (process,) = supervisor.processes
    for _ in range(3):
        send(process, signal.SIGSTOP)
        for _ in range(4):
            supervisor.keep_subprocess_alive()
        send(process, signal.SIGCONT)
        assert process.parent_conn.poll(_HOUR)
    assert supervisor.processes == [process]


def test_the_end_waits_for_no_frozen_worker(supervise: Callable[..., Supervisor]) -> None:
    supervisor = supervise(1)
    send(supervisor.processes[0], signal.SIGSTOP)
    supervisor.terminate_all()
    supervisor.join_all()
    frozen, well = supervisor.processes
    assert frozen.exitcode == -signal.SIGKILL
    assert well.exitcode in (0, -signal.SIGTERM)
