"""Remember what was spent, by whom, durably and under concurrency."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.engines.identity import source_name
from dovetail.lazy_names import lazy_names

if TYPE_CHECKING:
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

# name -> the module that defines it; a test checks it against the imports above.
_HOME = {
    "AboveBudget": "grants",
    "AnalystStatement": "analyst_statements",
    "Catalogue": "catalogue",
    "DatasetAccount": "account",
    "Entry": "catalogue",
    "ExPost": "budgets",
    "Grant": "grants",
    "Head": "chain",
    "Key": "keys",
    "Ledger": "ledger",
    "People": "people",
    "Principal": "principals",
    "SharedBudget": "registry",
    "Statement": "statement",
    "Vintage": "vintages",
    "default_path": "location",
}
__getattr__ = lazy_names(__name__, _HOME)

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
