"""`dovetail paper`: the reproduction from a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_one_figure_can_be_made_alone(run: Any) -> None:
    said = run("paper", "--quick", "--only", "fig3", "--out", "made").stdout
    assert "figures checked" in said
    assert f"Report: {Path('made', 'report.html')}" in said
    assert sorted(path.name for path in Path("made", "figures").iterdir()) == ["fig3.png", "fig3.svg"]
    page = Path("made", "report.html").read_text(encoding="utf-8")
    assert 'id="claim-fig3-epsilon"' in page
    assert 'id="claim-fig8-c5-bound-mixture"' not in page


def test_an_unknown_item_is_one_line_and_an_exit_code(run: Any) -> None:
    said = run("paper", "--only", "fig99", "--out", "made", code=2)
    assert said.stdout == ""
    assert said.stderr.startswith("Error: only='fig99' must be one of text, fig1,")
    assert not Path("made").exists()
