"""The privacy loss of two listed distributions, in both directions."""

from __future__ import annotations

from fractions import Fraction
from math import inf, log, nan

import numpy as np
import pytest

from dovetail.errors import InvalidParameter
from dovetail.noise import (
    Geometric,
)
from dovetail.privacy import PrivacyLoss, privacy_loss
from dovetail.privacy.atoms import Atoms
from dovetail.privacy.composition import OneWay


class TestFromPmfs:
    def test_both_directions_are_looked_at(self):
        p, q = [Fraction(1, 2), Fraction(1, 2), 0], [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
        loss = PrivacyLoss.from_pmfs(p, q)
        assert loss.epsilon == inf  # the other direction sees an outcome that P never gives
        assert loss.zeta == inf
        assert loss.renyi(2) == inf
        assert loss.delta(5) == pytest.approx(0.5)
        assert loss.forward.worst() == pytest.approx(log(2))

    def test_infinite_loss_stays_with_compositions(self):
        loss = PrivacyLoss.from_pmfs([0.9, 0.1, 0], [0.9, 0, 0.1]).compose(2)
        assert loss.epsilon == inf
        assert loss.delta(10) == pytest.approx(0.19)
        assert loss.epsilon_at(0.18) == inf
        assert loss.epsilon_at(0.2) < 1e-12
        assert loss.charge().epsilon is None

    @pytest.mark.parametrize("uses", [1, 2, 7, 60])
    @pytest.mark.parametrize("share", [2.0**-2, 2.0**-20, 1 - 2.0**-10])
    def test_outcomes_of_one_side_only_are_counted_from_above(self, share, uses):
        atoms = Atoms(np.array([1.0]), np.log([1 - share]), inf, infinite=share, unmatched=share)
        exact = 1 - (1 - Fraction(share)) ** uses
        for found in (OneWay(((atoms, uses),)).infinite(), OneWay(((atoms, uses),)).unmatched()):
            assert exact <= Fraction(found) <= min(exact * (1 + Fraction(1, 10**12)), 1)

    def test_a_chance_is_of_what_lies_above_a_limit_and_not_at_it(self):
        forward = PrivacyLoss.from_pmfs([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]).forward
        least, middle, most = forward.listed()[0].tolist()
        for limit, chance in ((least, 0.8), (middle, 0.5), (most, 0.0)):
            assert forward.above(Fraction(limit)) == pytest.approx(chance, abs=1e-12)

    def test_disjoint_outcomes_lose_everything(self):
        loss = PrivacyLoss.from_pmfs([1, 0], [0, 1])
        for uses in (1, 2):
            whole = loss.compose(uses)
            assert whole.delta(100) == whole.tail(5) == 1
            assert whole.epsilon == whole.zeta == whole.epsilon_at("0.5") == inf
            assert list(whole.atoms[0]) == [inf]

    def test_equal_distributions_lose_nothing(self):
        loss = PrivacyLoss.from_pmfs([0.5, 0.5], [0.5, 0.5])
        assert loss.epsilon < 1e-13
        assert loss.zeta < 1e-13
        assert loss.compose(10).epsilon < 1e-12

    @pytest.mark.parametrize("p", [[0.5, 0.4], [1.5, -0.5], [nan, 1], [], [1]])
    def test_what_is_no_distribution_is_refused(self, p):
        with pytest.raises(InvalidParameter):
            PrivacyLoss.from_pmfs(p, [0.5, 0.5])


def test_distributions_may_be_arrays_or_mappings() -> None:
    listed = PrivacyLoss.from_pmfs([0.5, 0.5, 0], [0.25, 0.25, 0.5])
    arrays = PrivacyLoss.from_pmfs(np.array([0.5, 0.5, 0]), np.array([0.25, 0.25, 0.5]))
    mapped = PrivacyLoss.from_pmfs({"a": 0.5, "b": 0.5}, {"b": 0.25, "a": 0.25, "c": 0.5})
    for other in (arrays, mapped):
        assert (other.zeta, other.delta(1), other.epsilon) == (listed.zeta, listed.delta(1), listed.epsilon)
    with pytest.raises(InvalidParameter, match="given like p"):
        PrivacyLoss.from_pmfs({"a": 1}, [1])
    with pytest.raises(InvalidParameter, match="one list"):
        PrivacyLoss.from_pmfs(np.eye(2), np.eye(2))


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("epsilon", [0.3, 0.8, 1.2])
def test_both_directions_count_if_only_one_loss_is_symmetric(epsilon: float, swapped: bool) -> None:
    """Geometric noise and a mechanism that differs by direction, one after the other, against plain sums."""
    p, q = ([0.8, 0.2], [0.5, 0.5]) if swapped else ([0.5, 0.5], [0.8, 0.2])
    symmetric, other = privacy_loss(Geometric("0.5")), PrivacyLoss.from_pmfs(p, q)
    yes = 1 / (1 + np.exp(-0.5))
    deltas = []
    for one, two in ((p, q), (q, p)):
        pairs = [(a * yes, b * (1 - yes)) for a, b in zip(one, two, strict=True)]
        pairs += [(a * (1 - yes), b * yes) for a, b in zip(one, two, strict=True)]
        deltas.append(sum(max(a - np.exp(epsilon) * b, 0) for a, b in pairs))
    assert deltas[0] != pytest.approx(deltas[1], abs=1e-3)
    for joint in (symmetric.then(other), other.then(symmetric)):
        assert joint.delta(epsilon) == pytest.approx(max(deltas), abs=1e-8)
