"""A worker that freezes and goes on after its lease: what it worked on was answered by another."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from time import sleep
from typing import Any

import pytest

pytestmark = pytest.mark.faults

CYCLES = 5
# Clients give up after this, and ask again elsewhere.
TIMEOUT = 4


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_frozen_worker_answers_nothing_twice(serve: Any, tmp_path: Path, request: Any, kind: str) -> None:
    """One that holds the lock of a file is killed after a minute: it does not say that it is well."""
    place = (
        str(tmp_path / "a.ledger") if kind == "sqlite" else request.getfixturevalue("own_server").get_uri()
    )
    campaign = serve(place, timeout=TIMEOUT)
    frozen: list[int] = []

    def freeze() -> None:
        frozen.append(campaign.random.choice(campaign.service.workers))
        os.kill(frozen[-1], signal.SIGSTOP)

    def go_on() -> None:
        with suppress(ProcessLookupError):
            os.kill(frozen[-1], signal.SIGCONT)
        # Late attempts end, one way or the other, before the record is read.
        sleep(TIMEOUT)

    for _ in range(CYCLES):
        campaign.cycle(freeze, go_on)
    assert campaign.hits > 0
