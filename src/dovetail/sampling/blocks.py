"""Cut the integers into blocks of 2^m values, so that wide noise is a narrow law of blocks and a place.

Inside a run the weights fall by a constant factor. A block lies in one run and is so short that they hardly
fall from its first value to its last: the place of a draw in its block is all but uniform. A run whose length
is no multiple of 2^m ends in smaller blocks, one for each binary digit of what is left.

Blocks are numbered like noise: 0 is {0}, block j > 0 lies right of it, block -j is its mirror image. So the
blocks of a law are themselves a symmetric law on the integers, and narrow noise is the case of blocks of one.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import Any, NamedTuple

from dovetail.errors import InvalidParameter

from .law import GeometricRun, Law

DEPTH = 32
"""Tables end where what lies beyond has a probability below 2^-32; such draws take the slowest way."""

# Blocks per unit of a run's scale are at least this many and less than twice as many. With fewer, more places
# are checked; with more, more words have a cell that is cut. Either way it is 3 % of all.
_GRAIN = 45
# Without runs there are no blocks; a table of more values than this would be slow and large.
_MOST_VALUES = 6000


class Segment(NamedTuple):
    """Equal blocks in a row: number `first` begins at `start`, each holds 2^bits values of run `run`."""

    first: int
    start: int
    bits: int
    run: int

    def begin(self, block: int) -> int:
        """Return the value of a block >= 1 of this segment that is nearest to 0."""
        return self.start + ((block - self.first) << self.bits)


class Blocks:
    """The positive integers as numbered blocks of one law."""

    def __init__(self, law: Law, segments: tuple[Segment, ...]) -> None:
        self.law, self.segments = law, segments

    @cached_property
    def _firsts(self) -> tuple[int, ...]:
        return tuple(segment.first for segment in self.segments)

    def segment(self, block: int) -> Segment:
        """Return the segment of a block number >= 1."""
        return self.segments[bisect_right(self._firsts, block) - 1]

    def begin(self, block: int) -> int:
        """Return the smallest value of a block number >= 1."""
        return self.segment(block).begin(block)

    def from_block(self, block: int, count: int) -> list[tuple[Segment, int]]:
        """Return the segment and the smallest value of each of so many blocks, from a number >= 1 on."""
        places: list[tuple[Segment, int]] = []
        ends = (*self._firsts[1:], block + count)
        for segment, end in zip(self.segments, ends, strict=True):
            mine = range(max(block, segment.first), min(end, block + count))
            places += [(segment, segment.start + ((each - segment.first) << segment.bits)) for each in mine]
        return places

    def tail_ball(self, block: int, bits: int) -> Any:
        """Return a ball around the probability of the blocks from `block` on."""
        return self.law.tail_ball(self.begin(block), bits)


def blocks_of(law: Law) -> Blocks:
    """Choose the blocks of a law: of one value each where it is narrow.

    >>> from fractions import Fraction
    >>> [block_bits(GeometricRun(0, None, Fraction(1, scale))) for scale in (3, 1000, 10**6)]
    [0, 4, 14]
    """
    if law.runs is None:
        if too_wide(law):
            raise InvalidParameter(
                "noise",
                law,
                f"narrow enough that |noise| >= {_MOST_VALUES} has probability below 2^-{DEPTH}",
                "Use a coarser lattice, or a noise made of exponential pieces: those can have any width.",
            )
        return Blocks(law, (Segment(1, 1, 0, 0),))
    segments: list[Segment] = []
    number = 1
    for index, run in enumerate(law.runs):
        bits = block_bits(run)
        start = max(run.start, 1)
        if run.count is None:
            return Blocks(law, (*segments, Segment(number, start, bits, index)))
        left = run.start + run.count - start
        while left > 0:
            # Whole blocks first, then smaller ones for the binary digits of what is left.
            bits = min(bits, left.bit_length() - 1)
            count = left >> bits
            segments.append(Segment(number, start, bits, index))
            number, start, left = number + count, start + (count << bits), left - (count << bits)
    # A finite support: what lies beyond has tail 0 and is never drawn, but may be asked about.
    return Blocks(law, (*segments, Segment(number, start, 0, len(law.runs) - 1)))


def block_bits(run: GeometricRun) -> int:
    """Return the largest m such that a block of 2^m values is a small part of the run's scale."""
    return max(int(1 / (run.rate * _GRAIN)).bit_length() - 1, 0)


def too_wide(law: Law) -> bool:
    """Say whether a law has no runs and more values than a table should hold."""
    return law.runs is None and bool(law.tail_ball(_MOST_VALUES, 64) * (1 << DEPTH) > 1)
