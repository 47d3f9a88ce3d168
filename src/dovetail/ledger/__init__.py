"""Remember what was spent, durably and under concurrency."""

from __future__ import annotations

from .account import DatasetAccount
from .book import Ledger
from .chain import Head
from .limits import ExPost
from .location import default_path, source_name
from .names import SharedBudget
from .statement import Statement

__all__ = [
    "DatasetAccount",
    "ExPost",
    "Head",
    "Ledger",
    "SharedBudget",
    "Statement",
    "default_path",
    "source_name",
]
