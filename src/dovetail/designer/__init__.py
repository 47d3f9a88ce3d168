"""From the error you can live with to the noise and its price."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.lazy_names import lazy_names

if TYPE_CHECKING:
    from .alternatives import Alternative
    from .comparison import Comparison, compare
    from .designs import Design, Utility, design
    from .estimates import Estimate, estimate
    from .goal import Goal

# name -> the module that defines it; a test checks it against the imports above.
_HOME = {
    "Alternative": "alternatives",
    "Comparison": "comparison",
    "Design": "designs",
    "Estimate": "estimates",
    "Goal": "goal",
    "Utility": "designs",
    "compare": "comparison",
    "design": "designs",
    "estimate": "estimates",
}
__getattr__ = lazy_names(__name__, _HOME)

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
