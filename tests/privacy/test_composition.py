"""Several uses together, in one direction: chances and zeta against enumeration."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import floor, inf, log, prod, sqrt

import numpy as np
import pytest
from scipy.stats import binom

from dovetail.noise import DiscreteGaussian, Geometric, TruncatedGeometric
from dovetail.privacy import PrivacyLoss, privacy_loss
from dovetail.privacy.atoms import on_values
from dovetail.privacy.composition import OneWay


@pytest.mark.parametrize("deviations", [0, 1, 3, 6])
def test_the_chance_above_a_limit_is_close_where_rounding_each_loss_up_would_drown_it(deviations):
    """Of a million uses every loss is rounded by little, but their sum by 20 deviations: delta tells more."""
    uses, p, q = 10**6, (0.52, 0.48), (0.47, 0.53)
    high, low = (log(a / b) for a, b in zip(p, q, strict=True))
    spread = sqrt(uses * p[0] * p[1]) * (high - low)
    limit = uses * (p[0] * high + p[1] * low) + deviations * spread
    truth = float(binom.sf(floor((limit - uses * low) / (high - low)), uses, p[0]))
    found = PrivacyLoss.from_pmfs(p, q).compose(uses).forward.above(Fraction(limit))
    assert truth <= found <= 1.25 * truth


def test_moments_are_infinite_as_soon_as_one_part_has_an_infinite_loss() -> None:
    mixed = privacy_loss(TruncatedGeometric("0.3", 10)).then(privacy_loss(Geometric(1)))
    assert mixed.zeta == mixed.renyi(2) == mixed.epsilon == inf
    # What is merely left out of the list of a Gaussian is not endless.
    assert privacy_loss(DiscreteGaussian(3)).then(privacy_loss(Geometric(1))).renyi(2) < 2


@pytest.mark.parametrize("uses", [1, 7, 1000])
@pytest.mark.parametrize("sigma", ["3", "0.7", "12.5"])
def test_moments_of_gaussians_that_add_up_are_not_rounded_down(sigma: str, uses: int) -> None:
    """One use has a mean of 1/(2·sigma²) and a divergence of as much for each order, exactly."""
    exact = uses / (2 * Fraction(sigma) ** 2)
    loss, most = privacy_loss(DiscreteGaussian(sigma)).compose(uses), 1 + Fraction(1, 10**12)
    assert exact <= Fraction(loss.mean) <= exact * most
    for order in (2, 5, 64):
        assert order * exact <= Fraction(loss.renyi(order)) <= order * exact * most
    single = Fraction(privacy_loss(DiscreteGaussian(sigma)).zeta)
    assert uses * single <= Fraction(loss.zeta) <= uses * single * most


@pytest.mark.parametrize("uses", [1, 3])
def test_nothing_lies_above_the_worst_case(uses: int) -> None:
    loss = privacy_loss(Geometric(1)).compose(uses)
    assert loss.above(uses) == loss.delta(uses) == 0
    assert loss.above(uses - Fraction(1, 1000)) > 0.3


def test_beyond_all_finite_losses_lies_the_chance_of_an_infinite_one() -> None:
    noise = TruncatedGeometric("0.3", 10)
    loss = privacy_loss(noise)
    for limit in (1, 100):
        assert loss.above(limit) == pytest.approx(float(noise.pmf(10)), rel=1e-12)
    assert loss.forward.below(Fraction(-100)) == 0


@pytest.mark.parametrize("uses", [1, 3])
def test_many_deltas_are_those_that_are_asked_for_one_by_one(uses: int) -> None:
    loss = privacy_loss(Geometric("0.5")).compose(uses).forward
    epsilons = np.array([0.0, 0.2, 0.5, 1.4, 1.5, 2.0])
    assert loss.deltas(epsilons).tolist() == [loss.delta(each) for each in epsilons.tolist()]


@pytest.mark.parametrize("uses", [1, 3])
def test_losses_that_hardly_ever_happen_are_not_listed_where_a_list_is_not_all(uses: int) -> None:
    values, masses = privacy_loss(DiscreteGaussian(3)).compose(uses).atoms
    assert values[-1] == inf
    assert masses[:-1].min() > 1e-12 * masses.max()
    assert masses[-1] < 1e-40
    assert masses.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("uses", [1, 2, 5])
@pytest.mark.parametrize("share", [0.001, 0.2])
def test_zeta_counts_what_only_the_other_side_gives(share, uses):
    """exp(zeta) is the sum of max(P²/Q, Q) over all outcomes; where P gives nothing, that is Q."""
    p, q = (0.7, 0.3, 0.0), (0.5, 0.5 - share, share)
    logs = np.log(np.array(p[:2]) / np.array(q[:2]))
    order = np.argsort(logs)
    atoms = on_values(logs[order], np.log(p[:2])[order], float(logs.max()))
    atoms = replace(atoms, unmatched=share)
    whole = 0.0
    for outcome in product(range(3), repeat=uses):
        mine, other = (prod(law[each] for each in outcome) for law in (p, q))
        whole += max(mine**2 / other, other)
    one_way = OneWay(((atoms, uses),))
    assert one_way.worst() < inf
    assert log(whole) - 1e-12 <= one_way.zeta() <= log(whole) * (1 + 1e-4)
