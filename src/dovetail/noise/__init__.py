"""What is added to an answer: piecewise noise on the integers and on the reals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.lazy_names import lazy_names

if TYPE_CHECKING:
    from .constructors import Geometric, GeometricMixture, Laplace, LaplaceMixture, Staircase
    from .gaussian import DiscreteGaussian
    from .geometric import PiecewiseGeometric
    from .integer import IntegerNoise
    from .laplace import PiecewiseLaplace, RoundedLaplace
    from .staircase import StaircaseNoise
    from .storage import from_dict
    from .symmetric import Noise
    from .truncated import TruncatedGeometric, TruncatedLaplace

# name -> the module that defines it; a test checks it against the imports above.
_HOME = {
    "DiscreteGaussian": "gaussian",
    "Geometric": "constructors",
    "GeometricMixture": "constructors",
    "IntegerNoise": "integer",
    "Laplace": "constructors",
    "LaplaceMixture": "constructors",
    "Noise": "symmetric",
    "PiecewiseGeometric": "geometric",
    "PiecewiseLaplace": "laplace",
    "RoundedLaplace": "laplace",
    "Staircase": "constructors",
    "StaircaseNoise": "staircase",
    "TruncatedGeometric": "truncated",
    "TruncatedLaplace": "truncated",
    "from_dict": "storage",
}
__getattr__ = lazy_names(__name__, _HOME)

__all__ = [
    "DiscreteGaussian",
    "Geometric",
    "GeometricMixture",
    "IntegerNoise",
    "Laplace",
    "LaplaceMixture",
    "Noise",
    "PiecewiseGeometric",
    "PiecewiseLaplace",
    "RoundedLaplace",
    "Staircase",
    "StaircaseNoise",
    "TruncatedGeometric",
    "TruncatedLaplace",
    "from_dict",
]
