"""How an answer is paid for: an accuracy, a price, a noise or a plan."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from dovetail.check import Real, error_bar_level, integer, positive, probability
from dovetail.check import within as limited
from dovetail.errors import InvalidParameter, MissingPrice
from dovetail.errors.remedies import Give, KeepOne, LeaveOut, SeePlans, Spend
from dovetail.noise import IntegerNoise, Noise
from dovetail.privacy import Budget

from .plan import Plan

if TYPE_CHECKING:
    from dovetail.designer import Design

MOST_PLANNED = 10**6
_USUAL = Fraction(95, 100)
_DELTA = "Give far less than one over the number of people, for example 1e-8."
# What a price is called elsewhere.
PRICES = ("epsilon", "zeta", "budget")


@dataclass(frozen=True, slots=True)
class Payment:
    """How one answer, or one batch, is paid and given.

    With `queries`, so many answers are planned and paid together, of which this is one: of the accuracy or
    of the noise that is named, else of the whole budget. `sensitivity` is what the noise was designed for.
    """

    plan: Plan | None = None
    noise: IntegerNoise | None = None
    sensitivity: int = 1
    within: Fraction | None = None
    probability: Fraction = _USUAL
    spend: Budget | None = None
    queries: int | None = None
    delta: Fraction | None = None
    clamp: bool = False
    fresh: bool = False
    request: str | None = None

    @classmethod
    def of(
        cls,
        *,
        within: Real | None = None,
        probability: Real | None = None,
        spend: Budget | None = None,
        noise: Noise | Design | None = None,
        plan: Plan | None = None,
        queries: int | None = None,
        delta: Real | None = None,
        clamp: bool = False,
        fresh: bool = False,
        request: str | None = None,
        default: Plan | None = None,
    ) -> Payment:
        """Return the one way of paying that is named, or the plan that pays by default.

        >>> Payment.of(within=5).probability
        Fraction(19, 20)
        """
        named = {"plan": plan, "noise": noise, "within": within, "spend": spend}
        ways = [way for way, value in named.items() if value is not None]
        if len(ways) > 1:
            raise InvalidParameter("pay", ways, "one way to pay", KeepOne(tuple(ways)))
        if queries is not None and ways in (["plan"], ["spend"]):
            raise InvalidParameter(
                "queries", queries, "given with an accuracy, with a noise or alone", LeaveOut(ways[0])
            )
        if probability is not None and ways != ["within"]:
            raise InvalidParameter(
                "probability", probability, "given together with an accuracy", Give("within")
            )
        if delta is not None and (ways in ([], ["plan"]) or queries is not None):
            raise InvalidParameter(
                "delta", delta, "given beside a noise or an accuracy, for one answer", Give("noise", "within")
            )
        if not ways and queries is None:
            if default is None:
                raise MissingPrice
            plan = default
        return cls(
            plan=None if plan is None else _plan(plan),
            noise=None if noise is None else integer_noise("noise", noise),
            sensitivity=designed_for(noise),
            within=None if within is None else _within(within),
            probability=_USUAL if probability is None else _chance(probability),
            spend=None if spend is None else _spend(spend),
            queries=None if queries is None else answers_planned(queries),
            delta=None if delta is None else limited("delta", delta, "1e-18", "0.1", _DELTA),
            clamp=_switch("clamp", clamp),
            fresh=_switch("fresh", fresh),
            request=_request(request),
        )


def refuse_price(asked: str, name: str, value: object) -> NoReturn:
    """Say how a price is named to whoever names it as elsewhere: `epsilon=0.1`."""
    raise InvalidParameter(
        name, value, f"left out: {asked} takes its price as a budget", Spend(_example(value))
    )


def _example(value: object) -> str:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else "0.1"


def answers_planned(queries: object) -> int:
    """Return how many answers a plan is for."""
    return integer("queries", queries, low=1, high=MOST_PLANNED, fix="For example 20.")


def integer_noise(name: str, value: object) -> IntegerNoise:
    """Return a noise that can be released, also from a design that holds one."""
    noise = value if isinstance(value, Noise) else getattr(value, "noise", None)
    if not isinstance(noise, IntegerNoise):
        real = "Real-valued noise is never released: round it, or put it on a lattice."
        fix = real if isinstance(noise, Noise) else Give("noise")
        raise InvalidParameter(name, value, "a noise on the integers, or a design of one", fix)
    if not noise.releasable:
        raise InvalidParameter(
            name,
            value,
            "a noise that reaches every integer",
            "An answer with bounded noise can reveal a person for certain. Use Geometric or a mixture.",
        )
    return noise


def designed_for(value: object) -> int:
    """Return the sensitivity that a design was made for; a plain noise is one for 1."""
    if value is None or isinstance(value, Noise):
        return 1
    from dovetail.designer import Design

    return max(value.task.shifts) if isinstance(value, Design) else 1


def noise_of_slots(name: str, noise: object, sensitivity: int) -> IntegerNoise:
    """Return the noise of a plan, each slot of which pays for a count."""
    if sensitivity != 1:
        raise InvalidParameter(name, noise, "made for a sensitivity of 1", "A slot pays for a count.")
    return integer_noise(name, noise)


def _plan(value: object) -> Plan:
    if not isinstance(value, Plan):
        raise InvalidParameter("plan", value, "a plan that was opened", SeePlans())
    return value


def _within(value: Any) -> Fraction:
    fix = "Give the largest error you can live with, for example 5."
    positive("within", value, fix)
    return limited("within", value, 0, "1e200", fix)


def _chance(value: Any) -> Fraction:
    error_bar_level("probability", value, "For example 0.95.")
    return probability("probability", value)


def _spend(value: object) -> Budget:
    if not isinstance(value, Budget):
        raise InvalidParameter("spend", value, "a budget", Give("spend"))
    return value


def _switch(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidParameter(name, value, "True or False")
    return value


def _request(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not 0 < len(value) <= 200):
        raise InvalidParameter("request", value, "a text of at most 200 characters that names this request")
    return value
