"""What the designer of a service replies: densities, designs, estimates and comparisons."""

from __future__ import annotations

from typing import Literal, NotRequired

# Pydantic reads this one on every Python.
from typing_extensions import TypedDict

from .reply_types import Amount, Noise


class Density(TypedDict):
    """The probabilities of 0, 1, 2, ...; thinned where they are many."""

    k: list[int]
    p: list[float]


class LossOfOne(TypedDict):
    """What one answer costs; null is without bound."""

    epsilon: float | None
    zeta: float | None


class LossOfAll(TypedDict):
    """What all answers cost together."""

    epsilon: float | None
    zeta_at_most: float | None
    epsilon_at_delta: NotRequired[float]
    delta: NotRequired[float]
    chance_of_more: NotRequired[float]


class Reached(TypedDict):
    """A goal, and the probability with which it is met."""

    goal: str
    probability: float


class AlternativeForm(TypedDict):
    """Another noise that keeps what was asked."""

    name: str
    noise: Noise
    measure: str
    value: float | None
    chosen: float | None


class DesignForm(TypedDict):
    """A noise that meets a goal at the least cost; `answers_left` with a dataset only."""

    noise: Noise
    queries: int
    one: LossOfOne
    all: LossOfAll
    variance: float
    mean_abs: float
    within_95: float
    reached: list[Reached]
    why: str
    alternatives: list[AlternativeForm]
    density: Density
    price: Amount
    answers_left: int | None


class EstimateForm(TypedDict):
    """About what a design would be; nothing is certified."""

    estimate: Literal[True]
    variance: float
    mean_abs: float
    within_95: float
    epsilon: float
    rates: list[float]
    breaks: list[float]


class ComparedNoise(TypedDict):
    """One noise beside others; null is without bound, or unknown.

    `chance_of_more` is the probability that the loss of all queries exceeds the epsilon named beside a delta.
    """

    asked: str
    noise: Noise | None
    matched: bool
    epsilon: float | None
    zeta: float | None
    mean_abs: float | None
    variance: float | None
    within_95: float | None
    entropy: float | None
    chance_of_more: NotRequired[float]


class ComparisonForm(TypedDict):
    """Noises at equal privacy; `at` says in which sense."""

    at: str
    rows: list[ComparedNoise]
