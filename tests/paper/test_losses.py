"""The privacy loss between neighbours, clamped and estimated."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dv
from dovetail.paper.losses import clamped_zeta, estimated_zeta


def test_setting_negative_answers_to_zero_never_raises_zeta() -> None:
    noise = dv.GeometricMixture("1/5", 1, 5)
    unclamped = dv.privacy_loss(noise).zeta
    found = [clamped_zeta(noise, count) for count in range(1, 20)]
    assert max(found) <= unclamped * (1 + 1e-9)
    assert clamped_zeta(noise, 81) == unclamped


def test_the_estimate_of_equal_laws_is_sampling_error_alone() -> None:
    noise = dv.Geometric("0.328")
    histograms = [np.bincount(noise.sample(1_000_000) + 400, minlength=801) / 1e6 for _ in range(2)]
    shares = noise.pmf(np.arange(-60, 61))
    expected = np.sqrt(4 / (np.pi * 1e6)) * np.sqrt(shares).sum()
    # The estimate is a sum of about forty nearly independent terms; eight times its size is never reached.
    assert 0 < estimated_zeta(*histograms) < 8 * expected


def test_the_estimate_of_neighbours_approaches_the_exact_zeta() -> None:
    law = np.asarray(dv.Geometric("0.328").pmf(np.arange(-100, 101)))
    assert estimated_zeta(law[1:], law[:-1]) == pytest.approx(0.328, abs=1e-9)
