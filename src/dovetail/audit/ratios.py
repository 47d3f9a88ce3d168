"""The probabilities of neighbouring values: their largest ratio and zeta, enclosed by balls.

Inside a run the ratio is exp(rate) everywhere, also in the endless tail, so only the joints between runs need
numbers. That a run is one is checked at its ends and at points between. A staircase repeats itself: only the
few values of a period where it falls lose anything. Any other law without runs is looked at from value to
value as far as its tables reach, and nothing is claimed beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from flint import arb

from dovetail.exact.balls import above, ball, precision
from dovetail.noise import StaircaseNoise
from dovetail.sampling.law import GeometricRun, Law

_BITS = 512
_CLOSE = Fraction(1, 1 << 128)
_POINTS = 24
_MOST_SCANNED = 400


@dataclass(frozen=True, slots=True)
class RatioBounds:
    """Bounds of the largest |ln p(k)/p(k+1)| and of zeta at sensitivity 1, from both sides."""

    worst: float
    least_worst: float
    zeta: float | None
    least_zeta: float | None
    findings: tuple[str, ...]


def ratios(law: Law, reach: int) -> RatioBounds:
    """Return bounds for a law; `reach` says how far to look where it has no runs."""
    with precision(_BITS + 64):
        if isinstance(law, StaircaseNoise) and law.runs is None:
            return _by_period(law)
        if law.runs is None:
            return _scanned(law, reach)
        if law.runs[-1].count is not None:
            # A value that can occur next to one that cannot.
            return RatioBounds(inf, inf, inf, inf, ())
        return _by_runs(law, law.runs)


def mass(law: Law, k: int) -> Any:
    """Return a ball around P(Y = k) for k >= 0."""
    with precision(_BITS + 64):
        after = law.tail_ball(k + 1, _BITS)
        return law.tail_ball(k, _BITS) - after if k else 1 - 2 * after


def _log_ratio(law: Law, k: int) -> Any:
    return (mass(law, k) / mass(law, k + 1)).log()


def _by_runs(law: Law, runs: tuple[GeometricRun, ...]) -> RatioBounds:
    findings = [
        f"the ratio at {k} is not exp({run.rate})"
        for run in runs
        for k in _points(run)
        if not _near(_log_ratio(law, k), run.rate)
    ]
    total = arb(0)
    sizes = []
    for number, run in enumerate(runs):
        last = None if run.count is None else run.start + run.count - 1
        if last is None or last > run.start:
            sizes.append(ball(run.rate))
            total += _inside(law, run, last) * ball(run.rate).exp()
        if last is not None:
            joint = _log_ratio(law, last)
            sizes.append(abs(joint))
            total += (mass(law, last) + mass(law, last + 1)) * abs(joint).exp()
            if runs[number + 1].start != last + 1:
                findings.append(f"the runs do not meet at {last}")
    zeta = total.log()
    worst = max(above(size) for size in sizes)
    least = max(-above(-size) for size in sizes)
    return RatioBounds(worst, least, above(zeta), -above(-zeta), tuple(findings))


def _inside(law: Law, run: GeometricRun, last: int | None) -> Any:
    """Return the sum of p(i) + p(i+1) over neighbours within a run, which tails give without any series."""
    start = run.start
    whole = law.tail_ball(start, _BITS) if start else (1 + mass(law, 0)) / 2
    if last is None:
        return 2 * whole - mass(law, start)
    return 2 * (whole - law.tail_ball(last + 1, _BITS)) - mass(law, start) - mass(law, last)


def _points(run: GeometricRun) -> Iterator[int]:
    """Give the first and the last pair of a run and some between, farther and farther apart."""
    length = 64 * (int(1 / run.rate) + 1) if run.count is None else run.count
    if length < 2:
        return
    for number in range(_POINTS):
        yield run.start + (length - 2) * number * number // (_POINTS - 1) ** 2


def _near(value: Any, rate: Fraction) -> bool:
    difference = value - ball(rate)
    return bool(difference.contains(0)) and bool(abs(difference) <= ball(rate * _CLOSE))


def _by_period(law: StaircaseNoise) -> RatioBounds:
    """Return bounds for a staircase: it is flat but for its falls, and period after period alike."""
    period, fall = law.sensitivity, (-ball(law.epsilon)).exp()
    falls = sorted({law.first - 1, period - 1})
    spread = {(period - 1) * number // _MOST_SCANNED for number in range(_MOST_SCANNED + 1)}
    flat = {k for edge in (0, *falls) for k in (edge - 1, edge + 1)} | spread
    findings = [
        f"the staircase is not flat at {k}"
        for k in sorted(k % period for k in flat)
        if k not in falls and not abs(_log_ratio(law, k)) <= ball(_CLOSE)
    ]
    findings += [
        f"the staircase does not repeat itself at {k}"
        for k in sorted({*(edge + 1 for edge in falls), *(number * period + 1 for number in range(_POINTS))})
        if not abs(law.tail_ball(k + period, _BITS) / law.tail_ball(k, _BITS) / fall - 1) <= ball(_CLOSE)
    ]
    sizes = [abs(_log_ratio(law, k)) for k in falls]
    # The sum of p(k) + p(k + 1) over k >= 0 is 1, and a fall adds to it what it loses.
    added = [(mass(law, k) + mass(law, k + 1)) * size.expm1() for k, size in zip(falls, sizes, strict=True)]
    zeta = (sum(added, arb(0)) / (1 - fall)).log1p()
    worst, least = max(above(size) for size in sizes), max(-above(-size) for size in sizes)
    return RatioBounds(worst, least, above(zeta), -above(-zeta), tuple(findings))


def _scanned(law: Law, reach: int) -> RatioBounds:
    points = range(0, reach, max(reach // _MOST_SCANNED, 1))
    least = max(-above(-abs(_log_ratio(law, k))) for k in points)
    return RatioBounds(inf, least, None, None, ())
