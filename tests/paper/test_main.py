"""The reproduction from a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from dovetail.paper.__main__ import main
from dovetail.paper.progress import terminal_progress


def test_one_figure_can_be_made_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--only", "fig3", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'report.html'}\n"
    figures = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert figures == ["fig3.png", "fig3.svg"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert 'id="claim-fig3-epsilon"' in page
    assert 'id="claim-fig8-c5-bound-mixture"' not in page


def test_an_unknown_item_is_one_line_and_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--only", "fig99", "--out", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("only='fig99' must be one of text, fig1,")
    assert said.err.count("\n") == 1


def test_no_bars_are_drawn_where_nobody_looks() -> None:
    with terminal_progress() as progress:
        assert progress is None
