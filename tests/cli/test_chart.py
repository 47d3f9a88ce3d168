"""The chart fits every terminal, shows the interval, and obeys nothing hidden in a label."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from dovetail.answers.chart import Line, bar
from dovetail.cli.chart import draw

LINES = [Line("north", 1200, 1195, 1205), Line("a rather long name of a very small region", 40, 35, 45)]


def drawn(lines: list[Line], of: int | None = None, **options: object) -> list[str]:
    out = io.StringIO()
    screen = Console(file=out, markup=False, highlight=False, **options)
    draw(screen, lines, len(lines) if of is None else of)
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_a_chart_fills_the_terminal_and_no_more(width: int) -> None:
    assert width - 8 <= max(map(len, drawn(LINES, width=width))) <= width


def test_a_narrow_terminal_still_gets_its_numbers() -> None:
    assert all("±" in line for line in drawn(LINES, width=20))


def test_the_interval_is_shaded_where_it_can_be_seen() -> None:
    assert "▒" in drawn([Line("a", 50, 40, 60)], width=80)[0]
    assert "▒" not in drawn([Line("a", 5000, 4999, 5001)], width=80)[0]


def test_cells_that_are_not_drawn_are_counted() -> None:
    many = [Line(str(number), number, number - 1, number + 1) for number in range(100)]
    assert len(drawn(many, width=80)) == 100
    *lines, last = drawn(many, of=250, width=80)
    assert len(lines) == 100
    assert last == "... and 150 more cells; --csv prints all of them"


def test_a_label_cannot_speak_to_the_terminal() -> None:
    assert "\x1b" not in drawn([Line("\x1b[31m\r\nred", 5, 4, 6)], width=80)[0]


def test_the_truth_stands_beside_the_noise_where_it_is_public() -> None:
    assert "1,234" in drawn([Line("a", 1230, 1225, 1235, true=1234)], width=80)[0]


@given(st.integers(-20, 2000), st.integers(0, 300), st.integers(8, 100))
def test_a_bar_is_never_longer_than_its_room(value: int, half: int, room: int) -> None:
    line = Line("a", value, value - half, value + half)
    top = max(line.high, 1.0)
    assert sum(len(text) for text, _ in bar(line, top, room)) <= room
    assert sum(len(text) for text, _ in bar(line, top, room, plain=True)) <= room
