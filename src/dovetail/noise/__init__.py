"""What is added to an answer: piecewise noise on the integers and on the reals."""

from .geometric import PiecewiseGeometric
from .integer import IntegerNoise
from .laplace import PiecewiseLaplace
from .named import Geometric, GeometricMixture, Laplace, LaplaceMixture
from .rounded import RoundedLaplace
from .storage import from_dict
from .symmetric import Noise

__all__ = [
    "Geometric",
    "GeometricMixture",
    "IntegerNoise",
    "Laplace",
    "LaplaceMixture",
    "Noise",
    "PiecewiseGeometric",
    "PiecewiseLaplace",
    "RoundedLaplace",
    "from_dict",
]
