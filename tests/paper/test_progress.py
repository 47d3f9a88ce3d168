"""Progress of the reproduction on a terminal."""

from __future__ import annotations

from dovetail.paper.progress import terminal_progress


def test_no_bars_are_drawn_where_nobody_looks() -> None:
    with terminal_progress() as progress:
        assert progress is None
