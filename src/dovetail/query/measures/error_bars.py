"""Error bars, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import expm1, log1p
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.noise import IntegerNoise


@dataclass(frozen=True, slots=True)
class Bar:
    """An error bar, exactly."""

    low: Fraction
    high: Fraction


@lru_cache(maxsize=1024)
def half_width(noise: IntegerNoise, chance: Fraction, cells: int) -> int:
    """Return the least t that all of `cells` independent noises stay within, but for `chance`."""
    return int(noise.error_bound(chance, cells))


def shared_chance(chance: Fraction, cells: int) -> Fraction:
    """Return the chance to miss that each of `cells` independent numbers may use; rounded down.

    >>> float(shared_chance(Fraction(19, 100), 2))  # 0.9 * 0.9 is 0.81
    0.0999999999999
    """
    if cells == 1 or chance >= 1:
        return chance
    return Fraction(-expm1(log1p(-float(chance)) / cells) * (1 - 1e-12))
