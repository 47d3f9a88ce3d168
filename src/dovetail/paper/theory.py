"""What section III says in words, put to numbers."""

from __future__ import annotations

from math import exp, inf

import numpy as np

import dovetail as dv

from .claims import Measured
from .item import Item, ItemResult, StepInputs
from .losses import clamped_zeta
from .mechanisms import FIVE, SETTINGS

_CUT = 10


def _make(run: StepInputs) -> ItemResult:
    mixture, rounded = FIVE.geometric_mixture().noise, FIVE.laplace_mixture().noise
    real = dv.LaplaceMixture(FIVE.inner, FIVE.outer, FIVE.break_point)
    loss = dv.privacy_loss(mixture)
    values, shares = loss.atoms
    twice = loss.compose(2)
    measured = {
        "theorem1-worst-case": Measured(dv.privacy_loss(rounded).epsilon),
        "theorem3-worst-case": Measured(loss.epsilon),
        "theorem1-remark": Measured(float(real.cdf(5)) - float(real.cdf(-4))),
        "theorem3-remark": Measured(float(shares[np.abs(values) < 0.5].sum())),
        "theorem3-remark-noise": Measured(float(mixture.within(5))),
        "theorem2-gain": Measured(_usefulness_gain(real)),
        "theorem4-tail": Measured(_tail_over_printed(mixture)),
        "zeta-equals-epsilon-geometric": Measured(dv.privacy_loss(dv.Geometric("0.328")).zeta),
        "zeta-equals-epsilon-laplace": Measured(dv.privacy_loss(dv.Laplace("0.328")).zeta),
        "zeta-composition": Measured(twice.zeta / (2 * loss.zeta)),
        "zeta-closer-to-inner": Measured(dv.privacy_loss(dv.GeometricMixture("0.2", 10, 5)).zeta),
        "zeta-clamped": Measured(max(clamped_zeta(mixture, n) for n in range(1, 12)) - loss.zeta),
        **_truncated(),
        "histogram-sensitivity": Measured(float(_replaced_cells())),
        **_budgets(),
    }
    return ItemResult(measured=measured)


def _usefulness_gain(real: dv.PiecewiseLaplace) -> float:
    """Return how much smaller the mixture's error bound is than that of Laplace noise at epsilon."""
    return dv.Laplace(FIVE.inner).error_bound("0.05") / real.error_bound("0.05")


def _tail_over_printed(mixture: dv.noise.IntegerNoise) -> float:
    """Return P(|Y| >= t) over the paper's a1·exp(-outer·t), at t = 10."""
    t = 10
    ratio = exp(-float(FIVE.outer))
    # The probability at t is a1·(1 - q)/(1 + q)·q^t with q = exp(-outer).
    printed = float(mixture.pmf(t)) * (1 + ratio) / (1 - ratio)
    return 2 * float(mixture.sf(t - 1)) / printed


def _budgets() -> dict[str, Measured]:
    """Return the budgets at which the simulation runs the standard mechanisms."""
    found = {}
    for setting in SETTINGS:
        geometric, laplace = (dv.privacy_loss(mixture.noise).zeta for mixture in setting.mixtures())
        found[f"budget-{setting.name}"] = Measured(geometric)
        equal = dv.privacy.equivalent_epsilon("rounded_laplace", laplace)
        found[f"budget-laplace-{setting.name}"] = Measured(equal)
    published = dv.privacy.published_zeta(FIVE.laplace_mixture().noise)
    found["budget-laplace-fig12"] = Measured(dv.privacy.equivalent_epsilon("rounded_laplace", published))
    return found


def _truncated() -> dict[str, Measured]:
    """Return worst case and delta of a geometric mechanism cut off at ±10, for counts that differ by one."""
    ratio = exp(-0.3)
    weights = [ratio ** abs(k) for k in range(-_CUT, _CUT + 1)]
    shares = [weight / sum(weights) for weight in weights]
    loss = dv.PrivacyLoss.from_pmfs([*shares, 0], [0, *shares])
    return {
        "truncated-worst-case": Measured(float(loss.epsilon == inf)),
        "truncated-delta": Measured(loss.delta("0.3")),
    }


def _replaced_cells() -> int:
    """Return by how much replacing one row moves a histogram, in L1."""
    before, after = np.bincount([0, 1, 1], minlength=2), np.bincount([1, 1, 1], minlength=2)
    return int(np.abs(before - after).sum())


ITEMS = (Item("text", "Statements of section III", _make),)
