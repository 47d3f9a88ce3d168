"""Draw a wide law without runs: draw from a close one that has them, and reject some draws.

A draw k of the proposal is kept with probability exp(-rejection_exponent(k)); the exponent is an exact
rational. A 64-bit word decides nearly always; a word too near to the probability asks rigorous arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dovetail.exact.balls import ball, precision

from .bits import BitSource
from .law import Law
from .sampler import CHUNK, Sampler
from .uniform import Uniform

# Floats err by less than 2^-40 here; words within this of the probability count as undecided.
_UNSURE = 2.0**-32


@runtime_checkable
class HasProposal(Protocol):
    """A law that can also be drawn by rejecting draws of another."""

    @property
    def proposal(self) -> Law:
        """Return a law with runs."""
        ...

    def rejection_exponent(self, k: int) -> Fraction:
        """Return g >= 0: a draw k of the proposal is kept with probability exp(-g)."""
        ...

    def rejection_exponents(self, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return `rejection_exponent` as floats off by less than 2^-40, NaN where that is not sure."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class RejectionSampler:
    """The sampler of a law by rejection; like `Sampler` it holds no random bit."""

    law: HasProposal
    inner: Sampler

    @property
    def draw_bytes(self) -> int:
        """How many bytes a draw begins with."""
        return self.inner.draw_bytes + 8

    @property
    def nbytes(self) -> int:
        """The size of all tables in bytes."""
        return self.inner.nbytes

    def fill(self, out: NDArray[np.int64], source: BitSource) -> None:
        """Fill a flat array with independent draws, in the order in which they were kept."""
        done = 0
        while done < out.size:
            # In pieces, so that memory stays small beside the output.
            drawn = np.empty(min(out.size - done, CHUNK), np.int64)
            self.inner.fill(drawn, source)
            kept = drawn[self._keep(drawn, source)]
            out[done : done + kept.size] = kept
            done += kept.size

    def few(self, count: int, source: BitSource) -> NDArray[np.int64]:
        """Return a short array of draws."""
        drawn = np.empty(count, np.int64)
        self.fill(drawn, source)
        return drawn

    def one(self, source: BitSource) -> int:
        """Return one draw."""
        while True:
            k = self.inner.one(source)
            if self._decide(k, source.word(), source):
                return k

    def _keep(self, drawn: NDArray[np.int64], source: BitSource) -> NDArray[np.bool_]:
        words = np.frombuffer(source.read(8 * drawn.size), dtype="<u8")
        chance = np.exp(-self.law.rejection_exponents(drawn))
        distance = chance - words * 2.0**-64
        keep: NDArray[np.bool_] = distance > 0
        for position in np.flatnonzero(~(np.abs(distance) > _UNSURE)).tolist():
            keep[position] = self._decide(int(drawn[position]), int(words[position]), source)
        return keep

    def _decide(self, k: int, word: int, source: BitSource) -> bool:
        """Decide exactly whether a uniform number that begins with `word` is below exp(-exponent)."""
        exponent = self.law.rejection_exponent(k)

        def chance(bits: int) -> Any:
            with precision(bits + 32):
                return (-ball(exponent)).exp()

        # A chance of exactly 1 is above every uniform number, but no ball would ever say so.
        return exponent == 0 or Uniform(word, source).below(chance)
