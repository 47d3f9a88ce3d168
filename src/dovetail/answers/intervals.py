"""From released integers to values and rigorous intervals on the analyst's scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dovetail.noise import IntegerNoise
from dovetail.query.canonical import Question
from dovetail.query.measures import Average, Lattice


@dataclass(frozen=True, slots=True)
class Bar:
    """An error bar, exactly."""

    low: Fraction
    high: Fraction


def values(question: Question, cells: Sequence[Sequence[int]], clamp: bool) -> list[Fraction]:
    """Return the noisy value of every cell.

    >>> from dovetail.query.measures import Rows
    >>> values(Question(Rows()), [(-3,)], clamp=True)
    [Fraction(0, 1)]
    """
    measure = question.measure
    if isinstance(measure, Average):
        return [_mean(measure.lattice, Fraction(total, max(count, 1))) for total, count in cells]
    found = [cell[0] * question.step for cell in cells]
    return [max(value, Fraction(0)) for value in found] if clamp else found


def bars(
    question: Question,
    noises: Sequence[IntegerNoise],
    cells: Sequence[Sequence[int]],
    level: Fraction,
    simultaneous: bool,
    clamp: bool,
) -> list[Bar]:
    """Return the interval of every cell: the chance to miss is at most 1 - level, for each or for all."""
    together = len(cells) if simultaneous else 1
    # A mean misses where its sum or its count does: each may use half of the chance.
    chance = (1 - level) / len(noises)
    widths = [half_width(noise, chance, together) for noise in noises]
    measure = question.measure
    if isinstance(measure, Average):
        return [_mean_bar(measure.lattice, cell, widths) for cell in cells]
    found = [
        Bar((cell[0] - widths[0]) * question.step, (cell[0] + widths[0]) * question.step) for cell in cells
    ]
    zero = Fraction(0)
    return [Bar(max(bar.low, zero), max(bar.high, zero)) for bar in found] if clamp else found


@lru_cache(maxsize=1024)
def half_width(noise: IntegerNoise, chance: Fraction, cells: int) -> int:
    """Return the least t that all of `cells` independent noises stay within, but for `chance`."""
    return int(noise.error_bound(chance, cells))


def _mean(lattice: Lattice, centred: Fraction) -> Fraction:
    """Return the mean, within its bounds, from the sum of 2x - low - high divided by the count."""
    point = (centred + lattice.low + lattice.high) / 2
    return min(max(point, Fraction(lattice.low)), Fraction(lattice.high)) * lattice.step


def _mean_bar(lattice: Lattice, cell: Sequence[int], widths: Sequence[int]) -> Bar:
    total, count = cell
    least, most = max(count - widths[1], 1), max(count + widths[1], 1)
    low, high = total - widths[0], total + widths[0]
    return Bar(
        _mean(lattice, Fraction(low, least if low < 0 else most)),
        _mean(lattice, Fraction(high, least if high > 0 else most)),
    )
