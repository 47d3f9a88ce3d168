"""Remember what was spent, durably and under concurrency."""

from __future__ import annotations

from dovetail.release.identity import source_name

from .account import DatasetAccount
from .budgets import ExPost
from .chain import Head
from .ledger import Ledger
from .location import default_path
from .registry import SharedBudget
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
