"""How is an integer distribution drawn, exactly and fast?"""

from .bits import experiment_bits, random_bytes
from .draws import replay, sample
from .law import Law, Run

__all__ = ["Law", "Run", "experiment_bits", "random_bytes", "replay", "sample"]
