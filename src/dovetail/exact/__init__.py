"""What number is this, precisely? Rigorous enclosures and exact sums."""

from .balls import above, ball, float_down, float_up, lower, nearest, precision, refined, upper
from .decay import Decay, Slab, Stretch
from .potential import Potential

__all__ = [
    "Decay",
    "Potential",
    "Slab",
    "Stretch",
    "above",
    "ball",
    "float_down",
    "float_up",
    "lower",
    "nearest",
    "precision",
    "refined",
    "upper",
]
