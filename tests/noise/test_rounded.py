"""Rounded noise is the real noise's mass between the half-integers."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dovetail.errors import InvalidParameter
from dovetail.noise import Geometric, Laplace, PiecewiseLaplace, RoundedLaplace
from strategies import laplaces, narrow_laplaces, roundeds


@settings(max_examples=60, deadline=None)
@given(narrow_laplaces, st.integers(0, 60))
def test_probabilities_are_differences_of_the_real_cdf(noise: PiecewiseLaplace, k: int) -> None:
    rounded = noise.rounded()
    assert rounded.pmf(k) == pytest.approx(noise.sf(k - 0.5) - noise.sf(k + 0.5), rel=1e-9, abs=1e-15)
    assert rounded.sf(k) == pytest.approx(noise.sf(k + 0.5), rel=1e-12)
    assert rounded.cdf(k) == pytest.approx(noise.cdf(k + 0.5), rel=1e-12)
    assert rounded.within(k) == pytest.approx(noise.within(k + 0.5), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(roundeds())
def test_runs_cover_the_integers_once_and_in_order(noise: RoundedLaplace) -> None:
    at = 0
    for run in noise.runs[:-1]:
        assert run.start == at
        assert run.count >= 1
        at += run.count
    assert noise.runs[-1].start == at
    assert noise.runs[-1].count is None


@settings(max_examples=60, deadline=None)
@given(laplaces(), st.integers(0, 10**6))
def test_inside_a_run_probabilities_fall_by_its_rate(source: PiecewiseLaplace, j: int) -> None:
    noise = source.rounded()
    for run in noise.runs:
        if run.count is None or run.count > 1:
            k = run.start + (j if run.count is None else j % (run.count - 1))
            fall = noise.log_pmf(k) - noise.log_pmf(k + 1)
            assert fall == pytest.approx(float(run.rate), rel=1e-9, abs=1e-9 * abs(noise.log_pmf(k)))


def test_a_break_between_two_cells_cuts_none_of_them() -> None:
    assert [run.start for run in PiecewiseLaplace((1, 2), ("4.5",)).rounded().runs] == [0, 1, 5]
    assert [run.start for run in PiecewiseLaplace((1, 2), (5,)).rounded().runs] == [0, 1, 5, 6]
    assert [run.start for run in PiecewiseLaplace((1, 2), ("0.25",)).rounded().runs] == [0, 1]


def test_far_out_the_rounded_laplace_decays_like_the_geometric_but_is_another() -> None:
    rounded, geometric = Laplace("0.5").rounded(), Geometric("0.5")
    assert rounded.log_pmf(5) - rounded.log_pmf(6) == pytest.approx(0.5)
    assert rounded.pmf(0) == pytest.approx(1 - 2.718281828459045**-0.25)
    assert abs(rounded.pmf(0) - geometric.pmf(0)) > 0.02


def test_only_a_piecewise_laplace_can_be_rounded() -> None:
    for bad in (Geometric(1), None, 3):
        with pytest.raises(
            InvalidParameter, match=r"^source=.* must be a PiecewiseLaplace. Round a Laplace noise"
        ):
            RoundedLaplace(bad)  # type: ignore[arg-type]
    assert Laplace(1).rounded().rates == (Fraction(1),)
