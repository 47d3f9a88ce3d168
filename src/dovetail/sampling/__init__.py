"""How is an integer distribution drawn, exactly and fast?"""

from .bits import Recording, Source, System, experiment_bits, random_bytes
from .draws import draw, replay, sample
from .law import Law, Run

__all__ = [
    "Law",
    "Recording",
    "Run",
    "Source",
    "System",
    "draw",
    "experiment_bits",
    "random_bytes",
    "replay",
    "sample",
]
