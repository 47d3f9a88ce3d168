"""Keep several workers running: one that ends is replaced at once."""

from __future__ import annotations

from uvicorn.supervisors import Multiprocess


class Supervisor(Multiprocess):
    """Starts the workers, asks each now and then whether it is well, and replaces those that are not.

    A worker that ends while it is asked shows as the end of its pipe. uvicorn keeps a copy of the worker's
    side open, so that it would wait for the reply of a dead worker as long as for that of a slow one.
    """

    def keep_subprocess_alive(self) -> None:
        """Close those copies, then look after the workers."""
        for process in self.processes:
            process.child_conn.close()
        super().keep_subprocess_alive()
