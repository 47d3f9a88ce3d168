"""Keep several workers running: one that ends is replaced at once, one that freezes after a while."""

from __future__ import annotations

from collections.abc import Callable
from socket import socket
from time import sleep
from weakref import WeakKeyDictionary, WeakSet

from uvicorn.config import STARTUP_FAILURE, Config
from uvicorn.supervisors.multiprocess import Multiprocess, Process

from .logs import Log

# Seconds between two rounds of `Multiprocess.run`.
_ROUND = 0.5


class Supervisor(Multiprocess):
    """Starts the workers, asks all of them in each round whether they are well, and waits for none.

    uvicorn waits for one reply after another: as long as one worker is frozen, it would neither replace
    another that has died nor hear a signal, and it would never end. Rounds are counted instead of seconds:
    where this process was frozen itself, no worker had a chance to reply. `renew` is asked at SIGHUP; if it
    agrees, all workers are replaced: the next one is started, and when it serves, an old one finishes.
    """

    def __init__(
        self, config: Config, sockets: list[socket], renew: Callable[[Config], bool] | None = None
    ) -> None:
        super().__init__(config, sockets)
        self._renew = renew
        self._silent: WeakKeyDictionary[Process, int] = WeakKeyDictionary()
        self._serving: WeakSet[Process] = WeakSet()
        self._outdated: list[Process] = []
        self._leaving: list[Process] = []
        self._next: Process | None = None

    def handle_hup(self) -> None:
        """Replace all workers if the settings of now have no mistake."""
        if self._renew is None or self._renew(self.config):
            self._outdated = list(self.processes)
            # It may have begun with other settings.
            self._give_up_next()

    def keep_subprocess_alive(self) -> None:
        """Replace the workers that are not well, and go on replacing those that are outdated."""
        for number, process in enumerate(self.processes):
            if self.should_exit.is_set():
                return
            if self._is_well(process):
                continue
            process.kill()
            process.join()
            if process.exitcode == STARTUP_FAILURE:
                # The next one would fail in the same way.
                self.should_exit.set()
                return
            self.processes[number] = self._started()
        self._let_leave()
        self._replace_next()

    def _replace_next(self) -> None:
        """Take one step on the way to workers with new settings."""
        # One that died meanwhile was replaced already.
        self._outdated = [each for each in self._outdated if each in self.processes]
        if not self._outdated:
            self._give_up_next()
        elif self._next is None:
            self._next = self._started()
        elif not self._is_well(self._next):
            # It would be the same with the others: the old workers go on.
            Log().warning("workers not replaced", worker=self._next.pid)
            self._outdated = []
            self._give_up_next()
        elif self._next in self._serving:
            old = self._outdated.pop(0)
            self.processes[self.processes.index(old)] = self._next
            self._next = None
            old.process.terminate()
            self._leaving.append(old)

    def _give_up_next(self) -> None:
        if self._next is not None:
            self._next.kill()
            self._next.join()
            self._next = None

    def _let_leave(self) -> None:
        """Wait for workers that were told to finish; one that freezes on the way is killed."""
        for process in self._leaving:
            if process.process.is_alive() and not self._is_well(process):
                process.kill()
        for process in [each for each in self._leaving if not each.process.is_alive()]:
            process.join()
            self._leaving.remove(process)

    def _started(self) -> Process:
        made = Process(self.config, self.sockets)
        made.start()
        return made

    def _is_well(self, process: Process) -> bool:
        """Tell whether a worker lives and has replied within the limit; ask it again if it has replied."""
        if not process.process.is_alive():
            return False
        # Of the worker's side only the worker's own copy stays open, so that its end shows.
        process.child_conn.close()
        try:
            while process.parent_conn.poll():
                if process.parent_conn.recv():
                    self._serving.add(process)
                self._silent.pop(process, None)
            if process not in self._silent:
                process.parent_conn.send(b"ping")
        except (OSError, EOFError):
            return False
        self._silent[process] = self._silent.get(process, 0) + 1
        return self._silent[process] * _ROUND <= self.config.timeout_worker_healthcheck

    def terminate_all(self) -> None:
        """Tell the workers to finish what they have begun."""
        self._give_up_next()
        for process in self.processes:
            process.process.terminate()

    def join_all(self) -> None:
        """Wait until they have; one that freezes on the way is killed."""
        self._leaving += self.processes
        while self._leaving:
            self._let_leave()
            sleep(_ROUND if self._leaving else 0)
