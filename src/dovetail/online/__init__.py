"""Answer very many counts from a public hypothesis; pay only for its updates.

The sparse vector technique decides, exactly and privately, whether a public guess is good enough; where it is
not, the truth is measured with noise and the hypothesis learns (private multiplicative weights).
"""

from .base_tables import Base, CountEstimate, base_strategy
from .guard import Guard, run_loss
from .hypothesis import Hypothesis
from .multiplicative_weights import Learner, Measurement
from .planner import OnlineDesign, design_online
from .region import Region
from .response_curve import ResponseCurve
from .run import OnlineAnswer, Run
from .sparse_vector import Outcome, SparseVector, Thresholds, measure, verdict

__all__ = [
    "Base",
    "CountEstimate",
    "Guard",
    "Hypothesis",
    "Learner",
    "Measurement",
    "OnlineAnswer",
    "OnlineDesign",
    "Outcome",
    "Region",
    "ResponseCurve",
    "Run",
    "SparseVector",
    "Thresholds",
    "base_strategy",
    "design_online",
    "measure",
    "run_loss",
    "verdict",
]
