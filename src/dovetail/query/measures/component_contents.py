"""Name what a released integer is, so that measures that release the same share it."""

from __future__ import annotations

import json

from dovetail.query.lattice import Lattice
from dovetail.query.partitions import Steps

COUNT = "number of rows"


def centred_sum(values: Lattice) -> str:
    """Name the sum of 2x - low - high over the rows of a cell."""
    return named("centred sum", values)


def named(what: str, values: Lattice | Steps) -> str:
    """Name something of the values of a column."""
    return f"{what} of {json.dumps(values.to_dict(), sort_keys=True)}"
