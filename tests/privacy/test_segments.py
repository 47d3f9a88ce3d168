"""The loss of a shift: the masses of single outcomes and of buckets, against sums in 40 digits."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import mpmath
import numpy as np
import pytest

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, TruncatedGeometric, TruncatedLaplace
from dovetail.privacy import privacy_loss
from dovetail.privacy.clamped import clamped_loss


@pytest.mark.parametrize(
    ("rate", "bound", "shift"), [("0.3", 10, 1), ("0.3", 10, 3), ("2", 4, 9), ("2", 4, 8)]
)
def test_what_the_moved_noise_cannot_give_is_counted_from_above(rate: str, bound: int, shift: int) -> None:
    loss = privacy_loss(TruncatedGeometric(rate, bound), sensitivity=shift)
    with mpmath.workdps(40):
        weights = {k: mpmath.exp(-mpmath.mpf(rate) * abs(k)) for k in range(-bound, bound + 1)}
        exact = mpmath.fsum(w for k, w in weights.items() if k - shift < -bound) / mpmath.fsum(
            weights.values()
        )
        assert 0 <= mpmath.mpf(loss.forward.parts[0][0].infinite) - exact < 1e-12


@pytest.mark.parametrize(("rate", "shift"), [("3", 300), ("0.2", 4000), ("25", 40)])
def test_outcomes_far_out_are_listed_with_no_less_than_their_chance(rate: str, shift: int) -> None:
    """A loss of rate·(shift - 2k) belongs to outcome k alone, down to a chance of exp(-1000)."""
    atoms = privacy_loss(Geometric(rate), sensitivity=shift).forward.parts[0][0]
    assert atoms.steps is not None
    assert atoms.unit is not None
    with mpmath.workdps(40):
        step = mpmath.exp(-mpmath.mpf(rate))
        share = mpmath.log((1 - step) / (1 + step))
        listed = zip(atoms.steps.tolist(), atoms.log_masses.tolist(), strict=True)
        for number, log_mass in listed:
            place = (shift - number * atoms.unit / Fraction(rate)) / 2
            if 0 < place < shift:
                exact = share - mpmath.mpf(rate) * int(place)
                assert 0 <= mpmath.mpf(log_mass) - exact <= (64 - 4 * exact) * mpmath.mpf(2) ** -50


@pytest.mark.parametrize("sign", [1, -1])
def test_buckets_hold_no_less_than_their_outcomes_on_either_side(sign: int) -> None:
    """Between 1 and 5,999 the loss falls from outcome to outcome; buckets of it begin after 0."""
    rate, shift = Fraction(1, 4000), 6000
    ranges = privacy_loss(Geometric(rate), sensitivity=shift).forward.parts[0][0].ranges
    assert ranges is not None
    ranges = ranges if sign > 0 else ranges.mirrored()
    top = float(rate * shift) - 2e-4
    within = (ranges.high - ranges.low > 1e-6) | (np.abs(ranges.low) < top) & (np.abs(ranges.high) < top)
    with mpmath.workdps(40):
        step = mpmath.exp(-mpmath.mpf(1) / 4000)
        share = (1 - step) / (1 + step)
        exact = share * mpmath.fsum(step**k for k in range(1, shift))
        found = mpmath.fsum(mpmath.exp(mpmath.mpf(each)) for each in ranges.log_masses[within].tolist())
        assert 0 <= found - exact < 1e-12
        # Above a limit lie the outcomes below a place, which is a whole number here, or those beyond it.
        for limit in (-1.2, -0.3, 0.0, 0.7, 1.4):
            place = round((shift - sign * limit * 4000) / 2)
            tail = share / (1 - step)
            above = 1 - tail * step**place if sign > 0 else tail * step ** (place + 1)
            beyond = mpmath.fsum(mpmath.exp(each) for each in ranges.log_masses[ranges.high > limit].tolist())
            assert 0 <= beyond - above < 2e-3


@pytest.mark.parametrize(("count", "shift"), [(0, 1), (2, 3), (3, 4), (9, 1)])
def test_a_truncated_noise_that_is_clamped_gives_each_side_what_the_other_cannot(
    count: int, shift: int
) -> None:
    """Some counts have outcomes that are shown as 0, others are too large for that."""
    loss = clamped_loss(TruncatedGeometric("0.3", 5), count, sensitivity=shift)
    assert loss.backward is not None
    with mpmath.workdps(40):
        weights = {k: mpmath.exp(-mpmath.mpf("0.3") * abs(k)) for k in range(-5, 6)}
        shown: list[dict[int, mpmath.mpf]] = [{}, {}]
        for k, weight in weights.items():
            for law, true in zip(shown, (count, count + shift), strict=True):
                law[max(true + k, 0)] = law.get(max(true + k, 0), 0) + weight / mpmath.fsum(weights.values())
        for way, mine, other in ((loss.forward, *shown), (loss.backward, *shown[::-1])):
            exact = mpmath.fsum(mass for place, mass in mine.items() if place not in other)
            assert 0 <= mpmath.mpf(way.infinite()) - exact < 1e-12


@pytest.mark.parametrize(("count", "shift"), [(-1, 1), (3, 0), (3, "0.5")])
def test_a_clamped_count_is_a_count_and_one_row_moves_it(count: int, shift: int) -> None:
    with pytest.raises(InvalidParameter):
        clamped_loss(Geometric(1), count, sensitivity=shift)


@pytest.mark.parametrize(
    "noise", [TruncatedGeometric(1, 1000), TruncatedGeometric(300, 5), TruncatedLaplace(1, 900)]
)
def test_outcomes_too_rare_for_a_float_still_have_an_infinite_loss(
    noise: TruncatedGeometric | TruncatedLaplace,
) -> None:
    """A noise cut at 1,000 scales gives the outcomes beside its end with a chance of exp(-1000)."""
    loss = privacy_loss(noise)
    assert loss.epsilon == loss.zeta == loss.renyi(2) == inf
    assert loss.compose(10).epsilon == inf
    assert 0 < loss.delta(2 * noise.epsilon) < 1e-300
    assert loss.charge().epsilon is None
