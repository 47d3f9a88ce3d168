"""Every transcript of a small run with its exact probability: the real tests, and runs that are broken.

The chances of the tests are read out of the real code, by replayed bits. A transcript's probability is then
[sum over one threshold] times [sum over the other]; beyond the window of thresholds a curve is constant, so
its two ends hold the whole tails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import exp, inf, log
from typing import Any

import numpy as np

from dovetail.online import Guard, Thresholds, verdict
from dovetail.sampling import Recording

FULL = 2**64 - 1
FAR = 10**6

Transcript = tuple[object, ...]
Strategy = Callable[[Transcript], tuple[tuple[int, ...], int]]
"""From the transcript so far to the next question: its cells, and the public guess."""


def words(*values: int) -> Recording:
    return Recording(b"".join(value.to_bytes(8, "little") for value in values))


@lru_cache(maxsize=4096)
def upper_weight(guard: Guard, t: int) -> int:
    """How many of 2^64 words fire the upper test at distance t, found by replaying words."""
    return _cut(lambda word: verdict(guard, Thresholds(t - guard.distance, FAR), 0, words(word, FULL)) == 1)


@lru_cache(maxsize=4096)
def lower_weight(guard: Guard, t: int) -> int:
    return _cut(lambda word: verdict(guard, Thresholds(FAR, t - guard.distance), 0, words(FULL, word)) == -1)


def _cut(fires: Callable[[int], bool]) -> int:
    if fires(FULL):
        return FULL + 1
    low, high = 0, FULL
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if fires(middle) else (low, middle)
    return low


@lru_cache(maxsize=64)
def window(guard: Guard) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds with their probabilities; the first and the last stand for the whole tails."""
    ends = guard.tests.width * (len(guard.tests.table) + 1)
    rho = np.arange(-guard.distance - 12 * guard.tests.width, ends + 12)
    mass = np.array(guard.threshold_noise.pmf(rho))
    mass[0] = guard.threshold_noise.cdf(rho[0])
    mass[-1] = guard.threshold_noise.sf(rho[-1] - 1)
    return rho, mass


@lru_cache(maxsize=4096)
def chances(guard: Guard, shift: int, side: int) -> np.ndarray:
    """The chance of a test at every threshold of the window, for a given error with its sign."""
    rho, _ = window(guard)
    weight = upper_weight if side > 0 else lower_weight
    # Further out than an entry or two beyond its ends, the table is constant.
    low = -2 * guard.tests.width
    high = guard.tests.width * (len(guard.tests.table) + 2)
    places = np.clip(guard.distance + rho + shift, low, high)
    return np.array([weight(guard, int(t)) / 2**64 for t in places])


# What a scripted run hears of the number of rows, and what a firing measures.
HEARD_ROWS, MEASURED = 2, 1


@dataclass
class Heard:
    """One transcript on one table: what was tested and measured, and what was paid."""

    guard: Guard
    rows: int
    paid: float
    tests: list[tuple[int, int, int]] = field(default_factory=list)  # outcome, truth, guess
    public: tuple[Any, ...] = ()

    def log_chance(self, noisy: bool = True) -> float:
        """Return the log of the transcript's probability; broken, a firing tells the true number."""
        above, below = window(self.guard)[1], window(self.guard)[1]
        noise = self.guard.answer_noise
        assert noise is not None
        total = float(noise.log_pmf(HEARD_ROWS - self.rows))
        for outcome, truth, guess in self.tests:
            up, down = chances(self.guard, guess - truth, 1), chances(self.guard, truth - guess, -1)
            above = above * (up if outcome > 0 else 1 - up)
            below = below if outcome > 0 else below * (down if outcome < 0 else 1 - down)
            if outcome and noisy:
                total += float(noise.log_pmf(MEASURED - truth))
            elif outcome and truth != MEASURED:
                return -inf
        chance = float(above.sum() * below.sum())
        return total + log(chance) if chance else -inf

    @property
    def guesses(self) -> tuple[int, ...]:
        return tuple(guess for _, _, guess in self.tests)


@dataclass(frozen=True)
class Sound:
    """The mechanism as it is: two thresholds, drawn once."""

    guard: Guard
    updates: int | None = None

    @property
    def most(self) -> int:
        return self.updates or self.guard.updates

    def start(self) -> tuple[np.ndarray, np.ndarray]:
        mass = window(self.guard)[1]
        return mass, mass

    def step(self, state, truth: int, guess: int) -> Iterator[tuple[object, object]]:
        above, below = state
        up = chances(self.guard, guess - truth, 1)
        down = chances(self.guard, truth - guess, -1)
        yield "none", (above * (1 - up), below * (1 - down))
        yield from self.measured("+", (above * up, below), truth, guess)
        yield from self.measured("-", (above * (1 - up), below * down), truth, guess)

    def measured(self, sign: str, state, truth: int, guess: int):
        """A firing, with its answer told as below the guess or not where the run measures."""
        noise = self.guard.answer_noise
        if noise is None:
            yield sign, state
            return
        high = float(noise.sf(guess - truth - 1))
        low = float(noise.cdf(guess - truth - 1))
        yield sign + "h", (state[0] * high, state[1])
        yield sign + "l", (state[0] * low, state[1])

    def total(self, state) -> float:
        return float(state[0].sum() * state[1].sum())


class Shared(Sound):
    """Broken: both sides use one threshold."""

    def start(self):
        return (window(self.guard)[1],)

    def step(self, state, truth, guess):
        (rho,) = state
        up, down = chances(self.guard, guess - truth, 1), chances(self.guard, truth - guess, -1)
        yield "none", (rho * (1 - up) * (1 - down),)
        yield "+", (rho * up,)
        yield "-", (rho * (1 - up) * down,)

    def total(self, state):
        return float(state[0].sum())


class Fresh(Sound):
    """Broken: thresholds are drawn anew for every question."""

    def step(self, state, truth, guess):
        mass = window(self.guard)[1]
        for outcome, (above, below) in super().step(state, truth, guess):
            yield outcome, (mass * above.sum(), mass * below.sum())


class Redrawn(Sound):
    """Broken: thresholds are drawn anew after each firing, as by a restart that lost them."""

    def step(self, state, truth, guess):
        mass = window(self.guard)[1]
        for outcome, (above, below) in super().step(state, truth, guess):
            if outcome == "none":
                yield outcome, (above, below)
            else:
                yield outcome, (mass * above.sum(), mass * below.sum())


class Bare(Sound):
    """Broken: no threshold noise."""

    def start(self):
        mass = (window(self.guard)[0] == 0).astype(float)
        return mass, mass


class Noiseless(Sound):
    """Broken: the tests compare exactly."""

    def step(self, state, truth, guess):
        above, below = state
        rho = self.guard.distance + window(self.guard)[0]
        up, down = rho <= truth - guess, rho <= guess - truth
        yield "none", (above * ~up, below * ~down)
        yield "+", (above * up, below)
        yield "-", (above * ~up, below * down)


@dataclass(frozen=True)
class Revealing(Sound):
    """Broken: a test adds noise to the answer, and a firing shows that very number (upper side only)."""

    reach: int = 40

    def step(self, state, truth, guess):
        above, below = state
        rho, _ = window(self.guard)
        noise = self.guard.answer_noise
        assert noise is not None
        threshold = self.guard.distance + rho
        shown = np.arange(-self.reach, self.reach + 1)
        yield "none", (above * noise.cdf(threshold - (truth - guess) - 1), below)
        for value in shown:
            yield (
                ("+", int(value)),
                (above * noise.pmf(value - (truth - guess)) * (value >= threshold), below),
            )

    def total(self, state):
        return float(state[0].sum() * state[1].sum())


def enumerate_run(mechanism: Sound, data: tuple[int, ...], strategy: Strategy, length: int):
    """Return every transcript of at most `length` questions with its probability."""
    found: dict[Transcript, float] = {}

    def go(transcript: Transcript, state, fired: int) -> None:
        if len(transcript) == length or fired == mechanism.most:
            found[transcript] = mechanism.total(state)
            return
        cells, guess = strategy(transcript)
        truth = sum(data[cell] for cell in cells)
        for outcome, after in mechanism.step(state, truth, guess):
            go((*transcript, outcome), after, fired + (outcome != "none"))

    go((), mechanism.start(), 0)
    return found


def path_loss(mechanism: Sound, path: list[tuple[int, int, int, object]]) -> float:
    """Return ln P/Q of one transcript: steps of (truth in D, truth in D', guess, outcome)."""
    logs = []
    for which in (0, 1):
        state, scale = mechanism.start(), 0.0
        for step in path:
            after = dict(mechanism.step(state, step[which], step[2]))[step[3]]
            total = mechanism.total(after)
            if total <= 0:
                scale = -inf
                break
            # Keep the mass near 1: long paths are rare.
            scale += log(total)
            state = (after[0] / total, *after[1:])
        logs.append(scale)
    return abs(logs[0] - logs[1]) if -inf not in logs else inf if logs[0] != logs[1] else 0.0


def tables(cells: int, rows: int) -> list[tuple[int, ...]]:
    """Every table of at most `rows` rows over so many cells, as counts."""
    return [each for each in product(range(rows + 1), repeat=cells) if sum(each) <= rows]


def divergences(p: dict[Transcript, float], q: dict[Transcript, float], orders, epsilons):
    """Return worst loss, Rényi divergences, deltas and zeta of P against Q."""
    first, second = np.array(list(p.values())), np.array([q[key] for key in p])
    assert list(p) == list(q)
    worst = float(np.max(np.log(first / second)))
    renyi = [log(np.sum(first**order * second ** (1 - order))) / (order - 1) for order in orders]
    deltas = [float(np.sum(np.maximum(first - exp(epsilon) * second, 0))) for epsilon in epsilons]
    zeta = log(np.sum(np.maximum(first**2 / second, second)))
    return worst, renyi, deltas, zeta
