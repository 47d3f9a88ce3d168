import pytest

from dovetail.plots.design import comparison


def test_every_noise_has_a_curve_of_its_own_under_its_own_name():
    pytest.importorskip("matplotlib")
    names = [f"noise {number}" for number in range(7)] + ["$10^2"]
    figure = comparison(
        range(3), dict.fromkeys(names, (1, 0.5, 0.1)), dict.fromkeys(names, (1, 2)), "At equal zeta 1"
    )
    axes = figure.axes[0]
    drawn = {line.get_label(): (line.get_color(), line.get_linestyle()) for line in axes.get_lines()}
    assert set(names) <= set(drawn)
    assert len({drawn[name] for name in names}) == len(names)
    assert not any(text.get_parse_math() for text in axes.get_legend().get_texts())
