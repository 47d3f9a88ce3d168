"""Comparisons are at equal privacy, in the sense that they name."""

from __future__ import annotations

from math import exp, inf

import pytest

import dovetail as dv
from dovetail.errors import InvalidParameter
from dovetail.privacy import privacy_loss

NOISES = {
    "mixture": dv.GeometricMixture("0.2", 1, 5),
    "geometric": dv.Geometric(1),
    "Gaussian": dv.DiscreteGaussian(2),
    "rounded": dv.Laplace(1).rounded(),
    "Laplace": dv.Laplace(1),
    "staircase": dv.Staircase(1),
    "truncated": dv.TruncatedGeometric(1, 5),
}


def test_at_equal_zeta_the_first_noise_sets_the_level() -> None:
    compared = dv.compare(NOISES, at="zeta")
    level = privacy_loss(NOISES["mixture"]).zeta
    assert compared.rows[0].noise == NOISES["mixture"]
    for row in compared.rows[:-1]:
        assert row.matched
        assert row.zeta == pytest.approx(level, rel=1e-6)
        assert row.zeta <= level * (1 + 1e-9)
    assert not compared.rows[-1].matched
    assert compared.rows[-1].epsilon == inf
    assert "no scale of this noise has this guarantee" in str(compared)


@pytest.mark.parametrize("level", ["0.05", "0.3", 1, 4])
def test_whole_break_points_do_not_keep_a_noise_from_the_level(level: object) -> None:
    """Breaks move in whole steps, and 1 is the least: the rates alone make up for the rest."""
    shapes = {
        "two": dv.GeometricMixture("0.2", 1, 2),
        "falling": dv.GeometricMixture(1, "0.2", 3),
        "three": dv.PiecewiseGeometric(("0.1", "0.5", 2), (1, 4)),
    }
    for row in dv.compare({"first": dv.Geometric(level), **shapes}, at="zeta").rows[1:]:
        assert row.matched, row
        assert row.zeta == pytest.approx(float(str(level)), rel=1e-6)


def test_at_equal_worst_case_the_gaussian_has_no_place() -> None:
    rows = {row.name: row for row in dv.compare(NOISES, at="epsilon").rows}
    assert rows["geometric"].epsilon == pytest.approx(1, rel=1e-4)
    assert not rows["Gaussian"].matched
    assert rows["geometric"].variance < rows["mixture"].variance


def test_at_equal_epsilon_delta_and_queries_every_noise_just_fits() -> None:
    few = {name: NOISES[name] for name in ("mixture", "geometric", "Gaussian")}
    rows = {row.name: row for row in dv.compare(few, at=(1, "1e-6", 10)).rows}
    for row in rows.values():
        total = privacy_loss(row.noise).compose(10)
        assert total.delta(1) <= 1e-6
        assert total.epsilon_at("1e-6") == pytest.approx(1, rel=0.02)
    assert rows["geometric"].variance == pytest.approx(199.58, abs=0.1)
    assert rows["Gaussian"].variance == pytest.approx(178.5, abs=0.1)


def test_the_chance_of_a_larger_loss_stands_beside_delta() -> None:
    noises = {name: NOISES[name] for name in ("geometric", "mixture")}
    found = dv.compare(noises, at=(1, "1e-6", 10))
    geometric = found.rows[0]
    # Near its worst case delta falls too steeply for rates of nine digits; epsilon is met.
    assert geometric.matched
    assert found.note is None
    # Each answer's loss is its rate or minus its rate: ten of them exceed 1 only where all are positive.
    rate = float(geometric.noise.rates[0])  # type: ignore[union-attr]
    assert geometric.chance_of_more == pytest.approx((1 + exp(-rate)) ** -10, rel=1e-9)
    assert all(row.chance_of_more is not None and row.chance_of_more > 1e-6 for row in found.rows)
    assert "larger loss" in str(found)
    assert found.to_dict()["rows"][0]["chance_of_more"] == geometric.chance_of_more
    # Where no delta is named, there is nothing to stand beside.
    assert "larger loss" not in str(dv.compare(noises, at="zeta"))


def test_a_comparison_is_drawn_on_a_scale_that_shows_all_but_outliers() -> None:
    few = {name: NOISES[name] for name in ("mixture", "geometric", "truncated")}
    figure = dv.compare(few, at=(1, "1e-6", 2)).plot()
    assert figure.axes[0].get_xlim()[1] < 1000


@pytest.mark.parametrize(
    "at", ["delta", (1, 2), (0, "1e-6", 1), (1, 0, 1), (1, "1e-400", 1), (1, "1e-6", 0), ("1e400", "1e-6", 1)]
)
def test_a_sense_that_is_none_is_refused(at: object) -> None:
    with pytest.raises(InvalidParameter, match=r"^at"):
        dv.compare(NOISES, at=at)  # type: ignore[arg-type]


def test_what_is_no_noise_is_refused_by_name() -> None:
    with pytest.raises(InvalidParameter, match="noises"):
        dv.compare({"mine": 3})  # type: ignore[dict-item]
    with pytest.raises(InvalidParameter, match="finite"):
        dv.compare({"first": dv.DiscreteGaussian(1)}, at="epsilon")


def test_a_loss_of_ones_own_stands_beside_noises_as_it_is() -> None:
    own = dv.PrivacyLoss.from_pmfs([0.75, 0.25], [0.25, 0.75])
    found = dv.compare({"geometric": dv.Geometric(1), "own": own}, at="epsilon")
    assert found.rows[1].noise is None
    assert not found.rows[1].matched
    assert found.rows[1].epsilon == own.epsilon
    assert found.to_dict()["rows"][1]["variance"] is None
    assert "own *" in repr(found)
    led = dv.compare({"own": own, "geometric": dv.Geometric(1)}, at="epsilon")
    assert led.rows[0].matched
    assert led.rows[1].epsilon == pytest.approx(own.epsilon, rel=1e-6)


def test_the_picture_has_the_worst_case_beside_zeta() -> None:
    figure = dv.compare({"mixture": dv.GeometricMixture(0.2, 1, 5), "gauss": dv.DiscreteGaussian(3)}).plot()
    told = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert told == ["zeta (on average)", "worst-case epsilon"]
    assert "without bound" in [text.get_text() for text in figure.axes[1].texts]
