"""The expected cost of a noise, for any cost: the paper's accuracy integral."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache
from math import ceil
from typing import Any, TypeAlias

import numpy as np

from dovetail.errors import InvalidParameter
from dovetail.exact import Decay
from dovetail.exact.bisection import least_float

from .arrays import Floats

# Summed is up to where the tail is below 1e-304. A cost that still matters where it is below 1e-228 outgrows
# the tail, so that something would be missing.
_LOG_END = -700.0
_LOG_FAR = -525.0
_NEGLIGIBLE = 1e-12
_MOST_TERMS = 1 << 26
_BLOCK = 1 << 16
_MOST_PANELS = 1 << 17
_NODES = 24

Function: TypeAlias = Callable[[Any], Any]


def expect_integer(log_tail: Function, log_density: Function, cost: Function) -> float:
    """Sum cost(k)·P(Y = k) over all k that can matter; the logarithms take arrays."""
    far_out, end = _reach(lambda x: float(log_tail(np.array([max(x, 1.0)]))[0]), 1.0)
    last = ceil(end)
    if last > _MOST_TERMS:
        raise InvalidParameter(
            "cost",
            cost,
            f"summed over at most {_MOST_TERMS} integers, and this noise needs {last}",
            "Use its mean error or variance, or a noise on a coarser lattice.",
        )
    total = size = far = 0.0
    for start in range(0, last + 1, _BLOCK):
        k = np.arange(start, min(start + _BLOCK, last + 1))
        terms = _both_sides(cost, k, np.exp(log_density(k.astype(np.float64))))
        if start == 0:
            terms[0] /= 2
        total += float(np.sum(terms))
        size += float(np.sum(np.abs(terms)))
        far += float(np.sum(np.abs(terms[k > far_out])))
    return _converged(total, size, far, cost)


def expect_real(decay: Decay, log_sf: Function, log_density: Function, cost: Function) -> float:
    """Integrate cost(x)·density over the line: Lobatto's rule on panels, halved until they agree."""
    starts = [float(stretch.start) for stretch in decay.stretches]
    scale = 1 / max(float(stretch.rate) for stretch in decay.stretches)
    far_out, last = _reach(lambda x: float(log_sf(np.array([x]))[0]), scale)
    if decay.stretches[-1].end is not None:
        last = min(last, float(decay.stretches[-1].end))
    # Halving towards 0 finds what a cost does on a scale far below the noise's own.
    halves = (last * 0.5**number for number in range(1, 60))
    edges = sorted({min(far_out, last), last, *halves, *(start for start in starts if start < last)})
    points = [
        np.linspace(low, high, min(ceil((high - low) / (4 * scale)), 1 << 10), endpoint=False)
        for low, high in itertools.pairwise(edges)
    ]
    a = np.concatenate(points)
    b = np.append(a[1:], last)
    whole = _panels(log_density, cost, a, b)
    total = size = far = 0.0
    panels = len(a)
    while len(a):
        middle = (a + b) / 2
        left, right = _panels(log_density, cost, a, middle), _panels(log_density, cost, middle, b)
        with np.errstate(invalid="ignore"):  # an infinite part is refused by `_converged`
            error = np.abs(whole - left - right)
        scale_now = size + float(np.sum(np.abs(left) + np.abs(right)))
        rough = (
            (error > 1e-13 * np.abs(left + right)) & (error > 1e-17 * scale_now) & (a < middle) & (middle < b)
        )
        fine = ~rough
        total += float(np.sum((left + right)[fine]))
        size += float(np.sum((np.abs(left) + np.abs(right))[fine]))
        far += float(np.sum((np.abs(left) + np.abs(right))[fine & (a >= far_out)]))
        a, b, whole = (
            np.concatenate([one[rough], two[rough]]) for one, two in ((a, middle), (middle, b), (left, right))
        )
        panels += len(a)
        if panels > _MOST_PANELS:
            raise InvalidParameter(
                "cost",
                cost,
                "a function without countless jumps or waves on the scale of the noise",
                "Use an integer noise: round it, or put it on a lattice.",
            )
    return _converged(total, size, far, cost)


@cache
def _lobatto() -> tuple[Floats, Floats]:
    """Return the nodes and weights of Lobatto's rule: it has both ends, so no jump next to one is missed."""
    basis = np.polynomial.Legendre.basis(_NODES - 1)
    nodes = np.concatenate([[-1.0], np.sort(basis.deriv().roots().real), [1.0]])
    return nodes, 2 / (_NODES * (_NODES - 1) * basis(nodes) ** 2)


def _panels(log_density: Function, cost: Function, a: Floats, b: Floats) -> Floats:
    """Return the integral over each panel [a, b] and its mirror image."""
    nodes, weights = _lobatto()
    half = (b - a)[:, None] / 2
    x = (a + b)[:, None] / 2 + half * nodes
    weight = np.exp(log_density(x.reshape(-1))).reshape(x.shape) * weights * half
    result: Floats = np.sum(_both_sides(cost, x.reshape(-1), weight.reshape(-1)).reshape(x.shape), axis=1)
    return result


def _both_sides(cost: Callable[[Any], Any], x: Any, weight: Floats) -> Floats:
    """Return (cost(x) + cost(-x))·weight; an infinite cost of no weight is left to `_converged`."""
    with np.errstate(over="ignore", invalid="ignore"):
        costs = [np.broadcast_to(np.asarray(cost(side), np.float64), x.shape) for side in (x, -x)]
        if np.isnan(costs).any():
            raise InvalidParameter("cost", cost, "a function that gives a number for every noise")
        result: Floats = (costs[0] + costs[1]) * weight
    return result


def _reach(log_tail: Callable[[float], float], start: float) -> tuple[float, float]:
    """Return where the tail is far out, and where it ends for us."""
    return (
        least_float(start, lambda x: log_tail(x) <= _LOG_FAR),
        least_float(start, lambda x: log_tail(x) <= _LOG_END),
    )


def _converged(total: float, size: float, far: float, cost: Callable[[Any], Any]) -> float:
    """Return the total, unless what lies farthest out still matters: then more lies beyond it."""
    if not (np.isfinite(size) and far <= _NEGLIGIBLE * size):
        raise InvalidParameter(
            "cost",
            cost,
            "a function that grows clearly more slowly than the tail falls",
            "Its expectation is infinite, or lies where the noise is below 1e-300.",
        )
    return total
