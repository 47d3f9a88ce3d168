"""What a release costs: the exact privacy loss, charges and budgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.lazy_names import lazy_names

from .budget import Budget, Remaining
from .charge import ORDERS, Charge

if TYPE_CHECKING:
    from .clamped import clamped_loss
    from .contribution import partitions, split_charge
    from .loss import PrivacyLoss, privacy_loss
    from .zeta import delta_from_zeta, equivalent_epsilon, published_zeta

# name -> the module that defines it; a test checks it against the imports above.
_HOME = {
    "PrivacyLoss": "loss",
    "clamped_loss": "clamped",
    "delta_from_zeta": "zeta",
    "equivalent_epsilon": "zeta",
    "partitions": "contribution",
    "privacy_loss": "loss",
    "published_zeta": "zeta",
    "split_charge": "contribution",
}
__getattr__ = lazy_names(__name__, _HOME)

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
