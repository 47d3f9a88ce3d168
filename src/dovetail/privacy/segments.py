"""The loss of a shift: two log-linear laws side by side, cut wherever either changes its slope.

On each segment ln p and ln q are linear, so the loss is constant (one atom, a geometric sum) or linear.
A short run is listed value by value. A long one is cut into buckets, and each bucket is replaced by its two
ends with the same mass under P and under Q: that dominates it, as in `atoms.spread`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, expm1, inf, isinf, log

import numpy as np
from flint import arb

from dovetail.exact import Decay, Slab, nearest, upper

from .atoms import (
    LEAST_MASS,
    ROUNDING,
    Atoms,
    Floats,
    Ints,
    LossRanges,
    common_unit,
    log_expm1,
    on_steps,
    on_values,
)

MOST_LISTED = 4096
_EVEN_BUCKETS = 2048
_EDGE_BUCKETS = 400


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the line where ln p(x) = intercept + slope·x + log_factor (unnormalised).

    Both ends belong to a piece of integers; None is an endless side. `slabs` make the factor exactly.
    """

    low: Fraction | None
    high: Fraction | None
    slope: Fraction
    intercept: Fraction
    log_factor: float
    slabs: tuple[Slab, ...] = ()

    def moved(self, shift: Fraction) -> Piece:
        """Return the piece of the law moved to the right by `shift`."""
        return Piece(
            None if self.low is None else self.low + shift,
            None if self.high is None else self.high + shift,
            self.slope,
            self.intercept - self.slope * shift,
            self.log_factor,
            self.slabs,
        )


@dataclass(frozen=True, slots=True)
class PieceOverlap:
    """Where one piece of P meets one piece of Q; `q` is None where Q gives nothing."""

    low: Fraction | None
    high: Fraction | None
    p: Piece
    q: Piece | None

    @property
    def rational(self) -> bool:
        """Whether the factors cancel, so that losses are rational."""
        return self.q is not None and self.p.slabs == self.q.slabs


def pieces(decay: Decay) -> list[Piece]:
    """Return the whole line from left to right, from the stretches of the right half."""
    right, left = [], []
    last = Fraction(1 if decay.whole else 0)
    for stretch in decay.stretches:
        log_factor = nearest(lambda s=stretch: s.factor().log()) if stretch.slabs else 0.0  # type: ignore[misc]
        intercept = stretch.rate * stretch.start - stretch.level
        high = None if stretch.end is None else stretch.end - last
        right.append(Piece(stretch.start, high, -stretch.rate, intercept, log_factor, stretch.slabs))
        near = -max(stretch.start, last)
        far = None if high is None else -high
        if far is None or far < near or (far == near and decay.whole):
            left.append(Piece(far, near, stretch.rate, intercept, log_factor, stretch.slabs))
    return left[::-1] + right


def segments(law: list[Piece], shift: Fraction, *, whole: bool) -> list[PieceOverlap]:
    """Cut the line into the pieces of the law (P) and of the law moved by `shift` (Q)."""
    overlaps: list[PieceOverlap] = []
    others, first = [piece.moved(shift) for piece in law], 0
    for p in law:
        # Both laws run from left to right: what ended before this piece is over for good.
        while first < len(others) and _ends_before(others[first], p):
            first += 1
        for q in others[first:]:
            if _ends_before(p, q):
                break
            low, high = _later(p.low, q.low), _sooner(p.high, q.high)
            if low is not None and high is not None and (low > high if whole else low >= high):
                continue
            overlaps.append(PieceOverlap(low, high, p, q))
        overlaps.extend(_uncovered(p, law, shift, whole=whole))
    return overlaps


def _ends_before(one: Piece, other: Piece) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low


def _uncovered(p: Piece, law: list[Piece], shift: Fraction, *, whole: bool) -> list[PieceOverlap]:
    """Return the parts of `p` outside the support of Q: infinite loss."""
    first, last = law[0].low, law[-1].high
    gap = Fraction(1 if whole else 0)
    parts = []
    if first is not None and p.low is not None and p.low < first + shift:
        parts.append(PieceOverlap(p.low, _sooner(p.high, first + shift - gap), p, None))
    if last is not None and p.high is not None and p.high > last + shift:
        parts.append(PieceOverlap(_later(p.low, last + shift + gap), p.high, p, None))
    return parts


@dataclass(frozen=True, slots=True)
class Merged:
    """All outcomes up to `floor` are shown as one; its probabilities under P and under Q."""

    floor: int
    p: Callable[[], arb]
    q: Callable[[], arb]

    def cut(self, segments: list[PieceOverlap]) -> list[PieceOverlap]:
        """Return what lies above the floor."""
        least = Fraction(self.floor + 1)
        return [
            PieceOverlap(_later(s.low, least), s.high, s.p, s.q)
            for s in segments
            if s.high is None or s.high >= least
        ]

    def atom(self) -> tuple[Floats, Floats]:
        """Return the loss of the merged outcome and the log of its mass, rounded up."""
        value, mass = upper(lambda: (self.p() / self.q()).log()), upper(lambda: self.p().log())
        return np.array([value]), np.array([mass])


def shift_loss(decay: Decay, shift: Fraction, merged: Merged | None = None) -> Atoms:
    """Return the loss between a law and itself moved by `shift`; by symmetry both directions are alike."""
    law = pieces(decay)
    cut = segments(law, shift, whole=decay.whole)
    cut = cut if merged is None else merged.cut(cut)
    log_total = nearest(lambda: decay.total().log())
    losses = [segment for segment in cut if segment.q is not None]
    infinite = _infinite_mass([segment for segment in cut if segment.q is None], decay, log_total)
    if not losses:
        return on_values(np.empty(0), np.empty(0), inf, infinite=1.0)
    unit = _unit(losses) if decay.whole and merged is None else None
    listed = [_atoms(segment, decay, log_total) for segment in losses]
    parts, slack = _values(losses, listed)
    ranges = _ranges(listed, parts, slack)
    masses = np.concatenate([run.log_masses for run in listed])
    kept = masses > -inf
    if unit is not None:
        steps = np.concatenate([_in_units(run, unit) for run in listed])
        return replace(on_steps(steps[kept], masses[kept], unit, infinite), ranges=ranges)
    worst = _worst(losses, listed, parts)
    values, masses = np.concatenate(parts)[kept], masses[kept]
    if merged is not None:
        value, mass = merged.atom()
        values, masses, slack = np.append(values, value), np.append(masses, mass), slack + 2.0**-48
        worst = max(worst, float(value[0]))
        ranges = None if ranges is None else ranges.joined(LossRanges(value - 2.0**-48, value, mass))
    return replace(on_values(values, masses, worst, infinite=infinite, slack=slack), ranges=ranges)


@dataclass(frozen=True, slots=True, eq=False)
class LossRun:
    """The losses of one segment: base + growth·places, with the logs of their masses.

    Of a run cut into buckets, the places are first all ends of low loss and then all ends of high loss.
    """

    base: Fraction
    growth: Fraction
    places: Floats | Ints
    log_masses: Floats
    bucketed: bool = False


def _atoms(segment: PieceOverlap, decay: Decay, log_total: float) -> LossRun:
    p, q = segment.p, segment.q
    assert q is not None
    growth = p.slope - q.slope
    anchor = segment.low if segment.low is not None else segment.high
    assert anchor is not None
    base = (p.intercept - q.intercept) + growth * anchor
    if growth == 0 or segment.low == segment.high:
        return LossRun(base, growth, np.zeros(1, np.int64), np.array([_log_mass(segment, decay, log_total)]))
    assert segment.low is not None
    assert segment.high is not None
    start = float(p.intercept + p.slope * segment.low) + p.log_factor - log_total
    length = segment.high - segment.low
    pad = (abs(start) + abs(log_total) + abs(p.log_factor) + 32) * ROUNDING
    if decay.whole and length < MOST_LISTED:
        places = np.arange(int(length) + 1)
        drift = float(p.slope) * places
        return LossRun(base, growth, places, start + drift + np.abs(drift) * ROUNDING + pad)
    ends, masses = _buckets(float(p.slope), float(q.slope), length, whole=decay.whole)
    return LossRun(base, growth, ends, masses + start + pad, bucketed=True)


def _buckets(
    slope_p: float, slope_q: float, length: Fraction, *, whole: bool
) -> tuple[Floats | Ints, Floats]:
    """Return bucket ends, as distances from the start, and the log P-mass given to each."""
    edges = _edges(length, whole=whole)
    first, last = edges[:-1], edges[1:] - (1 if whole else 0)
    count = (last - first + 1 if whole else last - first).astype(np.float64)
    growth = slope_p - slope_q
    width = np.asarray(abs(growth) * (last - first), np.float64)
    sum_p, sum_q = _log_sums(slope_p, count, whole=whole), _log_sums(slope_q, count, whole=whole)
    # ln E_P exp(L_high - L) inside the bucket; it fixes the share that the low end must take.
    lead = np.asarray((width if growth > 0 else 0.0) + sum_q - sum_p)
    lead = np.maximum(lead - (np.abs(sum_p) + np.abs(sum_q) + width + 16) * ROUNDING, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_share = np.minimum(log_expm1(lead) - log_expm1(width), 0.0)
        log_share = np.where(width > 0, log_share, -inf)
        log_rest = np.log(-np.expm1(log_share))
    drift = slope_p * first
    mass = drift + sum_p + (np.abs(drift) + np.abs(sum_p) + 16) * ROUNDING
    low, high = (first, last) if growth > 0 else (last, first)
    return np.concatenate([low, high]), np.concatenate([mass + log_share, mass + log_rest])


def _edges(length: Fraction, *, whole: bool) -> Floats | Ints:
    """Return bucket edges: even ones, and finer ones towards both ends, where tails may sit."""
    size = float(length)
    even = np.linspace(0.0, size, _EVEN_BUCKETS + 1)
    fine = np.geomspace(min(1.0, size) if whole else size * 1e-12, size, _EDGE_BUCKETS)
    edges = np.concatenate([even, fine, size - fine])
    if not whole:
        return np.unique(np.clip(edges, 0.0, size))
    count = int(length) + 1
    return np.unique(np.append(np.clip(edges, 0, count - 1).astype(np.int64), count))


def _log_sums(slope: float, count: Floats, *, whole: bool) -> Floats:
    """Return ln of the sum (or integral) of exp(slope·j) over j from 0, `count` long."""
    top = np.where(slope > 0, slope * (count - 1 if whole else count), 0.0)
    unit = -expm1(-abs(slope)) if whole else abs(slope)
    return np.asarray(top + np.log(-np.expm1(-abs(slope) * count)) - log(unit))


def _log_mass(segment: PieceOverlap, decay: Decay, log_total: float) -> float:
    """Return an upper bound on the log of the mass of a segment, anchored at its heavier end."""
    p = segment.p
    anchor = segment.low if p.slope < 0 or segment.high is None else segment.high
    assert anchor is not None
    exponent = float(p.intercept + p.slope * anchor)
    rate = float(abs(p.slope))
    extent = inf
    if segment.low is not None and segment.high is not None:
        extent = float(abs(p.slope) * (segment.high - segment.low + (1 if decay.whole else 0)))
    unit = -expm1(-rate) if decay.whole else rate
    spread = (0.0 if isinf(extent) else log(-expm1(-extent))) - log(unit)
    total = exponent + p.log_factor - log_total + spread
    return total + (abs(exponent) + abs(p.log_factor) + abs(log_total) + abs(spread) + 16) * ROUNDING


def _infinite_mass(segments: list[PieceOverlap], decay: Decay, log_total: float) -> float:
    """Return an upper bound on the mass that Q cannot give; never 0 where there is some."""
    if not segments:
        return 0.0
    mass = sum(exp(_log_mass(segment, decay, log_total)) for segment in segments) * (1 + 64 * ROUNDING)
    return max(mass, LEAST_MASS)


def _unit(losses: list[PieceOverlap]) -> Fraction | None:
    """Return the common unit of all losses, if the factors cancel everywhere."""
    numbers = []
    for segment in losses:
        assert segment.q is not None
        if not segment.rational:
            return None
        anchor = segment.low if segment.low is not None else segment.high
        assert anchor is not None
        growth = segment.p.slope - segment.q.slope
        numbers += [segment.p.intercept - segment.q.intercept + growth * anchor, growth]
    return common_unit(numbers)


def _in_units(run: LossRun, unit: Fraction) -> Ints:
    return int(run.base / unit) + int(run.growth / unit) * run.places.astype(np.int64)


def _ranges(listed: list[LossRun], values: list[Floats], slack: float) -> LossRanges | None:
    """Return the ranges that bucketed runs stand for, and every other loss as it is; None without buckets."""
    if not any(run.bucketed for run in listed):
        return None
    low, high, masses = [], [], []
    for run, listed_values in zip(listed, values, strict=True):
        middle = len(listed_values) // 2 if run.bucketed else 0
        low.append(listed_values[:middle] if run.bucketed else listed_values)
        high.append(listed_values[middle:])
        both = np.logaddexp(run.log_masses[:middle], run.log_masses[middle:]) if run.bucketed else None
        masses.append(run.log_masses if both is None else both + 4 * ROUNDING)
    return LossRanges(np.concatenate(low) - slack, np.concatenate(high), np.concatenate(masses))


def _values(losses: list[PieceOverlap], listed: list[LossRun]) -> tuple[list[Floats], float]:
    """Return the losses of each segment as floats rounded up, and by how much they may be too large."""
    parts: list[Floats] = []
    slack = 0.0
    for segment, run in zip(losses, listed, strict=True):
        assert segment.q is not None
        base, growth, places = run.base, run.growth, run.places
        factors = 0.0 if segment.rational else segment.p.log_factor - segment.q.log_factor
        value = float(base) + factors + float(growth) * places
        size = abs(segment.p.log_factor) + abs(segment.q.log_factor) + abs(float(base))
        pad = (size + np.abs(value) + float(abs(growth)) * places) * ROUNDING
        if len(places) > 1 or not segment.rational:
            value, slack = value + pad, max(slack, 4 * float(np.max(pad)) + 2.0**-44)
        else:
            value = np.nextafter(value, inf)
            slack = max(slack, 2 * float(np.max(np.abs(value))) * ROUNDING)
        parts.append(np.asarray(value))
    return parts, slack


def _worst(losses: list[PieceOverlap], listed: list[LossRun], values: list[Floats]) -> Fraction | float:
    """Return the largest loss: exactly where it is rational, rounded up where it is not.

    Factors differ only between cells of rounded noise, of which one that a steep piece just touches can
    pass every rational loss by less than floats tell.
    """
    candidates: list[Fraction | float] = []
    for segment, run, rounded in zip(losses, listed, values, strict=True):
        if not segment.rational:
            candidates.append(float(np.max(rounded)))
            continue
        candidates.append(run.base)
        if run.growth and segment.low is not None and segment.high is not None:
            candidates.append(run.base + run.growth * (segment.high - segment.low))
    return max(candidates)


def _later(one: Fraction | None, two: Fraction | None) -> Fraction | None:
    return two if one is None else one if two is None else max(one, two)


def _sooner(one: Fraction | None, two: Fraction | None) -> Fraction | None:
    return two if one is None else one if two is None else min(one, two)
