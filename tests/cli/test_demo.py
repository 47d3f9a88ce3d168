"""The demo tells its whole story with the real session, ledger and designer."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dovetail.errors import InvalidParameter


@pytest.mark.slow
def test_the_demo_tells_its_story_and_leaves_what_it_says(run, tmp_path: Path) -> None:
    text = run("demo").stdout
    for part in (
        "within ±5, 95 times out of 100",
        "one answer, average: zeta",
        "20 answers, delta 1e-6: epsilon",
        "worst case: epsilon",
        "HS-grad",
        "only because Adult is public",
        "the very same numbers and costs nothing",
        "Nothing was spent",
    ):
        assert part in " ".join(text.split()), part
    ledger, picture = text.rstrip().splitlines()[-2:]
    assert ledger.split()[1] in ("out/demo/adult.ledger", str(tmp_path / "out" / "demo" / "adult.ledger"))
    assert (tmp_path / picture.split()[1]).read_bytes().startswith(b"\x89PNG")
    assert "The ledger is intact" in run("ledger", "verify", "out/demo/adult.ledger").stdout
    with sqlite3.connect(tmp_path / "out" / "demo" / "adult.ledger") as database:
        kinds = [kind for (kind,) in database.execute("SELECT kind FROM dovetail_events ORDER BY sequence")]
    database.close()
    assert (kinds.count("plan"), kinds.count("reservation"), kinds.count("answer")) == (1, 1, 1)


def test_an_earlier_demo_is_never_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dovetail.cli.commands.demo import _folder

    monkeypatch.chdir(tmp_path)
    assert [_folder(None) for _ in range(3)] == [Path("out/demo"), Path("out/demo-2"), Path("out/demo-3")]
    with pytest.raises(InvalidParameter, match="does not exist yet"):
        _folder("out/demo")
