"""Every measure by the name of its kind: a new one is a file beside this and a line below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dovetail.errors import InvalidQuery
from dovetail.query.partitions import Axis

from .average import Average
from .dispersion import Dispersion
from .distinct import Distinct
from .marginal_tables import MarginalTables
from .measure import Measure
from .person_tally import PersonTally
from .quantile_values import QuantileValues
from .rank_counts import RankCounts
from .rows import Rows
from .total import Total
from .weighted import Weighted

MEASURES: dict[str, type[Measure]] = {
    measure.kind: measure
    for measure in (
        *(Rows, Distinct, Total, Average, Weighted, Dispersion, RankCounts, QuantileValues),
        *(MarginalTables, PersonTally),
    )
}


def read_measure(data: Mapping[str, Any], axes: tuple[Axis, ...] = ()) -> Measure:
    """Read what a measure wrote; `axes` are those of its question, the measure's own ones last.

    >>> read_measure({"count": "rows"})
    Rows()
    """
    try:
        kind = data["count"] if "count" in data else next(filter(MEASURES.__contains__, data))
        measure = MEASURES[kind].from_dict(data, axes)
    except (ArithmeticError, LookupError, StopIteration, TypeError, ValueError):
        measure = None
    if measure is None or measure.to_dict() != data:
        raise InvalidQuery("This measure is not known.", f"Known are {', '.join(MEASURES)}.")
    return measure
