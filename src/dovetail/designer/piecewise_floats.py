"""An n-piece noise as plain floats, for the search: formulas that can be differentiated by a complex step.

Breaks may lie between integers here; the formulas pass smoothly through. What is found is checked by exact
means afterwards, so nothing here guards privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
_TINY = 1e-30


@dataclass(frozen=True, slots=True, eq=False)
class PiecewiseFloats:
    """Rates (last axis: pieces) and the start of each piece; leading axes hold variants side by side."""

    rates: Array
    starts: Array

    @property
    def lengths(self) -> Array:
        """The length of every piece but the last."""
        return np.diff(self.starts, axis=-1)

    def _tops(self) -> Array:
        """Return the weight at the start of each piece, that at 0 being 1."""
        falls = np.cumsum(self.rates[..., :-1] * self.lengths, axis=-1)
        return np.asarray(np.exp(-np.concatenate([np.zeros_like(self.rates[..., :1]), falls], axis=-1)))

    def _sums(self) -> tuple[Array, Array, Array]:
        """Return the sums of 1, j and j² times exp(-rate·j) over each piece, j counted from its start."""
        unit = -np.expm1(-self.rates)
        q = np.exp(-self.rates)
        endless = 1 / unit, q / unit**2, q * (1 + q) / unit**3
        length = np.concatenate([self.lengths, np.zeros_like(self.rates[..., :1])], axis=-1)
        left = np.exp(-self.rates * length)
        left[..., -1] = 0
        zero = (1 - left) / unit
        one = endless[1] * (1 - left) - left * length / unit
        two = endless[2] * (1 - left) - left * (length * length / unit + 2 * length * endless[1])
        return zero, one, two

    def masses(self) -> Array:
        """Return the chance of the loss +rate at a shift by 1, for each piece; -rate has exp(-rate) of it."""
        weights = self._tops() * self._sums()[0]
        return np.asarray(weights / (2 * weights.sum(axis=-1, keepdims=True) - 1))

    def moment(self, order: int) -> Array:
        """Return E|Y| or E Y²."""
        zero, one, two = self._sums()
        tops, starts = self._tops(), self.starts
        total = 2 * (tops * zero).sum(axis=-1) - 1
        parts = starts * zero + one if order == 1 else starts**2 * zero + 2 * starts * one + two
        return np.asarray(2 * (tops * parts).sum(axis=-1) / total)

    def outside(self, t: float) -> Array:
        """Return P(|Y| > t) for a whole t."""
        zero = self._sums()[0]
        unit, tops = -np.expm1(-self.rates), self._tops()
        total = 2 * (tops * zero).sum(axis=-1) - 1
        past = t + 1 - self.starts
        past = np.where(past.real > 0, past, 0)
        length = self.lengths
        inside = np.concatenate(
            [past[..., :-1].real < length.real, np.ones_like(past[..., -1:], bool)], axis=-1
        )
        rest = np.exp(-self.rates * past) / unit
        rest[..., :-1] -= np.exp(-self.rates[..., :-1] * length) / unit[..., :-1]
        return np.asarray(2 * (tops * np.where(inside, rest, 0)).sum(axis=-1) / total)

    def zeta(self) -> Array:
        """Return ln E exp|L| of one use at a shift by 1."""
        return np.asarray(np.log((self.masses() * (np.exp(self.rates) + 1)).sum(axis=-1)))


def complex_steps(point: NDArray[np.float64]) -> Array:
    """Return the point moved by i·tiny along each axis: imaginary parts of results / tiny are derivatives."""
    return point + 1j * _TINY * np.eye(len(point))


def slopes(values: Array) -> NDArray[np.float64]:
    """Return the derivatives from values at `complex_steps`."""
    return np.asarray(values.imag / _TINY)
