"""Each misprint of the paper that concerns the noise: the print is wrong, and ours is right.

The referee is neither: sums term by term, or the definition itself. `docs/paper.md` walks through them.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from dovetail.noise import (
    DiscreteGaussian,
    Geometric,
    GeometricMixture,
    Laplace,
    LaplaceMixture,
    TruncatedGeometric,
)
from oracles import RoundedOracle, mp, number, relative_error
from paper_forms import GeometricForms, LaplaceForms, plain_sums

# The paper's own example, one with r < 1, and one that is steep.
CASES = [("0.2", "1", 5), ("1", "0.1", 3), ("0.25", "2.5", 4)]
each = pytest.mark.parametrize(("e", "s", "c"), CASES)
EXACT = mp.mpf(10) ** -60
CLOSE = 1e-12


@each
def test_algorithm_1_as_printed_never_gives_noise_between_0_and_c(e: str, s: str, c: int) -> None:
    noise, forms = LaplaceMixture(e, s, c), LaplaceForms(e, s, c)
    u = np.linspace(0.0005, 0.9995, 1000)
    printed = np.array([float(forms.algorithm_1(x, printed=True)) for x in u])
    corrected = np.array([float(forms.algorithm_1(x, printed=False)) for x in u])
    assert not ((printed > 0) & (printed <= c)).any()
    assert noise.cdf(c) - noise.cdf(0) > 0.25
    np.testing.assert_allclose(corrected, noise.ppf(u), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(noise.cdf(corrected), u, rtol=1e-12)


@each
def test_the_cdf_of_the_geometric_mixture(e: str, s: str, c: int) -> None:
    noise, forms, truth = GeometricMixture(e, s, c), GeometricForms(e, s, c), plain_sums(e, s, c)
    masses = truth["masses"]
    for k in range(-c - 4, c + 5):
        summed = mp.fsum(masses[-k:]) if k < 0 else 1 - mp.fsum(masses[k + 1 :])
        assert abs(forms.cdf(k) - summed) < EXACT
        assert relative_error(noise.cdf(k), summed) < CLOSE
        assert abs(forms.printed_cdf(k) - summed) > 0.05 * min(summed, 1 - summed)
    # As printed it grows to the left without end.
    assert forms.printed_cdf(-c - 60) > 1


@each
def test_the_mean_of_the_geometric_mixture(e: str, s: str, c: int) -> None:
    noise, forms, truth = GeometricMixture(e, s, c), GeometricForms(e, s, c), plain_sums(e, s, c)
    assert abs(forms.mean_abs() - truth["mean_abs"]) < EXACT
    assert relative_error(noise.mean_abs(), truth["mean_abs"]) < CLOSE
    assert relative_error(float(forms.printed_mean_abs()), truth["mean_abs"]) > 0.5


def test_the_printed_mean_is_off_by_thousands() -> None:
    assert float(GeometricForms("0.2", "1", 5).printed_mean_abs()) == pytest.approx(15876, abs=1)
    assert GeometricMixture("0.2", "1", 5).mean_abs() == pytest.approx(2.48, abs=0.005)


@each
def test_the_variance_of_the_geometric_mixture(e: str, s: str, c: int) -> None:
    noise, forms, truth = GeometricMixture(e, s, c), GeometricForms(e, s, c), plain_sums(e, s, c)
    assert abs(forms.variance() / truth["variance"] - 1) < EXACT
    assert relative_error(noise.variance(), truth["variance"]) < CLOSE
    assert relative_error(float(forms.printed_variance()), truth["variance"]) > 0.4


@each
def test_the_entropy_of_the_geometric_mixture(e: str, s: str, c: int) -> None:
    noise, forms, truth = GeometricMixture(e, s, c), GeometricForms(e, s, c), plain_sums(e, s, c)
    assert abs(forms.entropy() - truth["entropy"]) < EXACT
    assert relative_error(noise.entropy(), truth["entropy"]) < CLOSE
    assert relative_error(float(forms.printed_entropy()), truth["entropy"]) > 0.1


@each
def test_the_remark_after_theorem_3_gives_the_chance_of_a_loss_not_of_a_size(e: str, s: str, c: int) -> None:
    noise, forms = GeometricMixture(e, s, c), GeometricForms(e, s, c)
    printed = 1 - forms.a1 * forms.A**-c
    # It is the chance that |Y| <= c ...
    assert abs(noise.within(c) - float(printed)) > 0.005
    assert relative_error(noise.within(c), 1 - forms.beyond()) < CLOSE
    # ... only in the sense that the loss |phi(k) - phi(k - 1)| is then e: for 1 - c <= k <= c.
    k = np.arange(-600, 601)
    loss = np.array([float(abs(noise.potential(int(j)) - noise.potential(int(j) - 1))) for j in k])
    assert noise.pmf(k)[np.isclose(loss, float(e))].sum() == pytest.approx(float(printed), rel=1e-9)
    assert noise.cdf(c) - noise.cdf(-c) == pytest.approx(float(printed), rel=1e-12)


@each
def test_the_remark_after_theorem_1(e: str, s: str, c: int) -> None:
    noise, forms = LaplaceMixture(e, s, c), LaplaceForms(e, s, c)
    rate, shift = float(e), 1.0

    def phi(x: np.ndarray) -> np.ndarray:
        y = np.abs(x)
        return rate * np.minimum(y, c) + float(s) * np.maximum(y - c, 0)

    truth = noise.expect(lambda x: np.abs(phi(x) - phi(x - shift)) <= rate * (1 + 1e-12))
    printed = 1 - forms.a1 * forms.outside
    if float(s) > rate:
        assert noise.cdf(c) - noise.cdf(1 - c) == pytest.approx(truth, abs=1e-6)
        assert abs(float(printed) - truth) > 0.02
    corrected = 1 - forms.a1 / 2 * forms.outside - forms.a2 / 2 * mp.exp(-forms.e * (c - 1)) - forms.k
    assert relative_error(noise.cdf(c) - noise.cdf(1 - c), corrected) < CLOSE


def test_the_remark_after_theorem_1_in_figures() -> None:
    noise, forms = LaplaceMixture("0.2", 1, 5), LaplaceForms("0.2", 1, 5)
    assert float(1 - forms.a1 * forms.outside) == pytest.approx(0.896, abs=5e-4)
    assert noise.cdf(5) - noise.cdf(-4) == pytest.approx(0.838, abs=5e-4)


def test_inside_the_break_point_the_loss_is_at_most_e_and_passes_through_0() -> None:
    phi = LaplaceMixture("0.2", 1, 5).potential
    losses = [abs(phi(Fraction(x)) - phi(Fraction(x) - 1)) for x in ("0.3", "0.5", "2")]
    assert [float(loss) for loss in losses] == pytest.approx([0.08, 0, 0.2])


@each
def test_the_accuracy_theorem_of_the_geometric_is_too_optimistic_as_printed(e: str, s: str, c: int) -> None:
    noise, forms = GeometricMixture(e, s, c), GeometricForms(e, s, c)
    masses = plain_sums(e, s, c)["masses"]
    for t in range(c + 1, c + 6):
        truth = 2 * mp.fsum(masses[t:])
        printed = forms.a1 * mp.exp(-number(s) * t)
        corrected = 2 * forms.a1 * forms.A ** (1 - t) / (forms.A + 1)
        assert abs(corrected - truth) < EXACT
        assert relative_error(2 * noise.sf(t - 1), truth) < CLOSE
        assert float(truth / printed) == pytest.approx(float(2 * forms.A / (forms.A + 1)), rel=1e-12)
        assert truth > printed


def test_the_printed_bound_of_the_geometric_is_missed_more_often_than_it_says() -> None:
    noise, forms = GeometricMixture("0.2", 1, 5), GeometricForms("0.2", 1, 5)
    t, k = 9, 3
    # Choose delta so that the printed bound ln(k·a1/delta)/s is the whole number t, as the theorem asks.
    delta = float(k * forms.a1 * mp.exp(-t))
    assert log(k * float(forms.a1) / delta) == pytest.approx(t)
    assert 1 - noise.within(t - 1) ** k > 1.4 * delta
    assert noise.error_bound(delta, k) >= t


@pytest.mark.parametrize(("e", "s", "c"), CASES[:2])
def test_the_accuracy_theorem_of_the_laplace_holds_beyond_the_break_only(e: str, s: str, c: int) -> None:
    noise, forms = LaplaceMixture(e, s, c), LaplaceForms(e, s, c)

    def printed(delta: float, k: int = 1) -> float:
        return log(k * float(forms.a1) / delta) / float(s)

    at_break = 1 - noise.within(c)
    beyond, inside = at_break / 2, min(0.9, 3 * at_break)
    assert noise.error_bound(beyond) == pytest.approx(printed(beyond), rel=1e-12)
    assert noise.union_bound(beyond, 100) == pytest.approx(printed(beyond, 100), rel=1e-12)
    assert noise.error_bound(beyond, 100) < printed(beyond, 100)
    # Inside, it is too wide where the slopes grow outward, and too narrow, so false, where they fall.
    ours = noise.error_bound(inside)
    assert ours < c
    assert 1 - noise.within(ours) == pytest.approx(inside, rel=1e-12)
    if float(s) > float(e):
        assert printed(inside) > ours * 1.01
    else:
        assert printed(inside) < ours * 0.99
        assert 1 - noise.within(printed(inside)) > inside * 1.01


def test_how_much_more_useful_the_mixture_is() -> None:
    forms = LaplaceForms("0.2", 1, 5)
    printed = 5 / log(float(forms.a1))
    corrected = 5 / (1 + log(float(forms.a1)) / log(1 / 0.05))
    measured = Laplace("0.2").error_bound("0.05") / LaplaceMixture("0.2", 1, 5).error_bound("0.05")
    assert printed == pytest.approx(1.83, abs=0.005)
    assert corrected == pytest.approx(measured, rel=1e-9)
    assert measured == pytest.approx(2.61, abs=0.005)


def test_the_parameters_of_figures_1_and_2() -> None:
    # The captions' second mixture, Lm(1/eps = 1, 1/(r·eps) = 1/10), has the rates 1 and 10; the text's has
    # b2 = 1 and b1 = 10, so 1 and 1/10, whose tail is the long one that is drawn.
    caption, text = LaplaceMixture(1, 10, "4.5"), LaplaceMixture(1, "0.1", "4.5")
    assert caption.quantile_abs("0.999") < 5
    assert text.quantile_abs("0.999") > 20
    # 0.2975 of the standard Laplace is a weighted mean of the two rates over the first mixture.
    first = LaplaceMixture("0.1", 1, "4.5")
    outside = 1 - first.within(4.5)
    assert log(exp(0.1) * (1 - outside) + exp(1) * outside) == pytest.approx(0.2975, abs=5e-5)


def test_truncated_noise_has_a_finite_delta_at_its_edge() -> None:
    noise = TruncatedGeometric("0.3", 10)
    assert noise.pmf(10) == pytest.approx(0.0077, abs=5e-5)
    assert noise.pmf(11) == 0
    plain = Geometric("0.3")
    assert noise.pmf(10) == pytest.approx(plain.pmf(10) / plain.within(10), rel=1e-12)


def zeta(pmf: list[mp.mpf]) -> object:
    """Return ln of the mean of exp|loss| at a shift of 1, from probabilities at 0, 1, 2, ..."""
    last = len(pmf) - 2
    return mp.log(
        mp.fsum(
            pmf[abs(k)] * max(pmf[abs(k)] / pmf[abs(k - 1)], pmf[abs(k - 1)] / pmf[abs(k)])
            for k in range(-last, last + 1)
        )
    )


@pytest.mark.parametrize("epsilon", ["0.2", "0.332", "1"])
def test_the_zeta_of_the_rounded_laplace_has_the_wrong_sign_in_print(epsilon: str) -> None:
    e = number(epsilon)

    def printed(sign: int) -> object:
        middle = 1 - mp.exp(-e / 2)
        beside = (mp.exp(-e / 2) - mp.exp(-3 * e / 2)) / 2
        return mp.log(
            middle**2 / beside + middle + mp.exp(e) * (mp.exp(-3 * e / 2) + mp.exp(sign * e / 2)) / 2
        )

    truth = zeta([RoundedOracle([epsilon], []).density(k) for k in range(600)])
    assert abs(printed(-1) - truth) < 1e-40
    assert printed(+1) - truth > 0.05
    found = Laplace(epsilon).rounded().pmf(np.arange(600))
    assert relative_error(float(zeta([mp.mpf(float(p)) for p in found])), truth) < 1e-10


def test_a_finite_zeta_does_not_bound_the_worst_case() -> None:
    # The converse of the paper's lemma: the losses of a Gaussian grow without end, their average does not.
    noise = DiscreteGaussian(2)
    k = np.arange(-150, 151)
    losses = np.abs(noise.log_pmf(k) - noise.log_pmf(k - 1))
    assert losses.max() > 37
    terms = np.exp(losses + noise.log_pmf(k))
    assert log(terms.sum()) < 1
    assert terms[[0, -1]].max() < 1e-300
