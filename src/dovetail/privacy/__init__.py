"""What a release costs: the exact privacy loss, charges and budgets."""

from . import comparators  # noqa: F401 - tells how the losses of other kinds are computed
from .budget import Budget, Remaining
from .charge import ORDERS, Charge
from .clamped import clamped_loss
from .contribution import partitions, split_charge
from .loss import PrivacyLoss, privacy_loss
from .zeta import delta_from_zeta, equivalent_epsilon, published_zeta

__all__ = [
    "ORDERS",
    "Budget",
    "Charge",
    "PrivacyLoss",
    "Remaining",
    "clamped_loss",
    "delta_from_zeta",
    "equivalent_epsilon",
    "partitions",
    "privacy_loss",
    "published_zeta",
    "split_charge",
]
