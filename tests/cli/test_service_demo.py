"""The scene of a service starts, tells its story and stops by itself."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import pytest

from dovetail.cli.app import app
from dovetail.ledger import Ledger


def test_the_scene_of_a_service(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["dovetail", "demo", "--service", "--out", str(tmp_path / "demo")])
    before = threading.active_count()
    with pytest.raises(SystemExit) as ended:
        app()
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "as quoted" in said
    assert "NOT" not in said
    assert re.search(r"answered +6, and 10 refused", said)
    assert "limit of 'adult' is reached" in said or "your allotment" in said
    with Ledger.open(tmp_path / "demo" / "service.ledger") as ledger:
        assert ledger.verify().sequence > 0
        assert ledger.account("adult").spent().epsilon <= 0.8
    assert threading.active_count() <= before + 1
