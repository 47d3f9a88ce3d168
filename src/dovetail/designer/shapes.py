"""Shapes at unit scale that searches begin with: from the Gaussian's, for many uses, to one rate.

They are kept in `shapes.json`, which `make_shapes` writes; a test makes some of them again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class UnitShape:
    """Rates and breaks of variance 1 that are the best for a Rényi order of `tilt` times the scale."""

    tilt: float
    rates: Floats
    breaks: Floats

    def potential(self, x: Floats) -> Floats:
        """Return psi at positive x: the slope is the rate of each piece."""
        starts = np.append(0.0, self.breaks)
        levels = np.append(0.0, np.cumsum(self.rates[:-1] * np.diff(starts)))
        place = np.searchsorted(starts, x, side="right") - 1
        return np.asarray(levels[place] + self.rates[place] * (x - starts[place]))


@cache
def unit_shapes(pieces: int) -> tuple[UnitShape, ...]:
    """Return the shapes of so many pieces, the flattest tilt first.

    >>> [shape.tilt for shape in unit_shapes(2)][:3]
    [0.0, 0.25, 0.35]
    """
    listed = _kept()[str(pieces)]
    return tuple(UnitShape(one["tilt"], np.array(one["rates"]), np.array(one["breaks"])) for one in listed)


@cache
def _kept() -> dict[str, list[dict[str, Any]]]:
    kept: dict[str, list[dict[str, Any]]] = json.loads(files(__package__).joinpath("shapes.json").read_text())
    return kept
