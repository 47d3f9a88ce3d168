"""Runs of online multiplicative weights on the Adult data: two kinds of noise, the same questions.

Domain D1 of the designs: five columns, 4,032 cells. A question counts the records that meet conditions on
three of them: the value of a random record, and each other value with an even chance. Noise comes from
recorded bits, so a run can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

import dovetail as dv

from .adult import whole_numbers

COLUMNS = ("workclass", "education", "marital_status", "sex", "income")
CONDITIONS = 3
QUESTIONS = 1000
# Two words a test, a draw or two for a firing, and room to spare.
_BITS_PER_QUESTION = 96


@dataclass(frozen=True, slots=True, eq=False)
class ContingencyTable:
    """The contingency table of the chosen columns, and the codes of every record."""

    table: NDArray[np.int64]
    codes: NDArray[np.int64]

    @property
    def records(self) -> int:
        """The number of records."""
        return int(self.codes.shape[1])

    def count(self, region: dv.online.Region) -> int:
        """Return the true count of a region."""
        mask = region.over(region.axes)
        others = tuple(axis for axis in range(self.table.ndim) if axis not in region.axes)
        return int(np.sum(self.table.sum(axis=others), where=mask if mask is not None else True))


@cache
def domain() -> ContingencyTable:
    """Read the data that ship with the package."""
    import pyarrow.parquet

    read = pyarrow.parquet.read_table(dv.datasets.adult().data, columns=list(COLUMNS))
    codes = np.array(
        [read[name].combine_chunks().dictionary_encode().indices.to_numpy() for name in COLUMNS], np.int64
    )
    shape = tuple(int(row.max()) + 1 for row in codes)
    table = np.bincount(np.ravel_multi_index(tuple(codes), shape), minlength=int(np.prod(shape)))
    return ContingencyTable(table.reshape(shape), codes)


def questions(seed: int, number: int = QUESTIONS) -> list[dv.online.Region]:
    """Return repeatable random questions.

    >>> len(questions(1, 2)), questions(1, 2)[0].axes == questions(1, 3)[0].axes
    (2, True)
    """
    whole = domain()
    shape = whole.table.shape
    order = whole_numbers(seed, "columns", 2**32, number * len(shape)).reshape(number, -1)
    records = whole_numbers(seed, "records", whole.records, number)
    coins = whole_numbers(seed, "values", 2, number * sum(shape)).reshape(number, -1)
    starts = np.cumsum((0, *shape))
    found = []
    for ranks, record, flips in zip(order, records, coins, strict=True):
        masks = {}
        for axis in sorted(int(each) for each in np.argsort(ranks, kind="stable")[:CONDITIONS]):
            mask = flips[starts[axis] : starts[axis + 1]] == 1
            mask[whole.codes[axis, record]] = True
            masks[axis] = mask
        found.append(dv.online.Region.product(shape, masks))
    return found


@dataclass(frozen=True, slots=True)
class Result:
    """What one run gave: how often it updated, how many questions it answered, and its errors."""

    updates: int
    answered: int
    mean_error: float
    largest_error: float


Checked = Callable[[int, int], tuple[bool, int | None]]
"""(truth, guess) -> whether an update is due, and the noisy answer that is released then."""


def simulate(seed: int, regions: list[dv.online.Region], guard: dv.online.Guard) -> Result:
    """Ask questions until they or the updates run out; the guard decides when to update."""
    source = _source(seed, len(regions))
    run = dv.online.SparseVector.opened(guard, source)

    def checked(truth: int, guess: int) -> tuple[bool, int | None]:
        if not run.left:
            raise StopIteration
        outcome = run.ask(truth, guess, source)
        return bool(outcome.sign), outcome.measured

    noise = guard.answer_noise
    assert noise is not None
    total = domain().records + dv.sampling.draw(noise, source)
    return _play(regions, checked, total, noise.std())


def simulate_textbook(
    seed: int, regions: list[dv.online.Region], noise: dv.noise.IntegerNoise, distance: int
) -> Result:
    """Ask all questions as the first algorithm did: update where the noisy answer is far from the guess.

    The noise that was tested is released, so no price of the noise alone covers the transcript.
    """
    source = _source(seed, len(regions))

    def checked(truth: int, guess: int) -> tuple[bool, int | None]:
        noisy = truth + dv.sampling.draw(noise, source)
        return abs(noisy - guess) > distance, noisy

    total = domain().records + dv.sampling.draw(noise, source)
    return _play(regions, checked, total, noise.std())


def _source(seed: int, number: int) -> dv.sampling.BitSource:
    return dv.sampling.Recording(dv.sampling.experiment_bits(seed, (number + 20) * _BITS_PER_QUESTION))


def _play(regions: list[dv.online.Region], checked: Checked, total: int, deviation: float) -> Result:
    whole = domain()
    learner = dv.online.Learner(dv.online.Hypothesis.uniform(whole.table.shape, total))
    errors, updates = [], 0
    for region in regions:
        truth, answer = whole.count(region), learner.guess(region)
        try:
            due, measured = checked(truth, answer)
        except StopIteration:
            break
        if due and measured is not None:
            learner.learn(dv.online.Measurement(region, measured, deviation))
            answer = measured
            updates += 1
        errors.append(abs(answer - truth))
    return Result(updates, len(errors), float(np.mean(errors)), float(np.max(errors)))
