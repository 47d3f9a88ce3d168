"""What a person costs who may touch several cells: the worst way to split what they contribute."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from dovetail import check
from dovetail.errors import InvalidParameter
from dovetail.noise import Noise

from .charge import Charge
from .loss import PrivacyLoss, privacy_loss

MOST_SPLITS = 200
_TOTAL = "Give by how much all cells together can move."


def split_losses(
    noise: Noise, *, cells: int, per_cell: int, total: int | None = None
) -> tuple[PrivacyLoss, ...]:
    """Return the losses among which the worst is, for a person in up to `cells` cells.

    A cell moves by at most `per_cell`, all cells together by at most `total`. What is promised to the person
    is the largest figure among the losses. Splits that could be enlarged are left out: larger is worse.
    Where there are more than `MOST_SPLITS` and the rates grow outward, one cell that takes the whole total
    dominates them all; with falling rates it does not, and the request is refused.

    >>> from dovetail.noise import Geometric
    >>> [loss.epsilon for loss in split_losses(Geometric(1), cells=2, per_cell=2, total=3)]
    [3.0]
    """
    count = check.integer("cells", cells, low=1, fix="Give max_cells.")
    cap = check.integer("per_cell", per_cell, low=1, fix="Give by how much one cell can move.")
    whole = count * cap
    budget = whole if total is None else check.integer("total", total, low=1, fix=_TOTAL)
    if whole <= budget:
        return (privacy_loss(noise, sensitivity=(cap,) * count),)
    splits = list(itertools.islice(partitions(budget, count, min(cap, budget)), MOST_SPLITS + 1))
    if len(splits) <= MOST_SPLITS:
        return tuple(privacy_loss(noise, sensitivity=split) for split in splits)
    rates = getattr(noise, "rates", ())
    if rates and all(near <= far for near, far in itertools.pairwise(rates)):
        return (privacy_loss(noise, sensitivity=budget),)
    raise InvalidParameter(
        "total",
        total,
        f"one that splits in at most {MOST_SPLITS} ways for noise whose rates fall outward",
        "Lower the bounds per person, or use noise whose rates grow outward.",
    )


def split_charge(noise: Noise, *, cells: int, per_cell: int, total: int | None = None) -> Charge:
    """Return the charge of the worst split: entry by entry the largest.

    >>> from dovetail.noise import Geometric
    >>> split_charge(Geometric(1), cells=3, per_cell=1).epsilon
    Decimal('3')
    """
    losses = split_losses(noise, cells=cells, per_cell=per_cell, total=total)
    return Charge.largest(*(loss.charge() for loss in losses))


def partitions(total: int, parts: int, largest: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to write `total` as at most `parts` falling whole numbers up to `largest`.

    >>> list(partitions(4, 2, 3))
    [(3, 1), (2, 2)]
    """
    if total == 0:
        yield ()
        return
    for first in range(min(total, largest), 0, -1):
        if first * parts < total:
            return
        for rest in partitions(total - first, parts - 1, first):
            yield (first, *rest)
