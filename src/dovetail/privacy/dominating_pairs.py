"""Where a kind of noise is told how its loss is computed; noise itself knows nothing of privacy.

A noise made of stretches of decay needs nothing. For any other kind, register a function here:

    @shift_loss_of.register
    def _(noise: SomeNoise, shift: Fraction) -> Atoms: ...
"""

from __future__ import annotations

# What `threading` calls RLock (see exact/forks.py).
from _thread import RLock
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import singledispatch
from math import inf
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.exact import Decay
from dovetail.exact.forks import ForkGuard
from dovetail.noise import IntegerNoise, Noise

from .atoms import LEAST_MASS, ROUNDING, Atoms, on_values
from .segments import shift_loss

Masses: TypeAlias = Sequence[Real] | Mapping[Any, Real] | NDArray[Any]
"""Probabilities of outcomes: listed, as an array, or by outcome."""

_SHIFT = "Give by how much one row can change the answer, for example 1."
_MISSING = Fraction(1, 10**9)


@singledispatch
def shift_loss_of(noise: object, shift: Fraction) -> Atoms:
    """Return the loss between a noise and itself moved by `shift`."""
    decay = getattr(noise, "decay", None)
    if not isinstance(decay, Decay):
        raise InvalidParameter(
            "noise",
            noise,
            "a noise whose loss is known",
            "Use PrivacyLoss.from_pmfs for a mechanism of your own.",
        )
    return shift_loss(decay, shift)


def shift_atoms(noise: Noise, sensitivity: object) -> Atoms:
    """Check the sensitivity and return the loss of that shift; recent ones are kept."""
    size = check.positive("sensitivity", sensitivity, _SHIFT)
    if isinstance(noise, IntegerNoise) and size.denominator != 1:
        raise InvalidParameter("sensitivity", sensitivity, "a whole number for noise on the integers", _SHIFT)
    if not isinstance(noise, Noise):
        raise InvalidParameter(
            "noise", noise, "a noise", "Use PrivacyLoss.from_pmfs for a mechanism of your own."
        )
    most = 2**62 if isinstance(noise, IntegerNoise) else 10**300
    if size > most:
        raise InvalidParameter("sensitivity", sensitivity, f"at most {most:g}", _SHIFT)
    return _latest.of(noise, size)


class LatestLosses:
    """The losses that were asked for last, as many as fit into so many bytes.

    They differ much in size: that of a wide Gaussian takes six million bytes, most others some thousands.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most, self.nbytes = most_bytes, 0
        self._kept: OrderedDict[tuple[Noise, Fraction], Atoms] = OrderedDict()
        # A signal handler may ask for a loss in the middle of another call.
        self._guard = ForkGuard(RLock)

    def of(self, noise: Noise, shift: Fraction) -> Atoms:
        """Return the loss between a noise and itself moved by `shift`."""
        key = noise, shift
        with self._guard.lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = shift_loss_of(noise, shift)
        with self._guard.lock:
            self.nbytes += 0 if key in self._kept else made.nbytes
            kept = self._kept.setdefault(key, made)
            while self.nbytes > self._most:
                self.nbytes -= self._kept.popitem(last=False)[1].nbytes
        return kept


_latest = LatestLosses(1 << 27)


def atoms_from_pmfs(p: Masses, q: Masses) -> tuple[Atoms, Atoms]:
    """Return the losses P against Q and Q against P of two listed distributions."""
    if isinstance(p, Mapping) != isinstance(q, Mapping):
        raise InvalidParameter("q", type(q).__name__, "given like p: both by outcome, or both as lists")
    if isinstance(p, Mapping) and isinstance(q, Mapping):
        outcomes = list(dict.fromkeys([*p, *q]))
        p, q = ([masses.get(outcome, 0) for outcome in outcomes] for masses in (p, q))
    first, second = _distribution("p", p), _distribution("q", q)
    if len(first) != len(second):
        raise InvalidParameter("q", q, f"as long as p ({len(first)} outcomes)")
    return _listed(first, second), _listed(second, first)


def _distribution(name: str, masses: Any) -> list[Fraction]:
    if getattr(masses, "ndim", 1) != 1:
        raise InvalidParameter(name, f"an array of shape {masses.shape}", "one list of probabilities")
    listed = [check.within(f"{name}[{i}]", mass, 0, 1) for i, mass in enumerate(masses)]
    total = sum(listed, Fraction(0))
    if not abs(total - 1) <= _MISSING:
        raise InvalidParameter(name, float(total), "probabilities that sum to 1", "Add what is missing.")
    return [mass / total for mass in listed]


def _listed(p: list[Fraction], q: list[Fraction]) -> Atoms:
    infinite = sum((mass for mass, other in zip(p, q, strict=True) if mass and not other), Fraction(0))
    pairs = [(mass, other) for mass, other in zip(p, q, strict=True) if mass and other]
    logs = np.array([[_log(mass), _log(other)] for mass, other in pairs]).reshape(-1, 2)
    size = np.abs(logs).sum(axis=1) + 4
    values = logs[:, 0] - logs[:, 1] + size * ROUNDING
    slack = 2 * float(np.max(size, initial=0.0)) * ROUNDING
    worst = float(np.max(values, initial=-inf))
    bound = max(float(infinite) * (1 + ROUNDING), LEAST_MASS) if infinite else 0.0
    return on_values(values, logs[:, 0] + size * ROUNDING, worst, infinite=bound, slack=slack)


def _log(value: Fraction) -> float:
    """Return about ln of a positive rational, also where it is too small for a float."""
    shift = value.numerator.bit_length() - value.denominator.bit_length()
    scaled = value / 2**shift if shift >= 0 else value * 2**-shift
    return float(np.log(float(scaled)) + shift * np.log(2.0))
