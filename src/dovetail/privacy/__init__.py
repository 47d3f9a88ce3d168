"""What a release costs: the exact privacy loss, charges and budgets."""

from .budget import Budget, Remaining
from .charge import ORDERS, Charge
from .loss import PrivacyLoss, privacy_loss

__all__ = ["ORDERS", "Budget", "Charge", "PrivacyLoss", "Remaining", "privacy_loss"]
