"""A command line that leaves nothing behind: its own folder, and its own place for ledgers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs one command in an empty folder."""
    from dovetail.cli.app import app

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DOVETAIL_DEBUG", raising=False)

    def command(*words: str, code: int = 0) -> Any:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == code, (words, result.exit_code, result.output, result.exception)
        return result

    return command


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Return a small table of a curator."""
    path = tmp_path / "people.csv"
    rows = [f"{('north', 'south', 'west')[i % 3]},{20 + i % 50}" for i in range(300)]
    path.write_text("region,age\n" + "\n".join(rows) + "\n")
    return path
