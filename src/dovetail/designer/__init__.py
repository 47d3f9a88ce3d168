"""From the error you can live with to the noise and its price."""

from .comparison import Comparison, compare
from .designs import Design, Utility, design
from .estimates import Estimate, estimate
from .goal import Goal
from .rivals import Alternative

__all__ = [
    "Alternative",
    "Comparison",
    "Design",
    "Estimate",
    "Goal",
    "Utility",
    "compare",
    "design",
    "estimate",
]
