"""Let numbers out: noise is added, then the result is stored. Nothing leaves here without noise."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dovetail.answers.threshold import Threshold
from dovetail.noise import IntegerNoise
from dovetail.privacy import Charge
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import MOST_CELLS, Constant, written
from dovetail.query.measures import Component
from dovetail.query.partitions import Cell, Discovered
from dovetail.sampling import sample


@dataclass(frozen=True, slots=True)
class ReleasedCells:
    """The noisy integers of each cell and, where the question does not list its cells, which they are."""

    cells: tuple[tuple[int, ...], ...]
    found: tuple[Cell, ...] | None = None


def noised(
    true: Sequence[Sequence[int]], components: Sequence[Component], noises: Sequence[IntegerNoise]
) -> ReleasedCells:
    """Add noise to the integers of every public cell: those of each component, one after another."""
    if isinstance(true[0], np.ndarray):
        return ReleasedCells(tuple(_noised_array(np.asarray(true), components, noises)))
    columns: list[list[int]] = []
    for component, noise in zip(components, noises, strict=True):
        drawn = draws(noise, len(true) * component.parts)
        columns += [drawn[part :: component.parts] for part in range(component.parts)]
    cells = tuple(
        tuple(value + more for value, more in zip(cell, extra, strict=True))
        for cell, extra in zip(true, zip(*columns, strict=True), strict=True)
    )
    return ReleasedCells(cells)


def _noised_array(
    true: NDArray[np.int64], components: Sequence[Component], noises: Sequence[IntegerNoise]
) -> Iterator[tuple[int, ...]]:
    """Yield the noisy integers of each cell, drawn as arrays; Python adds where 64 bits could overflow."""
    blocks = [
        sample(noise, (len(true), component.parts))
        for component, noise in zip(components, noises, strict=True)
    ]
    drawn = np.concatenate(blocks, axis=1)
    if max(abs(int(end(part))) for part in (true, drawn) for end in (np.min, np.max)) < 2**62:
        yield from map(tuple, (true + drawn).tolist())
    else:
        for cell, more in zip(true.tolist(), drawn.tolist(), strict=True):
            yield tuple(map(add, cell, more))


def discovered(
    held: Iterable[Sequence[tuple[Any, ...]]],
    read: Callable[[tuple[Any, ...]], Cell | None],
    noise: IntegerNoise,
    threshold: Threshold,
) -> ReleasedCells:
    """Add noise to every cell that rows are in, and let those out that reach the threshold.

    `held` gives rows with the count last, and `read` the cell of one. The cells come out in the order of
    their keys, as any other order could tell something about the rows. If there are more than an answer
    holds, the largest stay: their noisy counts decide, so that is post-processing.
    """
    kept: list[tuple[Cell, int]] = []
    for rows in held:
        drawn = draws(noise, len(rows))
        for row, more in zip(rows, drawn, strict=True):
            count = int(row[-1]) + more
            # Nearly all rare keys end here, before anything is made of them.
            if count >= threshold.least and (cell := read(row)) is not None:
                kept.append((cell, count))
    kept.sort(key=lambda pair: _order(pair[0]))
    if len(kept) > MOST_CELLS:
        largest = sorted(range(len(kept)), key=lambda place: -kept[place][1])[:MOST_CELLS]
        kept = [kept[place] for place in sorted(largest)]
    return ReleasedCells(tuple((count,) for _, count in kept), tuple(cell for cell, _ in kept))


def _order(cell: Cell) -> tuple[Any, ...]:
    """Put missing values last."""
    return tuple((key is None, 0 if key is None else key) for key in cell)


def write_released(released: Sequence[ReleasedCells], charge: Charge) -> str:
    """Return what the ledger stores of an answer."""
    stored: dict[str, Any] = {"cells": [each.cells for each in released], "charge": charge.to_units()}
    if any(each.found is not None for each in released):
        stored["found"] = [
            None if each.found is None else [list(map(written, cell)) for cell in each.found]
            for each in released
        ]
    return json.dumps(stored)


def read_released(text: str, questions: Sequence[CheckedQuery]) -> list[ReleasedCells]:
    """Read what `write_released` wrote for these questions."""
    stored = json.loads(text)
    all_keys = stored.get("found", [None] * len(questions))
    return [
        ReleasedCells(
            tuple(map(tuple, cells)),
            None if keys is None else tuple(_read_cell(question, cell) for cell in keys),
        )
        for question, cells, keys in zip(questions, stored["cells"], all_keys, strict=True)
    ]


def _read_cell(question: CheckedQuery, cell: Sequence[Any]) -> Cell:
    def read(axis: object, key: Any) -> Constant | None:
        return axis.field.constant(key) if isinstance(axis, Discovered) and key is not None else key

    return tuple(read(axis, key) for axis, key in zip(question.axes, cell, strict=True))


def draws(noise: IntegerNoise, count: int) -> list[int]:
    """Draw noise for `count` cells with fresh bits: nothing that a release draws lay in memory before."""
    drawn: list[int] = sample(noise, count).tolist()
    return drawn
