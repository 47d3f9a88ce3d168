"""Which numbers to measure and how to combine them: sums of noises, trees, marginals, synthetic rows."""

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
