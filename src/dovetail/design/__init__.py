"""From the error you can live with to the noise and its price.

The package bears the name of its main function, so it can be called like it: `dovetail.design(epsilon=1)`
works whichever of the two an import has put there first.
"""

import sys
from types import ModuleType

from .comparison import Comparison, compare
from .designer import Design, Utility, design
from .goal import Goal
from .rivals import Alternative

__all__ = ["Alternative", "Comparison", "Design", "Goal", "Utility", "compare", "design"]


class _Callable(ModuleType):
    __call__ = staticmethod(design)


sys.modules[__name__].__class__ = _Callable
