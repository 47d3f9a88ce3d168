"""What a run is charged, what it promises, and where its tests stand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dovetail.errors import InvalidParameter
from dovetail.noise import DiscreteGaussian, Geometric, GeometricMixture, TruncatedGeometric
from dovetail.online import Guard, ResponseCurve, run_loss
from dovetail.privacy import privacy_loss

CURVE = ResponseCurve.pure("0.1")


def test_a_run_costs_a_threshold_and_a_test_and_an_answer_for_each_update() -> None:
    loss = run_loss(Geometric("0.3"), CURVE, Geometric("0.05"), 4)
    # One answer more tells the number of rows.
    assert loss.worst == Fraction("0.3") + 4 * Fraction("0.1") + 5 * Fraction("0.05")
    based = run_loss(Geometric("0.3"), CURVE, Geometric("0.05"), 4, base=privacy_loss(Geometric(1)))
    assert based.worst == 1 + Fraction("0.3") + 4 * Fraction("0.15")
    assert run_loss(Geometric("0.3"), CURVE, None, 4).worst == Fraction("0.7")


def test_replacement_pays_both_thresholds() -> None:
    loss = run_loss(Geometric("0.3"), CURVE, Geometric("0.05"), 4, neighbours="replace")
    assert loss.worst == 2 * Fraction("0.3") + 4 * Fraction("0.1") + 5 * Fraction("0.05")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_person_is_charged_the_stretched_noise_at_the_whole_shift(neighbours) -> None:
    noise = GeometricMixture("0.2", 1, 3)
    guard = Guard(noise, CURVE, noise, 3, 5, neighbours, rows=4)
    assert guard.threshold_noise == guard.answer_noise == noise.stretched(4)
    assert guard.tests.width == (4 if neighbours == "add-remove" else 8)
    wide = privacy_loss(noise.stretched(4), sensitivity=4)
    thresholds = 1 if neighbours == "add-remove" else 2
    expected = wide.compose(thresholds).then(CURVE.loss().compose(3)).then(wide.compose(4))
    assert guard.loss().epsilon_at("1e-3") == pytest.approx(expected.epsilon_at("1e-3"))
    assert privacy_loss(noise).renyi(2) != wide.renyi(2)  # the unstretched loss is another one


def test_the_charge_is_the_cheaper_one_of_the_list_and_of_moments() -> None:
    loss = run_loss(Geometric("0.05"), ResponseCurve.renyi("0.005", 20), None, 50)
    listed, moments = loss.forward._profile.epsilon(1e-6), loss.forward._moment_bounds.epsilon(1e-6)
    assert loss.epsilon_at("1e-6") == min(listed, moments)
    assert loss.delta(loss.epsilon_at("1e-6")) <= 1e-6


def test_alpha_is_where_a_passed_answer_may_be() -> None:
    guard = Guard(Geometric("0.5"), CURVE, None, 1, distance=100)
    noise = guard.threshold_noise
    reach = guard.alpha("0.95") - 99
    assert float(noise.cdf(reach)) ** 2 >= 0.95 > float(noise.cdf(reach - 1)) ** 2
    wide = replace(guard, rows=3)
    assert wide.alpha("0.95") == 100 - 3 + 3 * reach  # the stretched noise is three times as wide


@pytest.mark.parametrize("level", ["0.5", "0.999", "0.99999999"])
def test_alpha_is_exact_at_every_level(level: str) -> None:
    guard = Guard(Geometric("0.01"), CURVE, None, 1, distance=100)
    reach = guard.alpha(level) - 99
    held = Fraction(guard.threshold_noise.cdf(reach)) ** 2
    assert held >= Fraction(level) * (1 - Fraction(1, 10**14))
    assert Fraction(guard.threshold_noise.cdf(reach - 1)) ** 2 < Fraction(level) * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize("answers", [None, Geometric("0.3")])
def test_a_stored_guard_comes_back_as_it_was(answers) -> None:
    guard = Guard(Geometric("0.5"), CURVE, answers, 7, 20, "replace", 3, False)
    assert Guard.from_dict(guard.to_dict()) == guard


def test_a_curve_of_the_textbook_promises_less() -> None:
    guard = Guard(Geometric("0.5"), ResponseCurve.of(Geometric("0.1")), None, 1, distance=100)
    assert guard.alpha() == 100 - (guard.curve.start + 1) + guard.alpha("0.95") - 99 + guard.curve.start
    assert guard.alpha() > 300


def test_the_distance_is_the_least_that_keeps_false_alarms_rare() -> None:
    guard = Guard(Geometric("0.06"), ResponseCurve.pure("0.0188"), None, 50).placed("1e-4")
    assert guard.false_alarm() <= 1e-4 < guard.false_alarm(guard.distance - 1)
    rho = np.arange(-800, 801)
    direct = sum(
        float(guard.threshold_noise.pmf(int(r))) * guard.tests.probability(guard.distance + int(r))
        for r in rho
    )
    assert guard.false_alarm() == pytest.approx(direct, rel=1e-6)
    assert guard.loss().worst == 1


@pytest.mark.parametrize(
    "change",
    [
        {"updates": 0},
        {"updates": 2.5},
        {"rows": 0},
        {"distance": -1},
        {"neighbours": "swap"},
        {"threshold": 3},
        {"threshold": None},
        {"answers": 3},
        {"threshold": TruncatedGeometric(1, 5)},
        {"answers": TruncatedGeometric(1, 5)},
        {"curve": None},
        {"curve": CURVE.widened(2)},
    ],
)
def test_what_is_no_guard_is_refused(change) -> None:
    whole = {"threshold": Geometric(1), "curve": CURVE, "answers": DiscreteGaussian(3), "updates": 2}
    with pytest.raises(InvalidParameter):
        Guard(**(whole | change))


@pytest.mark.parametrize("level", [0, 1, 0.2, "nan", "1"])
def test_a_level_that_cannot_be_promised_is_refused(level) -> None:
    with pytest.raises(InvalidParameter):
        Guard(Geometric(1), CURVE, None, 1).alpha(level)


def test_a_chance_below_the_floor_is_refused() -> None:
    with pytest.raises(InvalidParameter):
        Guard(Geometric(1), CURVE, None, 1).placed("1e-13")


def test_a_distance_is_a_whole_number_up_to_2_to_the_40() -> None:
    assert Guard(Geometric(1), CURVE, None, 1, distance=2**40).distance == 2**40
    for wrong in (-1, 2**40 + 1):
        with pytest.raises(InvalidParameter, match="distance"):
            Guard(Geometric(1), CURVE, None, 1, distance=wrong)
