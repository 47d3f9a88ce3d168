"""How is an integer distribution drawn, exactly and fast?"""

from .bits import BitSource, Recording, System, experiment_bits, random_bytes
from .draws import draw, replay, sample
from .law import GeometricRun, Law

__all__ = [
    "BitSource",
    "GeometricRun",
    "Law",
    "Recording",
    "System",
    "draw",
    "experiment_bits",
    "random_bytes",
    "replay",
    "sample",
]
