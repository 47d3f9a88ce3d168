"""Make a noisy histogram look like one: no negative counts, the noisy total kept."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor


def nearest_counts(counts: Sequence[int]) -> list[int]:
    """Return the non-negative whole numbers nearest to `counts` with the same total (0 if that is negative).

    The projection on the simplex takes one common amount off every cell and cuts at 0; what rounding leaves
    over goes to the largest fractions, the earlier cell first.

    >>> nearest_counts([10, -3, 5])
    [9, 0, 3]
    """
    total = max(sum(counts), 0)
    ordered = sorted(counts, reverse=True)
    running, shift = 0, Fraction(0)
    for number, count in enumerate(ordered, start=1):
        running += count
        amount = Fraction(running - total, number)
        if count <= amount:
            break
        shift = amount
    exact = [max(count - shift, Fraction(0)) for count in counts]
    if total == 0:
        return [0] * len(counts)
    whole = [floor(value) for value in exact]
    spare = sorted(range(len(counts)), key=lambda place: (whole[place] - exact[place], place))
    for place in spare[: total - sum(whole)]:
        whole[place] += 1
    return whole
