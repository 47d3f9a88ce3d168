"""What a release costs: the exact privacy loss, charges and budgets."""

from .budget import Budget, Remaining
from .charge import ORDERS, Charge

__all__ = ["ORDERS", "Budget", "Charge", "Remaining"]
