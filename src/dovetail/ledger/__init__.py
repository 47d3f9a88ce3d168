"""Remember what was spent, by whom, durably and under concurrency."""

from __future__ import annotations

from dovetail.engines.identity import source_name

from .account import DatasetAccount
from .analyst_statements import AnalystStatement
from .budgets import ExPost
from .catalogue import Catalogue, Entry
from .chain import Head
from .grants import AboveBudget, Grant
from .keys import Key
from .ledger import Ledger
from .location import default_path
from .people import People
from .principals import Principal
from .registry import SharedBudget
from .statement import Statement
from .vintages import Vintage

__all__ = [
    "AboveBudget",
    "AnalystStatement",
    "Catalogue",
    "DatasetAccount",
    "Entry",
    "ExPost",
    "Grant",
    "Head",
    "Key",
    "Ledger",
    "People",
    "Principal",
    "SharedBudget",
    "Statement",
    "Vintage",
    "default_path",
    "source_name",
]
