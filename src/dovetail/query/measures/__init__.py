"""What is measured in each cell: one file for each measure, which owns all that is said of it elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dovetail.lazy_names import lazy_names

if TYPE_CHECKING:
    from .average import Average
    from .dispersion import Dispersion
    from .distinct import Distinct
    from .error_bars import Bar, half_width, shared_chance
    from .marginal_tables import MarginalTables
    from .measure import (
        Calibration,
        Cells,
        HeldParts,
        Measure,
        RowAggregate,
        RowCount,
        ValueCount,
        ValueSum,
        Way,
    )
    from .person_tally import PersonTally
    from .quantile_values import QuantileValues
    from .rank_counts import RankCounts
    from .registry import MEASURES, read_measure
    from .rows import Rows
    from .sensitivity import COUNTED, Component, Contribution, Move, Reach, Shift
    from .total import Total
    from .weighted import Weighted

# name -> the module that defines it; a test checks it against the imports above.
_HOME = {
    "COUNTED": "sensitivity",
    "MEASURES": "registry",
    "Average": "average",
    "Bar": "error_bars",
    "Calibration": "measure",
    "Cells": "measure",
    "Component": "sensitivity",
    "Contribution": "sensitivity",
    "Dispersion": "dispersion",
    "Distinct": "distinct",
    "HeldParts": "measure",
    "MarginalTables": "marginal_tables",
    "Measure": "measure",
    "Move": "sensitivity",
    "PersonTally": "person_tally",
    "QuantileValues": "quantile_values",
    "RankCounts": "rank_counts",
    "Reach": "sensitivity",
    "RowAggregate": "measure",
    "RowCount": "measure",
    "Rows": "rows",
    "Shift": "sensitivity",
    "Total": "total",
    "ValueCount": "measure",
    "ValueSum": "measure",
    "Way": "measure",
    "Weighted": "weighted",
    "half_width": "error_bars",
    "read_measure": "registry",
    "shared_chance": "error_bars",
}
__getattr__ = lazy_names(__name__, _HOME)

__all__ = [
    "COUNTED",
    "MEASURES",
    "Average",
    "Bar",
    "Calibration",
    "Cells",
    "Component",
    "Contribution",
    "Dispersion",
    "Distinct",
    "HeldParts",
    "MarginalTables",
    "Measure",
    "Move",
    "PersonTally",
    "QuantileValues",
    "RankCounts",
    "Reach",
    "RowAggregate",
    "RowCount",
    "Rows",
    "Shift",
    "Total",
    "ValueCount",
    "ValueSum",
    "Way",
    "Weighted",
    "half_width",
    "read_measure",
    "shared_chance",
]
