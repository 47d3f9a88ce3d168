"""Search over rates and breaks: sequential quadratic programming on logs, with exact derivatives.

A point holds the logs of the increments of rates and breaks, so that rates grow outward whatever the solver
tries. It may end with ln epsilon, where epsilon is what is minimised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .composition_floats import Figure, log_delta, zeta_of
from .piecewise_floats import Array, PiecewiseFloats, complex_steps, slopes

Floats = NDArray[np.float64]
Term = Callable[["Layout", Floats], tuple[float, Floats]]
"""(layout, point) -> a number and its gradient; a constraint holds where the number is at least 0."""

# The solver ends a little outside of its constraints. The shape counts: it is fitted to them exactly later.
_SLACK = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """How a point is read: the number of pieces, breaks that are held fixed, and the grid for losses."""

    pieces: int
    fixed: tuple[float, ...] = ()
    with_epsilon: bool = False
    grid: float = 1.0

    def profile(self, point: Array) -> PiecewiseFloats:
        """Return the noise of a point, or of several side by side."""
        rates = np.cumsum(np.exp(point[..., : self.pieces]), axis=-1)
        free = self.pieces - 1 - len(self.fixed)
        held = np.broadcast_to(np.array([0.0, *self.fixed]), (*rates.shape[:-1], 1 + len(self.fixed)))
        moved = np.cumsum(np.exp(point[..., self.pieces : self.pieces + free]), axis=-1)
        starts = np.concatenate([held, held[..., -1:] + moved], axis=-1)
        return PiecewiseFloats(rates, starts)

    def point(self, rates: Floats, breaks: Floats, epsilon: float = 1.0) -> Floats:
        """Return the point of a noise whose first breaks are the fixed ones."""
        starts = np.concatenate([[0.0], breaks])[len(self.fixed) :]
        parts = [np.log(np.diff(rates, prepend=0.0)), np.log(np.diff(starts))]
        return np.concatenate([*parts, [np.log(epsilon)] if self.with_epsilon else []])


def smooth(function: Callable[[PiecewiseFloats], Array], limit: float | None = None) -> Term:
    """Return the term ln f, or the constraint ln limit - ln f."""

    def term(layout: Layout, point: Floats) -> tuple[float, Floats]:
        values = np.log(function(layout.profile(complex_steps(point))))
        value, gradient = float(values[0].real), slopes(values)
        return (value, gradient) if limit is None else (float(np.log(limit)) - value, -gradient)

    return term


def epsilon_itself(layout: Layout, point: Floats) -> tuple[float, Floats]:
    """Return ln epsilon, where the point holds it."""
    gradient = np.zeros(len(point))
    gradient[-1] = 1.0
    return float(point[-1]), gradient


def delta_within(delta: float, uses: int, epsilon: float | None) -> Term:
    """Return the constraint ln delta - ln delta(epsilon); without an epsilon the point holds it."""

    def term(layout: Layout, point: Floats) -> tuple[float, Floats]:
        limit = float(np.exp(point[-1])) if epsilon is None else epsilon
        found, gradient = _of_losses(
            layout, point, lambda values, masses: log_delta(values, masses, uses, limit, layout.grid)
        )
        if epsilon is None:
            gradient[-1] += found.by_epsilon * limit
        return float(np.log(delta)) - found.log, -gradient

    return term


def joint_zeta(uses: int, limit: float | None = None) -> Term:
    """Return ln zeta of all uses together, or the constraint ln limit - ln zeta."""
    if uses == 1:
        return smooth(PiecewiseFloats.zeta, limit)

    def term(layout: Layout, point: Floats) -> tuple[float, Floats]:
        found, gradient = _of_losses(
            layout, point, lambda values, masses: zeta_of(values, masses, uses, layout.grid)
        )
        return (found.log, gradient) if limit is None else (float(np.log(limit)) - found.log, -gradient)

    return term


def _of_losses(
    layout: Layout, point: Floats, figure: Callable[[Floats, Floats], Figure]
) -> tuple[Figure, Floats]:
    """Return a figure of the losses of a point, and its gradient by the chain rule."""
    profile = layout.profile(complex_steps(point))
    rates, masses = profile.rates, profile.masses()
    values = np.concatenate([rates, -rates], axis=-1)
    chances = np.concatenate([masses, masses * np.exp(-rates)], axis=-1)
    found = figure(values[0].real, chances[0].real)
    return found, slopes(values) @ found.by_values + slopes(chances) @ found.by_masses


def improve(
    layout: Layout, start: Floats, objective: Term, constraints: list[Term], rounds: int
) -> tuple[float, Floats] | None:
    """Return the least objective found from `start` and its point, or None if no constraint could be met."""
    from scipy.optimize import minimize

    best: list[tuple[float, Floats]] = []
    known: dict[bytes, list[tuple[float, Floats]]] = {}

    def terms(point: Floats) -> list[tuple[float, Floats]]:
        key = point.tobytes()
        if key not in known:
            known.clear()
            known[key] = [term(layout, point) for term in (objective, *constraints)]
            if min((value for value, _ in known[key][1:]), default=0.0) >= -_SLACK:
                best.append((known[key][0][0], point.copy()))
        return known[key]

    bounds = [(value - 6.0, value + 3.0) for value in start]
    low, high = np.array(bounds).T
    # Constraints may be asked a hair outside the bounds; the derivatives there are as good.
    held = {
        "type": "ineq",
        "fun": lambda point: np.array([value for value, _ in terms(np.clip(point, low, high))[1:]]),
        "jac": lambda point: np.array([gradient for _, gradient in terms(np.clip(point, low, high))[1:]]),
    }
    with np.errstate(all="ignore"):
        minimize(
            lambda point: terms(np.clip(point, low, high))[0],
            start,
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=held,
            options={"maxiter": rounds, "ftol": 1e-6},
        )
    finite = [pair for pair in best if np.isfinite(pair[0])]
    return min(finite, key=lambda pair: pair[0]) if finite else None
