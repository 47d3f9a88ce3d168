"""The tables of one law: everything that is worth keeping of it between draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .blocks import Blocks
from .cdf_steps import CdfSteps
from .place_rejection import Checks
from .spans import Spans


class Tables(NamedTuple):
    """Everything that is worth keeping of a law between draws; they hold no random bit.

    The blocks before number `depth` are in the tables. `cells` leads from a 16-bit word to the lowest value
    of its block, or to the least integer of its type, `unset`, where the thresholds must be asked. A place
    there is read from a word of `place_kind`; the bits in `mask` count, or those in `cell_masks` where it
    depends on the block. A narrow law has no places. A draw begins with `draw_bytes` bytes.
    """

    blocks: Blocks
    depth: int
    steps: CdfSteps
    spans: Spans
    row_of_run: tuple[int, ...]
    checks: Checks
    cells: NDArray[Any]
    unset: int
    place_kind: np.dtype[Any] | None
    mask: int
    cell_masks: NDArray[Any] | None
    draw_bytes: int

    @property
    def nbytes(self) -> int:
        """The size of the tables."""
        masks = 0 if self.cell_masks is None else self.cell_masks.nbytes
        return self.cells.nbytes + masks + self.steps.nbytes + self.spans.nbytes
