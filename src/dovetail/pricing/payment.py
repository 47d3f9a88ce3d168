"""The ways to pay for an answer, read from the keywords of a query."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

from dovetail.answers import Plan
from dovetail.check import positive, probability
from dovetail.check import within as limited
from dovetail.designer import Design
from dovetail.errors import InvalidParameter, MissingPrice
from dovetail.noise import IntegerNoise, Noise
from dovetail.privacy import Budget
from dovetail.privacy.charge import DELTA_UNIT

_WAYS = (
    "Pay by within=5 (and probability=0.95) for an accuracy, spend=Budget.pure(0.1) for a price, "
    "noise=Geometric(0.5) for a noise, plan=session.plan(design, queries=20) for many answers paid at once, "
    "or open the session with Session(..., queries=20) to share its whole budget among 20 answers."
)
_DELTA = "Give far less than one over the number of people, for example 1e-8."


@dataclass(frozen=True, slots=True)
class Payment:
    """How one answer, or one batch, is paid and given."""

    plan: Plan | None = None
    noise: IntegerNoise | None = None
    sensitivity: int = 1
    within: Fraction | None = None
    probability: Fraction = Fraction(95, 100)
    spend: Budget | None = None
    delta: Fraction | None = None
    clamp: bool = False
    fresh: bool = False
    request: str | None = None


def read_payment(options: dict[str, Any], session_plan: Plan | None) -> Payment:
    """Return the one way of paying that the keywords name, or the session's plan.

    >>> read_payment({"within": 5}, None).probability
    Fraction(19, 20)
    """
    allowed = {"plan", "noise", "within", "probability", "spend", "delta", "clamp", "fresh", "request"}
    unknown = sorted(set(options) - allowed)
    if unknown:
        known = f"Known: {', '.join(sorted(allowed))}."
        price = {"epsilon", "zeta", "budget"} & set(unknown)
        fix = (
            "Name a price as spend=Budget.pure(0.1) or spend=Budget.approximate(0.1, 1e-6)."
            if price
            else known
        )
        raise InvalidParameter(unknown[0], options[unknown[0]], "left out", fix)
    ways = [way for way in ("plan", "noise", "within", "spend") if options.get(way) is not None]
    if len(ways) > 1:
        raise InvalidParameter("pay", ways, "one way to pay", "Keep one of them.")
    if options.get("probability") is not None and ways != ["within"]:
        raise InvalidParameter("probability", options["probability"], "given together with within=")
    switches = {name: _switch(name, options.get(name, False)) for name in ("clamp", "fresh")}
    rest: dict[str, Any] = {**switches, "request": _request(options.get("request"))}
    if options.get("delta") is not None:
        if ways in ([], ["plan"]):
            raise InvalidParameter("delta", options["delta"], "given beside noise=, within= or spend=")
        rest["delta"] = limited("delta", options["delta"], "1e-18", "0.1", _DELTA)
    if not ways:
        if session_plan is None:
            raise MissingPrice(f"Nothing says how this answer is paid for. {_WAYS}")
        return Payment(plan=session_plan, **rest)
    readers = {"plan": _plan, "noise": _noise, "within": _within, "spend": _spend}
    rest[ways[0]] = readers[ways[0]](options[ways[0]])
    if ways == ["noise"]:
        rest["sensitivity"] = designed_for(options["noise"])
    if options.get("probability") is not None:
        rest["probability"] = probability("probability", options["probability"], "For example 0.95.")
    return Payment(**rest)


def delta_units(pay: Payment, shares: int) -> int:
    """Return each share of the delta that finding out keys may pay, in units of 1e-18.

    >>> delta_units(Payment(delta=Fraction(1, 10**8)), 4)
    2500000000
    """
    spent = pay.spend.delta_limit if pay.spend is not None else Fraction(0)
    if pay.delta is not None and spent:
        raise InvalidParameter("delta", pay.delta, "left out where spend= has a delta", "Keep one of them.")
    units = floor((pay.delta or spent) / DELTA_UNIT / shares)
    if units < 1:
        raise MissingPrice(
            'The threshold of keys="discover" pays a delta, the probability to show a key of one person '
            "alone. Give delta=1e-8 beside noise= or within=, or spend=Budget.approximate(0.5, 1e-8); at "
            "most half of what the budget has, so that noise can go on being charged exactly."
        )
    return units


def integer_noise(name: str, value: object) -> IntegerNoise:
    """Return a noise that can be released, also from a design that holds one."""
    noise = value if isinstance(value, Noise) else getattr(value, "noise", None)
    if not isinstance(noise, IntegerNoise):
        real = "Real-valued noise is never released: use noise.rounded() or noise.on_lattice(step)."
        fix = real if isinstance(noise, Noise) else "For example Geometric(0.5)."
        raise InvalidParameter(name, value, "a noise on the integers, or a design of one", fix)
    if not noise.releasable:
        raise InvalidParameter(
            name,
            value,
            "a noise that reaches every integer",
            "Where a noise ends, an answer can give a person away for certain. Use Geometric or a mixture.",
        )
    return noise


def designed_for(value: object) -> int:
    """Return the sensitivity that a design was made for; a plain noise is one for 1."""
    return max(value.task.shifts) if isinstance(value, Design) else 1


def _noise(value: object) -> IntegerNoise:
    return integer_noise("noise", value)


def _plan(value: object) -> Plan:
    if not isinstance(value, Plan):
        raise InvalidParameter("plan", value, "what session.plan(design, queries=k) returned")
    return value


def _within(value: object) -> Fraction:
    fix = "Give the largest error you can live with, for example 5."
    positive("within", value, fix)
    return limited("within", value, 0, "1e200", fix)


def _spend(value: object) -> Budget:
    if not isinstance(value, Budget):
        raise InvalidParameter("spend", value, "a Budget", "For example Budget.pure(0.1).")
    return value


def _switch(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise InvalidParameter(name, value, "True or False")
    return value


def _request(value: object) -> str | None:
    if value is not None and (not isinstance(value, str) or not 0 < len(value) <= 200):
        raise InvalidParameter("request", value, "a text of at most 200 characters that names this request")
    return value
