"""A run that is paid for: what it may ask, how it answers, and what its account holds of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from dovetail.errors import DovetailError
from dovetail.noise import IntegerNoise, from_dict
from dovetail.privacy import Charge
from dovetail.release.account import canonical_text
from dovetail.workloads import Strategy

from .base_tables import measured_by
from .guard import Guard
from .planner import Kind, OnlineDesign

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from dovetail.answers.quote import Standing
    from dovetail.release.account import PlanState, Request, Reservation, StoredAnswer


class Told(Protocol):
    """What a run told: in which event, to which request, and whether a firing measured it."""

    @property
    def event(self) -> int: ...
    @property
    def request(self) -> int: ...
    @property
    def body(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def fired(self) -> bool: ...


class Opener(Protocol):
    """An account that a run may be opened at; the ledger implements it."""

    @property
    def begun(self) -> RunAccount | None: ...
    def standing(self, plans_of: str | None = None) -> Standing: ...
    def open_plan(self, body: str, charge: Charge, slots: int, analyst: str) -> PlanState: ...
    def open_run(
        self, body: str, charge: Charge, updates: int, analyst: str, thresholds: tuple[int, int]
    ) -> PlanState: ...


class RunAccount(Protocol):
    """An account that is on record and keeps runs; the ledger implements it."""

    @property
    def secret(self) -> bytes: ...
    @property
    def version(self) -> str | None: ...
    def standing(self, plans_of: str | None = None) -> Standing: ...
    def usable_plans(self, analyst: str) -> Sequence[PlanState]: ...
    def plan_state(self, number: int) -> PlanState: ...
    def thresholds(self, run: int) -> tuple[int, int]: ...
    def reserve(self, request: Request) -> Reservation | StoredAnswer: ...
    def reserve_batch(
        self, request: Request, version: str | None, after: int
    ) -> tuple[Reservation | StoredAnswer, Sequence[Told]]: ...
    def settle(self, reservation: Reservation, answer: str) -> datetime: ...
    def fail(self, reservation: Reservation, reason: str) -> None: ...
    def fire(self, reservation: Reservation, measured: str) -> bool: ...
    def told(self, run: int) -> Sequence[Told]: ...
    def fired(self, run: int, after: int) -> Sequence[Told]: ...


@dataclass(frozen=True)
class RunPlan:
    """A run as it was opened: paid once, whatever is asked.

    `asked` is what its opener asked for, about the rows of `vintages`, `charge` what was paid. One slot is
    for the measurement at the opening (the base, or the number of rows), all others are updates.
    """

    id: int
    asked: Mapping[str, Any]
    shape: tuple[int, ...]
    base: Kind
    base_noise: IntegerNoise | None
    guard: Guard | None
    charge: Charge
    vintages: tuple[str, ...] = ()

    @property
    def updates(self) -> int:
        """How many answers may be measured anew."""
        return 0 if self.guard is None else self.guard.updates

    @cached_property
    def alpha(self) -> int | None:
        """How far answers that pass the guard may be off, all of them at once, at the promised level."""
        return None if self.guard is None else self.guard.alpha(Fraction(self.asked["promise"]))

    @cached_property
    def strategy(self) -> Strategy | None:
        """How the base is measured; None without one."""
        if self.base is None or self.base_noise is None:
            return None
        return measured_by(self.shape, self.base, self.base_noise, self.rows)

    @property
    def rows(self) -> int:
        """How many rows of one person, or other neighbour, count at most."""
        persons = self.asked["persons"]
        return 1 if persons is None else int(persons["max_rows"])

    def words(self) -> str:
        """Return how the run answers and what was paid for it, in few words."""
        base = "no base" if self.base is None else f"base {self.base}"
        promise = (
            "" if self.alpha is None else f", {self.updates} updates, all that pass within ±{self.alpha}"
        )
        return f"{base}{promise}, paid {self.charge}"

    def __repr__(self) -> str:
        return f"<online run {self.id}: {self.words()}>"


def stored_run(state: PlanState) -> RunPlan | None:
    """Return the run that a plan of an account is, None for another plan."""
    said = json.loads(state.body).get("online")
    if said is None:
        return None
    noise = None if said["base_noise"] is None else from_dict(said["base_noise"])
    assert noise is None or isinstance(noise, IntegerNoise)
    guard = None if said["guard"] is None else Guard.from_dict(said["guard"])
    shape = tuple(said["shape"])
    return RunPlan(state.id, said["asked"], shape, said["base"], noise, guard, state.charge, state.vintages)


def found_run(account: RunAccount | None, asked: Mapping[str, Any], analyst: str) -> RunPlan | None:
    """Return the run that was opened for the very same before, about the same vintages."""
    states = [] if account is None else account.usable_plans(analyst)
    runs = (stored_run(state) for state in states)
    return next((run for run in runs if run is not None and run.asked == asked), None)


def opened_run(
    account: Opener,
    asked: Mapping[str, Any],
    analyst: str,
    design: Callable[[], OnlineDesign],
    secret: Callable[[Guard], tuple[int, int]],
) -> RunPlan:
    """Return the run that was opened before, or design it and pay for it, in one event.

    Whoever opens the same at the same time gets the same run. Where the design or the payment fails because
    another has just paid, that one is taken.
    """
    before = found_run(account.begun, asked, analyst)
    if before is not None:
        return before
    try:
        state = _paid(account, asked, analyst, design(), secret)
    except DovetailError:
        before = found_run(account.begun, asked, analyst)
        if before is None:
            raise
        return before
    made = stored_run(state)
    assert made is not None
    return made


def _paid(
    account: Opener,
    asked: Mapping[str, Any],
    analyst: str,
    design: OnlineDesign,
    secret: Callable[[Guard], tuple[int, int]],
) -> PlanState:
    noise, guard = design.base_noise, design.guard
    for each in () if design.strategy is None else design.strategy.noises:
        each.sample(0)  # Too wide a noise is refused now, before anything is spent.
    said = {
        "asked": asked,
        "shape": design.shape,
        "base": design.base,
        "base_noise": None if noise is None else noise.to_dict(),
        "guard": None if guard is None else guard.to_dict(),
    }
    body = canonical_text({"online": said})
    if guard is None:
        return account.open_plan(body, design.charge, 1, analyst)
    return account.open_run(body, design.charge, guard.updates + 1, analyst, secret(guard))
