"""What a session asks of a run: read and checked, priced from public facts, and opened."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from dovetail.check import Real, rational
from dovetail.errors import BudgetExceeded, InvalidParameter, LedgerError
from dovetail.errors.remedies import AskForLess, Give
from dovetail.privacy import Budget
from dovetail.progress import working
from dovetail.query.canonical_form import read_axis
from dovetail.query.neighbours import Neighbours, Persons
from dovetail.query.partitions import Bins
from dovetail.query.schema import Table

from .domain import Domain
from .durable_run import Online, RunSession
from .guard import Guard
from .occupied_cells import OccupiedCells
from .planner import OnlineDesign, design_online
from .run_plan import opened_run
from .sparse_vector import Thresholds

if TYPE_CHECKING:
    from dovetail.answers.quote import Standing
    from dovetail.engines import Engine

    from .run_plan import Opener, RunPlan

_MOST_CELLS = 10**7


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run that somebody wants: `Session.online` says what each means."""

    columns: tuple[str, ...]
    queries: int
    ways: int
    bins: Any
    base: Any
    updates: Any
    spend: Budget | None
    promise: Real
    most_cells: int

    def design(
        self, table: Table, account: Opener, neighbours: Neighbours, persons: Persons | None
    ) -> OnlineDesign:
        """Design the run from public facts alone."""
        domain = self._domain(table, persons)
        return self._designed(domain, account.standing(), neighbours)

    def open(
        self,
        engine: Engine,
        account: Opener,
        asker: RunSession,
        source: str,
        neighbours: Neighbours,
        persons: Persons | None,
        label: str | None = None,
        again: RunPlan | None = None,
    ) -> Online:
        """Pay for the run, or find it paid; then read the data and measure what it begins with.

        `label` names the version of the data, where their user did: runs of two versions are two. With
        `again`, nothing is paid: that run is opened, if it would still be the same.
        """
        domain = self._domain(asker.table, persons)
        asked = self._asked(domain, account, source, neighbours, label)

        def design() -> OnlineDesign:
            return self._designed(domain, account.standing(), neighbours)

        if again is None:
            plan = opened_run(account, asked, asker.analyst, design, _drawn)
        else:
            plan = _unchanged(again, asked)
        kept = account.begun
        assert kept is not None
        with working("Reading the data"):
            truth = OccupiedCells.read(engine, domain, kept.secret if persons is not None else b"")
        return Online(kept, plan, domain, asker, truth)

    def _domain(self, table: Table, persons: Persons | None) -> Domain:
        return Domain.of(self.columns, self.bins, table, persons, self.most_cells)

    def _designed(self, domain: Domain, standing: Standing, neighbours: Neighbours) -> OnlineDesign:
        with working("Designing the run"):
            return design_online(
                domain.shape,
                queries=self.queries,
                budget=_budget(self.spend, standing),
                ways=min(self.ways, len(domain.shape)) if isinstance(self.ways, int) else self.ways,
                base=self.base,
                updates=self.updates,
                promise=self.promise,
                neighbours=neighbours,
                rows=1 if domain.persons is None else domain.persons.max_rows,
            )

    def _asked(
        self, domain: Domain, account: Opener, source: str, neighbours: Neighbours, label: str | None
    ) -> dict[str, Any]:
        """Return what makes two runs the same one."""
        _check_spend(self.spend)
        said = {
            "axes": [axis.to_dict() for axis in domain.axes],
            "persons": None if domain.persons is None else domain.persons.to_dict(),
            "neighbours": neighbours,
            "queries": self.queries,
            "ways": self.ways,
            "base": self.base,
            "updates": self.updates,
            "promise": str(rational("promise", self.promise)),
            "spend": None if self.spend is None else self.spend.to_dict(),
            "source": source,
            "version": None if account.begun is None else account.begun.version,
            **({} if label is None else {"label": label}),
        }
        try:
            read: dict[str, Any] = json.loads(json.dumps(said))
        except (TypeError, ValueError):
            # One of them is of no kind that could be right; the design says which.
            return said
        return read


def request_of(plan: RunPlan) -> RunRequest:
    """Return the request that a run was opened with."""
    said = plan.asked
    axes = [read_axis(each) for each in said["axes"]]
    bins = {axis.field.name: list(axis.edges) for axis in axes if isinstance(axis, Bins)}
    spend = None if said["spend"] is None else Budget.from_dict(said["spend"])
    return RunRequest(
        tuple(axis.field.name for axis in axes),
        said["queries"],
        said["ways"],
        bins or None,
        said["base"],
        said["updates"],
        spend,
        said["promise"],
        max(prod(plan.shape), _MOST_CELLS),
    )


def _unchanged(plan: RunPlan, asked: dict[str, Any]) -> RunPlan:
    """Return a run that is paid for; refuse one that would be another now, which would be paid for again."""
    if plan.asked != asked:
        raise LedgerError(
            "The schema, the version or the place of the data is another one than when this run was opened.",
            "Nothing was spent. The answers of the run stay in the record. Open another run; it is paid for "
            "separately.",
        )
    return plan


def _drawn(guard: Guard) -> tuple[int, int]:
    """Draw the private thresholds of a new run; the account keeps the first ones for good."""
    made = Thresholds.drawn(guard)
    return made.above, made.below


def _check_spend(spend: object) -> None:
    if not isinstance(spend, Budget | None):
        raise InvalidParameter("spend", spend, "a budget", Give("spend"))


def _budget(spend: Budget | None, standing: Standing) -> Budget:
    """Return what a run may spend: what is named, else all that remains."""
    _check_spend(spend)
    whole = standing.budget
    if spend is not None:
        if whole is not None and spend.currency != whole.currency:
            raise InvalidParameter("spend", spend, f"of the same kind as the budget, which is {whole}")
        return spend
    if whole is None:
        raise InvalidParameter("spend", None, "given where no budget is known", Give("spend"))
    left = whole.remaining(standing.spent)
    if not left.epsilon or left.zeta == 0 or (whole.currency == "approximate" and not left.delta):
        raise BudgetExceeded(f"Nothing remains of the budget ({whole}).", AskForLess(), remaining=left)
    if whole.currency == "approximate":
        return Budget.approximate(left.epsilon, left.delta)
    if left.zeta is not None:
        return Budget.zeta(left.zeta, max_epsilon=left.epsilon)
    return Budget.pure(left.epsilon)
