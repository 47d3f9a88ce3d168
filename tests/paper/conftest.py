"""One quick run of the whole reproduction, shared by every test that looks at its results."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from dovetail.paper import Reproduction, reproduce


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Reproduction:
    """Reproduce the paper at quick sizes once; parallel test processes wait for the first and share it."""
    base = tmp_path_factory.getbasetemp()
    shared = base if "popen" not in base.name else base.parent
    folder = Path(shared, "paper-quick")
    with Path(shared, "paper-quick.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return reproduce(folder, quick=True)
