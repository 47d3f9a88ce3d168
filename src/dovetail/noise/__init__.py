"""What is added to an answer: piecewise noise on the integers and on the reals."""

from .constructors import Geometric, GeometricMixture, Laplace, LaplaceMixture, Staircase
from .gaussian import DiscreteGaussian
from .geometric import PiecewiseGeometric
from .integer import IntegerNoise
from .laplace import PiecewiseLaplace, RoundedLaplace
from .staircase import StaircaseNoise
from .storage import from_dict
from .symmetric import Noise
from .truncated import TruncatedGeometric, TruncatedLaplace

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
