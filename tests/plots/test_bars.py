from dovetail.plots.bars import MOST_BARS, draw_bars


def test_every_bar_says_its_value_and_error_in_figures_inside_the_axes() -> None:
    ax = draw_bars(
        ["$x_1$", "b"],
        [9000.0, -20.0],
        [(8995.0, 9005.0), (-25.0, -15.0)],
        amounts=["9,000 ± 5", "-20 ± 5"],
        scale="rows",
    )
    ax.figure.canvas.draw()
    assert [text.get_text() for text in ax.texts] == ["9,000 ± 5", "-20 ± 5"]
    frame = ax.get_window_extent()
    assert all(frame.x0 < text.get_window_extent().x1 < frame.x1 for text in ax.texts)
    assert ax.get_xlabel() == "rows"
    assert ax.get_yticklabels()[0].get_text() == "$x_1$"


def test_more_bars_than_a_picture_can_hold_are_left_out_and_counted() -> None:
    cells = 3 * MOST_BARS
    ax = draw_bars(["a"] * cells, [1.0] * cells, [(0.0, 2.0)] * cells, amounts=["1 ± 1"] * cells, title="t")
    assert len(ax.patches) == MOST_BARS
    assert ax.get_title() == f"t (the first {MOST_BARS}; {2 * MOST_BARS} more)"


def test_a_notebook_shows_the_axes_as_a_picture() -> None:
    ax = draw_bars(["a"], [1.0], [(0.0, 2.0)], amounts=["1 ± 1"])
    assert ax._repr_png_().startswith(b"\x89PNG")
