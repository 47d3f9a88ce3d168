"""Is the sampler what the accounting says?"""

from .certificate import Certificate, sampler
from .statistics import Bound, goodness_of_fit, least_epsilon

__all__ = ["Bound", "Certificate", "goodness_of_fit", "least_epsilon", "sampler"]
