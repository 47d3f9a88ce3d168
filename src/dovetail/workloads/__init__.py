"""Which numbers to measure and how to combine them: sums of noises, trees, marginals, synthetic rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.lazy_names import lazy_names

if TYPE_CHECKING:
    from .dispersion import DispersionEstimates
    from .exponential_mechanism import QuantileChoice
    from .marginals import MarginalWorkload
    from .noise_sums import NoiseSum, Term
    from .planning import Candidate, plan
    from .ranges import Quantile, RangeEstimates
    from .ratios import Bounds, Ratios
    from .strategies import Strategy
    from .synthetic import consistent, fitted_joint, synthetic_rows
    from .tree_shapes import TreeShape, best_shapes, best_tree
    from .trees import Tree

# name -> the module that defines it; a test checks it against the imports above.
_HOME = {
    "Bounds": "ratios",
    "Candidate": "planning",
    "DispersionEstimates": "dispersion",
    "MarginalWorkload": "marginals",
    "NoiseSum": "noise_sums",
    "Quantile": "ranges",
    "QuantileChoice": "exponential_mechanism",
    "RangeEstimates": "ranges",
    "Ratios": "ratios",
    "Strategy": "strategies",
    "Term": "noise_sums",
    "Tree": "trees",
    "TreeShape": "tree_shapes",
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
    "DispersionEstimates",
    "MarginalWorkload",
    "NoiseSum",
    "Quantile",
    "QuantileChoice",
    "RangeEstimates",
    "Ratios",
    "Strategy",
    "Term",
    "Tree",
    "TreeShape",
    "best_shapes",
    "best_tree",
    "consistent",
    "fitted_joint",
    "plan",
    "synthetic_rows",
]
