"""Keep several workers running: one that ends is replaced at once, one that freezes after a while."""

from __future__ import annotations

from socket import socket
from time import sleep
from weakref import WeakKeyDictionary

from uvicorn.config import STARTUP_FAILURE, Config
from uvicorn.supervisors.multiprocess import Multiprocess, Process

# Seconds between two rounds of `Multiprocess.run`.
_ROUND = 0.5


class Supervisor(Multiprocess):
    """Starts the workers, asks all of them in each round whether they are well, and waits for none.

    uvicorn waits for one reply after another: as long as one worker is frozen, it would neither replace
    another that has died nor hear a signal, and it would never end. Rounds are counted instead of seconds:
    where this process was frozen itself, no worker had a chance to reply.
    """

    def __init__(self, config: Config, sockets: list[socket]) -> None:
        super().__init__(config, sockets)
        self._silent: WeakKeyDictionary[Process, int] = WeakKeyDictionary()

    def keep_subprocess_alive(self) -> None:
        """Replace the workers that are not well."""
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
            self.processes[number] = Process(self.config, self.sockets)
            self.processes[number].start()

    def _is_well(self, process: Process) -> bool:
        """Tell whether a worker lives and has replied within the limit; ask it again if it has replied."""
        if not process.process.is_alive():
            return False
        # Of the worker's side only the worker's own copy stays open, so that its end shows.
        process.child_conn.close()
        try:
            while process.parent_conn.poll():
                process.parent_conn.recv()
                self._silent.pop(process, None)
            if process not in self._silent:
                process.parent_conn.send(b"ping")
        except (OSError, EOFError):
            return False
        self._silent[process] = self._silent.get(process, 0) + 1
        return self._silent[process] * _ROUND <= self.config.timeout_worker_healthcheck

    def terminate_all(self) -> None:
        """Tell the workers to finish what they have begun."""
        for process in self.processes:
            process.process.terminate()

    def join_all(self) -> None:
        """Wait until they have; one that freezes on the way is killed."""
        while running := [each for each in self.processes if each.process.is_alive()]:
            for process in running:
                if not self._is_well(process):
                    process.kill()
            sleep(_ROUND)
        for process in self.processes:
            process.join()
