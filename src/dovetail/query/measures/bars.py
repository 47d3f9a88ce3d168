"""Error bars, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
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
