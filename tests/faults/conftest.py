"""What the tests of faults share: a service of two workers, to be killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kill_campaign import Campaign
from running_service import Running, configured

# Each cycle of a campaign raises the budget.
LEAST = "0.000000001"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Campaign]]:
    """Return what starts a service of two workers on a ledger, to be killed."""
    begun: list[Campaign] = []

    def start(ledger: str, **more: Any) -> Campaign:
        service = Running(tmp_path, configured(tmp_path, ledger, LEAST, workers=2, lease=2))
        begun.append(Campaign(service, ledger, **more))
        return begun[-1]

    yield start
    for each in begun:
        each.end()
