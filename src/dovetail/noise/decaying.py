"""Noise whose probabilities, or densities, fall by constant rates over a few stretches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property

from flint import arb

from dovetail.exact import Decay
from dovetail.sampling import GeometricRun

from .arrays import Floats
from .decay_floats import DecayTable
from .integer import IntegerNoise
from .symmetric import Noise


class WithDecay(Noise):
    """Noise made of stretches of exponential decay; a subclass says which."""

    @property
    @abstractmethod
    def decay(self) -> Decay:
        """The stretches of constant decay."""

    @cached_property
    def _table(self) -> DecayTable:
        return DecayTable(self.decay)

    def _log_density(self, y: Floats) -> Floats:
        return self._table.log_density(y)

    def _moment(self, order: int) -> arb:
        return self.decay.moment(order)

    def _entropy(self) -> arb:
        return self.decay.entropy()


class DecayingNoise(WithDecay, IntegerNoise):
    """Integer noise made of stretches of exponential decay."""

    @cached_property
    def runs(self) -> tuple[GeometricRun, ...]:
        """The stretches as the sampler reads them."""
        return tuple(
            GeometricRun(
                int(stretch.start), None if stretch.length is None else int(stretch.length), stretch.rate
            )
            for stretch in self.decay.stretches
        )

    def _tail(self, k: Floats) -> Floats:
        return self._table.tail(k)

    def _log_tail(self, k: Floats) -> Floats:
        return self._table.log_tail(k)

    def _inverse_tail(self, tail: Floats) -> Floats:
        return self._table.inverse_tail(tail)

    def _tail_here(self, k: int) -> arb:
        return self.decay.tail(k)

    def _tails_here(self, points: Sequence[int]) -> list[arb]:
        return self.decay.tails(points)

    def _within(self, t: Floats) -> Floats:
        return self._table.within_whole(t)
