"""The best noise of any shape, as an anchor for the design grid: floats only, nothing certified.

Among all symmetric laws on a lattice with a given variance, the one with the least Rényi divergence of an
order is the solution of a convex problem, found by Newton's method. Its delta after k uses is then computed,
and order and variance are chosen for the least variance within the budget. The designer has no part in it but
the Fourier transform that sums losses.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.sparse import bmat, coo_array, diags_array
from scipy.sparse.linalg import MatrixRankWarning, spsolve

from dovetail.designer.composition_floats import log_delta_alone
from dovetail.privacy.normal import normal_sigma

Floats = NDArray[np.float64]

# Wider noise is looked at on a lattice that is coarser than the shift, of so many steps to a deviation.
_STEPS = 60
_REACH = 9
# The largest slope of a start, times the order.
_STEEPEST = 6.0
_ROUNDS = 60
_PER_RATE = 64
_FAR = 20.0


@dataclass(frozen=True)
class Law:
    """Probabilities of 0, 1, 2, … lattice steps; the shift is `shift` steps."""

    masses: Floats
    shift: float

    @property
    def slopes(self) -> Floats:
        """How much ln p falls from each step to the next."""
        return -np.diff(np.log(self.masses))

    def has(self, variance: float) -> bool:
        """Say whether this is a law of the variance."""
        k = np.arange(len(self.masses))
        found = (np.where(k == 0, 1.0, 2.0) * np.array([np.ones(len(k)), k**2 / variance]) * self.masses).sum(
            axis=1
        )
        return bool(np.abs(found - 1).max() < 1e-6)

    def losses(self) -> tuple[Floats, Floats]:
        """Return the values of the privacy loss and their chances."""
        size = self.slopes * self.shift
        if self.shift == 1:
            return np.concatenate([size, -size]), np.concatenate([self.masses[:-1], self.masses[1:]])
        right = self.masses[:-1] + self.masses[1:]
        chances = np.concatenate([right, right * np.exp(-size)])
        return np.concatenate([size, -size]), chances / chances.sum()


def best_law(variance: float, order: float, shift: float) -> Law:
    """Return the law of a variance (in squared steps) with the least sum of p·(p/q)^order over neighbours."""
    power = order * shift
    masses = _start(variance, power)
    k = np.arange(len(masses))
    count = np.where(k == 0, 1.0, 2.0)
    value = _mean(masses, power)
    for _ in range(_ROUNDS):
        inward = masses[:-1] * (masses[:-1] / masses[1:]) ** power
        outward = masses[1:] * (masses[1:] / masses[:-1]) ** power
        gradient = np.zeros(len(k))
        gradient[:-1] += (1 + power) * inward - power * outward
        gradient[1:] += (1 + power) * outward - power * inward
        bend = power * (1 + power) * (inward + outward)
        diagonal = (np.append(bend, 0.0) + np.append(0.0, bend)) * (1 + 1e-12)
        hessian = diags_array([diagonal, -bend, -bend], offsets=[0, 1, -1])
        # Both constraints, by relative changes of the masses; they are linear, so a shorter step keeps them.
        limits = np.array([count * masses, count * k**2 * masses / variance])
        rows = coo_array(limits)
        missing = 1 - limits.sum(axis=1)
        system = bmat([[hessian, rows.T], [rows, None]], format="csc")
        change = spsolve(system, np.concatenate([-gradient, missing]))[: len(k)]
        if not np.isfinite(change).all():
            break
        step = min(1.0, 0.9 / max(float((-change).max()), 1e-300))
        while (better := _mean(masses * (1 + step * change), power)) > value * (1 + 1e-9) and step > 1e-9:
            if np.abs(missing).max() > 1e-9 and step == 1.0:
                break  # the first steps lead to the constraints
            step /= 2
        masses, gained, value = masses * (1 + step * change), value - better, better
        if abs(gained) < 1e-11 * value and np.abs(missing).max() < 1e-9:
            break
    return Law(masses, shift)


def _mean(masses: Floats, power: float) -> float:
    ratio = masses[:-1] / masses[1:]
    return float((masses[:-1] * ratio**power + masses[1:] * ratio**-power).sum())


def _start(variance: float, power: float) -> Floats:
    """Return a Gaussian whose slopes go no further than the order lets them, of about this variance."""
    k = np.arange(int(_REACH * sqrt(variance)) + 8)
    count = np.where(k == 0, 1.0, 2.0)

    steepest = _STEEPEST / power

    def law(width: float) -> Floats:
        slopes = np.minimum((k[:-1] + 0.5) / width, steepest)
        masses = np.exp(-np.append(0.0, np.cumsum(slopes)))
        return np.asarray(masses / (count * masses).sum())

    low, high = variance / 50, variance * 1.5
    while (count * k**2 * law(low)).sum() > variance:
        steepest *= 1.2
    for _ in range(60):
        middle = (low + high) / 2
        enough = (count * k**2 * law(middle)).sum() >= variance
        low, high = (low, middle) if enough else (middle, high)
    return law(high)


def free_form(queries: int, epsilon: float, delta: float) -> float:
    """Return the least variance found for k uses at (epsilon, delta)."""
    sigma = normal_sigma(epsilon, delta, queries)
    shift = 1.0 if sigma < 2 * _STEPS else _STEPS / sigma

    def fitted(log_order: float) -> float:
        order = float(np.exp(log_order))

        def excess(log_variance: float) -> float:
            law = best_law(float(np.exp(log_variance)), order, shift)
            if not law.has(float(np.exp(log_variance))):
                return _FAR  # so steep that Newton's method does not arrive
            values, chances = law.losses()
            grid = float(values.max()) / _PER_RATE
            found = log_delta_alone(values, chances, queries, epsilon, grid) - log(delta)
            return min(max(found, -_FAR), _FAR)

        # From the geometric noise's variance, or a little less, to a little more than the Gaussian's.
        top = 2 * log(sigma * shift) + 0.1
        low = min(log(2 * (queries / epsilon * shift) ** 2), top) - 1.5
        if (missed := excess(top)) > 0:
            return top + missed
        return float(brentq(excess, low, top, xtol=1e-6, maxiter=60)) if excess(low) > 0 else low

    order = max(epsilon - queries / (2 * sigma**2), 1e-3) * sigma**2 / queries
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", MatrixRankWarning)
        found = minimize_scalar(
            fitted, bracket=(log(order) - 0.4, log(order) + 0.4), tol=1e-3, options={"maxiter": 14}
        )
    return float(np.exp(found.fun)) / shift**2
