"""One suite for every store: `location` is a SQLite file or a PostgreSQL database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dovetail.ledger import DatasetAccount, Ledger
from dovetail.privacy import Budget


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where a new ledger can be made."""
    if request.param == "sqlite":
        return str(tmp_path / "test.ledger")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def ledger(location: str) -> Iterator[Ledger]:
    """Return an empty ledger."""
    with Ledger.create(location) as made:
        yield made


@pytest.fixture
def account(ledger: Ledger) -> DatasetAccount:
    """Return an account with a pure budget of 1."""
    return ledger.account("visits", budget=Budget.pure(1), source="/data/visits.csv")
