"""Section IV-B: millions of noise samples for each true count and each mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import dovetail as dv

from .agreement import cdf_chance
from .clamped import REACH, SUPPORT, ErrorLaw, Floats, clamped, noise_shares, pooled
from .item import Item, ItemResult, ItemTable, StepInputs, table
from .mechanisms import SETTINGS, Mechanism

COUNTS = (1, 3, 10, 50, 200, 1000)
ALL_COUNTS = (*COUNTS, *(count + 1 for count in COUNTS))
# One buffer of 8 MB is filled again and again, so that memory does not grow with the number of samples.
_CHUNK = 1_000_000


def noise_histogram(noise: dv.noise.IntegerNoise, draws: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how often each value of `SUPPORT` came up among fresh draws.

    >>> int(noise_histogram(dv.Geometric(1), 1000).sum())
    1000
    """
    times = np.zeros(len(SUPPORT), dtype=np.int64)
    buffer = np.empty(min(_CHUNK, draws), dtype=np.int64)
    for start in range(0, draws, _CHUNK):
        part = buffer[: min(_CHUNK, draws - start)]
        noise.sample(out=part)
        part += REACH
        times += np.bincount(part, minlength=len(SUPPORT))
    return times


def _make(run: StepInputs) -> ItemResult:
    mechanisms = {each.name: each for setting in SETTINGS for each in setting.all()}
    rows: list[tuple[str, int, int, int]] = []
    agreement = []
    for number, (name, mechanism) in enumerate(mechanisms.items()):
        exact = noise_shares(mechanism.noise)
        for count in ALL_COUNTS:
            times = noise_histogram(mechanism.noise, run.sizes.samples)
            rows += [(name, count, int(SUPPORT[i]), int(times[i])) for i in np.flatnonzero(times)]
            share = clamped(times / run.sizes.samples, count).cdf()
            chance = cdf_chance(share, clamped(exact, count).cdf(), run.sizes.samples)
            agreement.append((name, count, run.sizes.samples, chance))
        run.advance((number + 1) / len(mechanisms))
    return ItemResult(
        tables=(
            table("simulation", "mechanism count noise times", rows),
            table("agreement", "mechanism count samples chance", agreement),
        ),
        note=f"{len(mechanisms)} mechanisms, {len(ALL_COUNTS)} true counts each, {run.sizes.samples:,} "
        "samples for each pair; the smallest chance of a gap as large as the one seen is "
        f"{min(row[-1] for row in agreement):.2g} among {len(agreement)} comparisons.",
    )


@dataclass(frozen=True, slots=True)
class Simulated:
    """Exact and sampled error laws, read back from the simulation's histograms."""

    samples: int
    shares: dict[tuple[str, int], Floats]

    def sampled(self, mechanism: Mechanism, count: int) -> ErrorLaw:
        """Return the law of the error among the samples."""
        return clamped(self.shares[mechanism.name, count], count)

    @staticmethod
    def exact(mechanism: Mechanism, count: int) -> ErrorLaw:
        """Return the law of the error from the probability mass function."""
        return clamped(noise_shares(mechanism.noise), count)

    def laws(self, mechanism: Mechanism, counts: Sequence[int]) -> tuple[list[ErrorLaw], list[ErrorLaw]]:
        """Return exact and sampled laws at several counts."""
        return [self.exact(mechanism, n) for n in counts], [self.sampled(mechanism, n) for n in counts]

    def pooled(self, mechanism: Mechanism, counts: Sequence[int]) -> tuple[Floats, Floats]:
        """Return the exact and the sampled CDF of the error over several counts, equally frequent."""
        exact, sampled = self.laws(mechanism, counts)
        return pooled(exact), pooled(sampled)


def simulated(kept: ItemTable) -> Simulated:
    """Read the histograms that the simulation kept."""
    shares: dict[tuple[str, int], Floats] = {}
    for name, count, value, times in kept.rows:
        shares.setdefault((name, count), np.zeros(len(SUPPORT)))[value + REACH] = times
    samples = int(next(iter(shares.values())).sum())
    return Simulated(samples, {key: histogram / samples for key, histogram in shares.items()})


SIMULATION = Item("simulation", "Noise samples (section IV-B)", _make, uses=("samples",))
