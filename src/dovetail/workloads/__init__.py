"""Which numbers to measure and how to combine them: sums of noises, trees, marginals, synthetic rows."""

from .sums import NoiseSum, Term

__all__ = ["NoiseSum", "Term"]
