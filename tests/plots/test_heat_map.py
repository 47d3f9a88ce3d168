"""Heat maps: figures where they fit, a scale where they do not, names as they are."""

from __future__ import annotations

import numpy as np

from dovetail.plots.heat_map import MOST_MAPS, HeatMap, draw_heat_map, draw_heat_maps


def heat_map(high: int, wide: int) -> HeatMap:
    counts = np.arange(high * wide, dtype=float).reshape(high, wide) - 3
    return HeatMap(
        "$down$", "across", [f"r{i}" for i in range(high)], [f"${i}$" for i in range(wide)], counts
    )


def test_counts_are_written_where_they_fit() -> None:
    ax = draw_heat_map(heat_map(2, 3), title="a $title$")
    assert [text.get_text() for text in ax.texts] == ["-3", "-2", "-1", "0", "1", "2"]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["$0$", "$1$", "$2$"]
    assert ax.figure._repr_png_()[1:4] == b"PNG"


def test_a_wide_table_has_a_scale_instead_of_figures() -> None:
    ax = draw_heat_map(heat_map(3, 60))
    assert not ax.texts
    assert len(ax.figure.axes) == 2
    assert not ax.get_xticklabels() or len(ax.get_xticklabels()) != 60


def test_many_tables_are_drawn_side_by_side_and_some_left_out() -> None:
    figure = draw_heat_maps([heat_map(2, 2)] * (MOST_MAPS + 2), title="all")
    assert len(figure.axes) == MOST_MAPS
    assert "2 more" in figure.get_suptitle()
    assert figure._repr_png_()[1:4] == b"PNG"


def test_a_table_without_a_positive_count_can_be_drawn() -> None:
    empty = HeatMap("a", "b", ["x"], ["y"], np.array([[-4.0]]))
    assert draw_heat_map(empty).figure._repr_png_()[1:4] == b"PNG"
