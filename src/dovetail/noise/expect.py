"""The expected cost of a noise, for any cost: the paper's accuracy integral."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import ceil, fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.errors import InvalidParameter

from .evaluate import Floats

if TYPE_CHECKING:
    from .integer import IntegerNoise
    from .real import RealNoise

# Beyond this the probabilities are below 1e-304; a cost that still matters there outgrows the tail.
_LOG_NEGLIGIBLE = -700.0
_MOST_TERMS = 1 << 26
_BLOCK = 1 << 16
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def expect_integer(noise: IntegerNoise, cost: Callable[[Any], Any]) -> float:
    """Sum cost(k)·P(Y = k) over all k that can matter."""
    last = _reach(lambda x: float(noise._log_tail(np.array([x]))[0]), 1.0)
    if last > _MOST_TERMS:
        raise InvalidParameter(
            "cost",
            cost,
            f"summed over at most {_MOST_TERMS} integers, and this noise needs {ceil(last)}",
            "Use mean_abs() or variance(), or a noise on a coarser lattice.",
        )
    parts: list[float] = []
    for start in range(0, ceil(last) + 1, _BLOCK):
        k = np.arange(start, min(start + _BLOCK, ceil(last) + 1))
        weight = np.exp(noise._log_density(k.astype(np.float64)))
        right = _cost(cost, k) * weight
        left = _cost(cost, -k) * weight
        if start == 0:
            left[0] = 0.0
        parts.append(fsum(right) + fsum(left))
    return _settled(parts, cost)


def expect_real(noise: RealNoise, cost: Callable[[Any], Any]) -> float:
    """Integrate cost(x)·density over the line: Gauss-Legendre panels, halved until they agree."""
    stretches = noise.decay.stretches
    scale = 1 / max(float(stretch.rate) for stretch in stretches)
    last = _reach(lambda x: float(noise._log_sf(np.array([x]))[0]), scale)
    if stretches[-1].end is not None:
        last = min(last, float(stretches[-1].end))
    edges = [*(float(stretch.start) for stretch in stretches if stretch.start < last), last]
    step = min(scale, 1.0)
    parts = []
    for low, high in itertools.pairwise(edges):
        panels = min(max(1, ceil((high - low) / (4 * step))), 1 << 12)
        points = np.linspace(low, high, panels + 1)
        for a, b in itertools.pairwise(points):
            parts.append(_panel(noise, cost, a, b, 40))
    return _settled(parts, cost)


def _panel(noise: RealNoise, cost: Callable[[Any], Any], a: float, b: float, depth: int) -> float:
    whole = _gauss(noise, cost, a, b)
    middle = (a + b) / 2
    halves = _gauss(noise, cost, a, middle) + _gauss(noise, cost, middle, b)
    if depth == 0 or not a < middle < b or abs(whole - halves) <= 1e-13 * abs(halves) + 1e-18:
        return halves
    return _panel(noise, cost, a, middle, depth - 1) + _panel(noise, cost, middle, b, depth - 1)


def _gauss(noise: RealNoise, cost: Callable[[Any], Any], a: float, b: float) -> float:
    half = (b - a) / 2
    x = (a + b) / 2 + half * _NODES
    weight = np.exp(noise._log_density(x)) * _WEIGHTS * half
    return fsum((_cost(cost, x) + _cost(cost, -x)) * weight)


def _cost(cost: Callable[[Any], Any], x: Any) -> Floats:
    values = np.broadcast_to(np.asarray(cost(x), np.float64), x.shape).copy()
    if np.isnan(values).any():
        raise InvalidParameter("cost", cost, "a function that gives a number for every noise", "")
    return values


def _reach(log_tail: Callable[[float], float], start: float) -> float:
    """Return a point beyond which the tail is negligible, by doubling."""
    x = start
    while log_tail(x) > _LOG_NEGLIGIBLE:
        x *= 1.25
    return x


def _settled(parts: list[float], cost: Callable[[Any], Any]) -> float:
    """Return the sum; where its last part still matters, the cost outgrows the tail and there is none."""
    total = fsum(parts)
    if not np.isfinite(total) or (len(parts) > 1 and abs(parts[-1]) > 1e-9 * abs(total)):
        raise InvalidParameter(
            "cost",
            cost,
            "a function that grows more slowly than the tail falls",
            "Its expectation is infinite.",
        )
    return total
