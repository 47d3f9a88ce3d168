"""What a release costs: the exact privacy loss, charges and budgets."""

from . import comparators  # noqa: F401 - tells how the losses of other kinds are computed
from .budget import Budget, Remaining
from .charge import ORDERS, Charge
from .loss import PrivacyLoss, privacy_loss

__all__ = ["ORDERS", "Budget", "Charge", "PrivacyLoss", "Remaining", "privacy_loss"]
