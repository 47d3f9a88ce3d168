"""Check a law that is drawn by rejection: from a proposal, of which some draws are rejected."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import singledispatch
from itertools import accumulate
from typing import Any

import numpy as np

from dovetail.exact.balls import ball, precision
from dovetail.noise import DiscreteGaussian, StaircaseNoise
from dovetail.sampling.law import GeometricRun, Law
from dovetail.sampling.rejection import RejectionSampler

from .ratios import mass

_BITS = 256
# Values at which probabilities are compared as balls, and those at which exponents are compared exactly.
_POINTS = 64
_EXPONENTS = 8192
# What the sampler allows its floats to err.
_FLOATS_ERR = 2.0**-40


@singledispatch
def potential(law: object, k: int) -> Fraction | None:
    """Return ln p(0)/p(k), written again for the audit; None for a law of which it is not known."""
    return None


@potential.register
def _(law: DiscreteGaussian, k: int) -> Fraction:
    return Fraction(k * k) / (2 * law.sigma * law.sigma)


@potential.register
def _(law: StaircaseNoise, k: int) -> Fraction:
    period, place = divmod(abs(k), law.sensitivity)
    return law.epsilon * (period + (place >= law.first))


def wrong_rejections(law: Law, tables: RejectionSampler) -> list[str]:
    """Proposal times chance of being kept must be the law, up to one factor, wherever it is looked at.

    The exponents are compared exactly at every value that the tables reach, or at thousands of them and at
    all joints, and as far again beyond; the floats that stand for them at the same values.
    """
    findings = []
    proposal = tables.inner.blocks.law
    target: object = tables.law
    if target != law or tables.law.proposal != proposal:
        findings.append("the rejection step is for another distribution")
    reach = tables.inner.blocks.begin(tables.inner.depth)
    points = sorted({reach * number**2 // _POINTS**2 for number in range(_POINTS)})
    with precision(_BITS):
        unit = _quotient(law, tables, 0)
        wrong = sum(not _same(_quotient(law, tables, k), unit) for k in points)
    if wrong:
        findings.append(f"the chance of being kept is wrong at {wrong} of {len(points)} values")
    return findings + _wrong_exponents(law, tables, _values(reach, proposal.runs or ()))


def _values(reach: int, runs: Iterable[GeometricRun]) -> list[int]:
    """Return the values at which exponents are compared."""
    joints = {run.start + near for run in runs for near in (-2, -1, 0, 1, 2)}
    step = max(1, -(-reach // _EXPONENTS))
    # A step that shares no factor with the lengths of runs and periods visits all places in them.
    even = range(0, 2 * reach, step if step == 1 else step | 1)
    return sorted({abs(k) for k in (*joints, *even)})


def _wrong_exponents(law: Law, tables: RejectionSampler, values: list[int]) -> list[str]:
    chosen = tables.law
    exact = [chosen.rejection_exponent(k) for k in values]
    findings = []
    if any(exponent < 0 for exponent in exact):
        findings.append("a chance of being kept is above 1")
    runs = tables.inner.blocks.law.runs
    if runs is not None and potential(law, 0) is not None:
        # Potential of the proposal, plus what rejecting adds, less that of the law: the same everywhere.
        sums = {
            proposed + exponent - (potential(law, k) or 0)
            for k, proposed, exponent in zip(values, _fallen(runs, values), exact, strict=True)
        }
        findings += ["the exponents of rejecting do not make the distribution"] * (len(sums) > 1)
    both = np.array([*values, *(-k for k in values)], np.int64)
    floats = np.asarray(chosen.rejection_exponents(both), np.float64)
    wanted = np.array([float(exponent) for exponent in exact] * 2)
    with np.errstate(invalid="ignore"):
        off = int(np.sum(np.abs(floats - wanted) > _FLOATS_ERR))
    return findings + [f"{off} chances of being kept are wrong as floats"] * bool(off)


def _fallen(runs: tuple[GeometricRun, ...], values: list[int]) -> list[Fraction]:
    """Return ln p(0)/p(k) of a law made of runs that meet, at ascending values."""
    lengths = [Fraction(run.count or 0) for run in runs]
    starts = [Fraction(0), *accumulate(run.rate * length for run, length in zip(runs, lengths, strict=True))]
    found, number = [], 0
    for k in values:
        while number + 1 < len(runs) and k >= runs[number + 1].start:
            number += 1
        found.append(starts[number] + runs[number].rate * (k - runs[number].start))
    return found


def _quotient(law: Law, tables: RejectionSampler, k: int) -> Any:
    kept = mass(tables.inner.blocks.law, k) * (-ball(tables.law.rejection_exponent(k))).exp()
    return kept / mass(law, k)


def _same(value: Any, other: Any) -> bool:
    return bool(value.overlaps(other)) and bool(abs(value - other) < other * ball(1) / (1 << 64))
