"""Which numbers to measure and how to combine them: sums of noises, trees, marginals, synthetic rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.lazy_names import lazy_names

if TYPE_CHECKING:
    from .exponential import QuantileChoice
    from .marginals import Marginals
    from .planning import Candidate, plan
    from .ranges import Quantile, Ranges
    from .ratios import Bounds, Ratios
    from .spread import Spread
    from .strategies import Strategy
    from .sums import NoiseSum, Term
    from .synthetic import consistent, fitted_joint, synthetic_rows
    from .tree_shapes import Shape, best_shapes, best_tree
    from .trees import Tree

# name -> the module that defines it; a test checks it against the imports above.
_HOME = {
    "Bounds": "ratios",
    "Candidate": "planning",
    "Marginals": "marginals",
    "NoiseSum": "sums",
    "Quantile": "ranges",
    "QuantileChoice": "exponential",
    "Ranges": "ranges",
    "Ratios": "ratios",
    "Shape": "tree_shapes",
    "Spread": "spread",
    "Strategy": "strategies",
    "Term": "sums",
    "Tree": "trees",
    "best_shapes": "tree_shapes",
    "best_tree": "tree_shapes",
    "consistent": "synthetic",
    "fitted_joint": "synthetic",
    "plan": "planning",
    "synthetic_rows": "synthetic",
}
__getattr__ = lazy_names(__name__, _HOME)

__all__ = [
    "Bounds",
    "Candidate",
    "Marginals",
    "NoiseSum",
    "Quantile",
    "QuantileChoice",
    "Ranges",
    "Ratios",
    "Shape",
    "Spread",
    "Strategy",
    "Term",
    "Tree",
    "best_shapes",
    "best_tree",
    "consistent",
    "fitted_joint",
    "plan",
    "synthetic_rows",
]
