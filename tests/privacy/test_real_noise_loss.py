"""The privacy loss of noise on the reals, and of the same noise rounded to integers."""

from __future__ import annotations

from fractions import Fraction
from math import log

import mpmath
import numpy as np
import pytest

import loss_oracle as oracle
from dovetail.noise import (
    Geometric,
    Laplace,
    LaplaceMixture,
    PiecewiseLaplace,
)
from dovetail.privacy import privacy_loss
from loss_oracle import never_below_and_close


def test_real_noise_takes_a_fractional_sensitivity():
    assert privacy_loss(Laplace(1), sensitivity="1/2").worst == Fraction(1, 2)


class TestContinuousLaplace:
    """Atoms and a continuous part: for study; a release never uses real-valued noise."""

    def test_zeta_is_below_epsilon_by_the_closed_form(self):
        for epsilon in (0.1, 0.328, 1.0, 3.0):
            with mpmath.workdps(30):
                e = mpmath.mpf(str(epsilon))
                truth = mpmath.log(2 * mpmath.exp(e) / 3 + 1 - 2 * mpmath.exp(-e / 2) / 3)
                assert never_below_and_close(privacy_loss(Laplace(epsilon)).zeta, truth, 1e-6)

    def test_delta_is_the_closed_form(self):
        loss = privacy_loss(Laplace(1))
        for epsilon in (0.0, 0.3, 0.9):
            truth = -mpmath.expm1((mpmath.mpf(str(epsilon)) - 1) / 2)
            assert never_below_and_close(loss.delta(epsilon), truth, 1e-5)

    def test_renyi_is_the_closed_form(self):
        loss = privacy_loss(Laplace(1))
        for a in (2, 5, 32):
            truth = mpmath.log(
                mpmath.mpf(a) / (2 * a - 1) * mpmath.exp(a - 1)
                + mpmath.mpf(a - 1) / (2 * a - 1) * mpmath.exp(-a)
            ) / (a - 1)
            assert never_below_and_close(loss.renyi(a), truth, 1e-5)

    def test_the_mixture_agrees_with_quadrature(self):
        noise = LaplaceMixture(inner=0.2, outer=1, break_point="4.5")
        loss = privacy_loss(noise)

        def phi(x):
            return min(abs(x), 4.5) * mpmath.mpf("0.2") + max(abs(x) - 4.5, 0)

        cuts = [-60, -4.5, -3.5, 0, 0.5, 1, 4.5, 5.5, 60]
        total = mpmath.quad(lambda x: mpmath.exp(-phi(x)), cuts)
        zeta = mpmath.log(mpmath.quad(lambda x: mpmath.exp(-phi(x) + abs(phi(x - 1) - phi(x))), cuts) / total)
        assert never_below_and_close(loss.zeta, zeta - 1e-10, 1e-6)


class TestRounded:
    def test_the_loss_is_that_of_the_cells(self):
        loss = privacy_loss(LaplaceMixture(inner=0.2, outer=1, break_point=5).rounded())
        k = np.arange(-400, 401)
        noise = LaplaceMixture(inner=0.2, outer=1, break_point=5).rounded()
        p, q = noise.pmf(k), noise.pmf(k - 1)
        assert loss.zeta == pytest.approx(log(np.sum(np.maximum(p * p / q, q))), abs=1e-12)
        assert loss.zeta == pytest.approx(0.3096, abs=5e-5)
        for epsilon in (0.0, 0.1, 0.5, 0.999):
            truth = np.sum(np.maximum(p - np.exp(epsilon) * q, 0))
            assert loss.delta(epsilon) == pytest.approx(truth, rel=1e-9)
        assert loss.worst == 1

    def test_zeta_is_exact_where_the_published_one_is_not(self):
        loss = privacy_loss(LaplaceMixture(inner=0.25, outer=2.5, break_point=4).rounded())
        assert loss.zeta == pytest.approx(0.5906, abs=5e-5)

    def test_its_uses_compose_without_a_common_unit(self):
        noise = LaplaceMixture(inner=0.2, outer=1, break_point=5).rounded()
        loss = privacy_loss(noise).compose(3)
        k = np.arange(-60, 61)
        p, q = noise.pmf(k), noise.pmf(k - 1)
        p3 = np.einsum("i,j,k->ijk", p, p, p).ravel()
        q3 = np.einsum("i,j,k->ijk", q, q, q).ravel()
        for epsilon in (0.0, 0.7, 1.5, 2.5):
            truth = float(np.sum(np.maximum(p3 - np.exp(epsilon) * q3, 0)))
            assert truth * (1 - 1e-9) <= loss.delta(epsilon) <= truth * 1.0001 + 1e-15
        assert loss.zeta == pytest.approx(log(np.sum(np.maximum(p3 * p3 / q3, q3))), abs=1e-7)

    @pytest.mark.parametrize("width", ["1e-16", "1e-15", "1e-14", "1e-9"])
    def test_a_steep_piece_within_one_cell_is_never_rounded_away(self, width):
        """The cell that holds a steep sliver loses a hair more than every other one."""
        edge = Fraction("5.2")
        loss = privacy_loss(PiecewiseLaplace((1, 5, 1), (edge, edge + Fraction(width))).rounded())
        with mpmath.workdps(oracle.DIGITS):
            before, sliver, whole = (oracle.number(x) for x in (Fraction("0.7"), Fraction(width), 1))
            # The cell [4.5, 5.5) in units of its density at 4.5; the next one has one rate again.
            inside = -mpmath.expm1(-before) - mpmath.exp(-before) * mpmath.expm1(-5 * sliver) / 5
            after = mpmath.exp(-before - 5 * sliver) * -mpmath.expm1(-(whole - before - sliver))
            following = mpmath.exp(-(whole + 4 * sliver)) * -mpmath.expm1(-whole)
            truth = mpmath.log((inside + after) / following)
            earlier = mpmath.log(-mpmath.expm1(-whole) * mpmath.exp(whole) / (inside + after))
            assert never_below_and_close(Fraction(loss.worst), max(truth, earlier), 1e-14)

    def test_the_worst_case_of_many_uses_is_an_exact_sum(self):
        """A float part and a rational one, neither of which is a multiple of the other's last digit."""
        rounded = PiecewiseLaplace((1, 5, 1), ("5.2", "5.2000000000000001")).rounded()
        one, two = privacy_loss(rounded), privacy_loss(Geometric("1/3"))
        both = one.compose(7).then(two.compose(11))
        assert both.worst == 7 * Fraction(one.worst) + 11 * Fraction(1, 3)
        assert Fraction(both.epsilon) >= both.worst
