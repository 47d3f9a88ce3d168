"""The designer: from an accuracy or a budget to a noise. Nothing is read from data and nothing is spent."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from fastapi import APIRouter, Request
from pydantic import Field

from dovetail.answers.quote import Standing
from dovetail.check import integer
from dovetail.designer import Design
from dovetail.errors import InvalidParameter
from dovetail.exact.bisection import least_whole
from dovetail.noise import IntegerNoise
from dovetail.pricing.plans import plan_charge
from dovetail.privacy import Charge
from dovetail.service import forms
from dovetail.service.authentication import signed_in
from dovetail.service.bodies import Body, GivenNoise, read_noise
from dovetail.service.computation_limit import computing
from dovetail.service.designer_reply_types import ComparisonForm, Density, DesignForm, EstimateForm
from dovetail.service.problems import Refused
from dovetail.service.replies import reply, service_of
from dovetail.service.reply_types import Reply
from dovetail.service.routing import KeyRoute

from .datasets import own_standing

router = APIRouter(route_class=KeyRoute, tags=["Designer"])
_NUMBERS = ("within", "probability", "epsilon", "delta", "zeta", "max_epsilon")
_COUNTS = ("cells", "queries", "pieces", "break_point")
_MOST_QUERIES, _MOST_PIECES, _MOST_NOISES = 100_000, 16, 8
_MOST_POINTS = 200
_MOST_ANSWERS = 10**6


class DesignBody(Body):
    """What a noise should do: the parameters of `dovetail.design`, and a dataset to pay for it."""

    within: Any = None
    probability: Any = None
    cells: Any = None
    epsilon: Any = None
    delta: Any = None
    zeta: Any = None
    max_epsilon: Any = None
    queries: Any = None
    sensitivity: Any = None
    minimise: Any = None
    pieces: Any = None
    break_point: Any = None
    dataset: str | None = None
    estimate: bool = False


class ComparisonBody(Body):
    """Noises to be compared at equal privacy."""

    noises: dict[str, GivenNoise] = Field(min_length=1, max_length=_MOST_NOISES)
    at: Any = "zeta"


@router.post("/v1/design", summary="The noise that meets a goal at the least cost")
def designed(body: DesignBody, request: Request) -> Reply[DesignForm] | Reply[EstimateForm]:
    """Its cost, its accuracy and its shape; with a dataset, how many such answers you can still afford."""
    service, caller = service_of(request), signed_in(request)
    wanted = _wanted(body)
    if body.estimate:
        from dovetail.designer import estimate

        about = estimate(**dict(wanted))
        figures = ("variance", "mean_abs", "within_95", "epsilon", "rates", "breaks")
        quick: Any = {"estimate": True} | {name: getattr(about, name) for name in figures}
        return reply(cast(EstimateForm, quick))
    with computing():
        made, said = _designed(wanted)
    standing = None
    if body.dataset is not None:
        standing = own_standing(service, caller, service.visible(caller, body.dataset))
    charge = _price(made, standing)
    left = None if standing is None else _answers_left(charge, standing) * made.queries
    return reply(cast(DesignForm, said | {"price": forms.amount(charge), "answers_left": left}))


@router.post("/v1/compare", summary="Noises side by side at equal privacy")
def compared(body: ComparisonBody) -> Reply[ComparisonForm]:
    """Say in which sense they are equal: zeta, epsilon, or [epsilon, delta, queries]."""
    from dovetail.designer import compare

    at = tuple(body.at) if isinstance(body.at, list) else body.at
    if not isinstance(at, str) and (not isinstance(at, tuple) or len(at) != 3):
        raise InvalidParameter("at", at, "zeta, epsilon or a list of epsilon, delta and queries")
    if isinstance(at, tuple) and integer("at[2]", at[2], low=1) > _MOST_QUERIES:
        raise Refused(413, "too-large", f"At most {_MOST_QUERIES} queries.")
    noises = {name: read_noise(each) for name, each in body.noises.items()}
    with computing():
        return reply(cast(ComparisonForm, compare(noises, at=at).to_dict()))


def _wanted(body: DesignBody) -> tuple[tuple[str, Any], ...]:
    """Return the parameters that were given, bounded."""
    arguments: dict[str, Any] = {}
    for name in (*_NUMBERS, *_COUNTS, "sensitivity", "minimise"):
        value = getattr(body, name)
        if value is not None:
            arguments[name] = tuple(value) if isinstance(value, list) else value
    for name in _COUNTS:
        if name in arguments:
            arguments[name] = integer(name, arguments[name], low=1)
    if arguments.get("queries", 1) > _MOST_QUERIES or arguments.get("pieces", 1) > _MOST_PIECES:
        raise Refused(413, "too-large", f"At most {_MOST_QUERIES} queries and {_MOST_PIECES} pieces.")
    parts = (
        part for value in arguments.values() for part in (value if isinstance(value, tuple) else (value,))
    )
    if any(isinstance(part, dict | list) for part in parts):
        raise InvalidParameter("body", sorted(arguments), "numbers")
    return tuple(sorted(arguments.items()))


@lru_cache(maxsize=256)
def _designed(wanted: tuple[tuple[str, Any], ...]) -> tuple[Design, dict[str, Any]]:
    """Return a design and its form; what a slider asks again is known."""
    from dovetail.designer import design

    made = design(**dict(wanted))
    return made, made.to_dict() | {"density": _density(made.noise)}


def _density(noise: IntegerNoise) -> Density:
    """Return the probabilities of 0, 1, 2, ... to where nearly all lie, thinned where they are many."""
    top = int(noise.quantile_abs(0.999)) + 1
    every = -(-top // _MOST_POINTS)
    points = list(range(0, top + every, every))
    return {"k": points, "p": [float(noise.pmf(k)) for k in points]}


def _price(found: Design, standing: Standing | None) -> Charge:
    if standing is None or standing.budget is None:
        return found.total.charge()
    return plan_charge(found.total, standing.budget, standing.spent)


def _answers_left(charge: Charge, standing: Standing) -> int:
    """Return how often a charge could still be paid, one after another."""
    budget, spent = standing.budget, standing.spent
    assert budget is not None
    too_many = least_whole(1, lambda n: n > _MOST_ANSWERS or not budget.allows(spent, charge.times(n)))
    return too_many - 1
