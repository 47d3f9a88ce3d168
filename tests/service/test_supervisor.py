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

        def start(limit: float, workers: int = 2, renew: Any = None) -> Supervisor:
            bound = after.enter_context(socket.create_server(("127.0.0.1", 0)))
            config = uvicorn.Config(
                application, workers=workers, lifespan="off", timeout_worker_healthcheck=limit
            )
            made = Supervisor(config, [bound], renew)
            after.callback(end, made)
            made.init_processes()
            for each in made.processes:
                while not each.is_ready(_HOUR):
                    sleep(0.05)
            return made

        yield start


def end(supervisor: Supervisor) -> None:
    for process in (*supervisor.processes, *supervisor._leaving):
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


def replaced(supervisor: Supervisor, before: list[Process]) -> None:
    """Let rounds pass until none of these workers is left."""
    for _ in range(3000):
        supervisor.keep_subprocess_alive()
        if not set(before) & {*supervisor.processes, *supervisor._leaving}:
            return
        sleep(0.02)
    raise AssertionError("The workers were not replaced.")


def test_a_reload_replaces_every_worker_although_one_is_frozen(supervise: Callable[..., Supervisor]) -> None:
    supervisor = supervise(20)
    before = list(supervisor.processes)
    send(before[0], signal.SIGSTOP)
    supervisor.handle_hup()
    replaced(supervisor, before)
    assert len(supervisor.processes) == 2
    assert all(each.ping(_HOUR) for each in supervisor.processes)
    assert before[0].exitcode == -signal.SIGKILL


def test_a_reload_with_a_mistake_replaces_nobody(supervise: Callable[..., Supervisor]) -> None:
    supervisor = supervise(_HOUR, renew=lambda _: False)
    before = list(supervisor.processes)
    supervisor.handle_hup()
    for _ in range(3):
        supervisor.keep_subprocess_alive()
    assert supervisor.processes == before
    assert supervisor._next is None


def test_workers_that_cannot_begin_leave_the_old_ones_in_place(supervise: Callable[..., Supervisor]) -> None:
    def renew(config: uvicorn.Config) -> bool:
        config.app = "no.such.module:application"
        return True

    supervisor = supervise(_HOUR, renew=renew)
    before = list(supervisor.processes)
    supervisor.handle_hup()
    supervisor.keep_subprocess_alive()
    coming = supervisor._next
    assert coming is not None
    coming.process.join(_HOUR)
    supervisor.keep_subprocess_alive()
    assert supervisor._next is None
    for _ in range(3):
        supervisor.keep_subprocess_alive()
    assert supervisor.processes == before
    assert all(each.process.is_alive() for each in before)


def test_an_end_in_the_middle_of_a_reload_leaves_no_process(supervise: Callable[..., Supervisor]) -> None:
    supervisor = supervise(_HOUR)
    before = list(supervisor.processes)
    supervisor.handle_hup()
    while supervisor.processes == before:
        supervisor.keep_subprocess_alive()
        sleep(0.02)
    supervisor.keep_subprocess_alive()
    coming = supervisor._next
    assert coming is not None
    supervisor.terminate_all()
    supervisor.join_all()
    assert not any(each.process.is_alive() for each in (*before, *supervisor.processes, coming))
