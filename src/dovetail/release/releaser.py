"""Answer a quote in the one safe order: reserve, read, draw, store, return."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from dovetail.answers import Answer
from dovetail.answers.kinds import of_its_kind
from dovetail.answers.quote import Quote, QuotedQuery
from dovetail.engines import Engine
from dovetail.engines.aggregation import cell_reader, held_cells, true_cells
from dovetail.errors import BudgetExceeded, DataError, DovetailError
from dovetail.errors.remedies import AskForLess
from dovetail.pricing.calibration import error_of_rest
from dovetail.privacy import Charge

from .account import Account, Request, Reservation, StoredAnswer
from .mechanism import Released, discovered, noised, read_released, write_released
from .plans import open_plan


@dataclass(frozen=True, slots=True)
class Releaser:
    """Stands between an analyst and the data; everything was priced before.

    `dataset` is the name that the budget is kept under, `source` where these rows are: one dataset may hold
    several files, and an answer from one is no answer for another.
    """

    dataset: str
    source: str
    engine: Engine
    account: Account
    analyst: str

    def answer(self, quote: Quote) -> list[Answer]:
        """Answer what was quoted for what was quoted, or return what was answered to the very same before."""
        for noise in (noise for each in quote.asked for noise in each.noises):
            noise.sample(0)  # Too wide a noise is refused now, before anything is spent.
        if quote.plan is not None and not quote.plan.id:
            quote = replace(
                quote, plan=open_plan(self.account, quote.plan, self.analyst), charge=Charge.zero()
            )
        given = self._reserved(quote)
        if isinstance(given, StoredAnswer):
            stored = read_released(given.answer, [each.question for each in quote.asked])
            return self._show(stored, quote, given.answered_at, True)
        try:
            released = [self._noisy(each) for each in quote.asked]
            written = write_released(released, quote.charge)
        except BaseException as error:
            with suppress(DovetailError):
                unread = isinstance(error, DataError)
                self.account.fail(given, "the data could not be read" if unread else "stopped on the way")
            raise
        answered_at = self.account.settle(given, written)
        return self._show(released, quote, answered_at, False)

    def _reserved(self, quote: Quote) -> Reservation | StoredAnswer:
        """Charge the quote, or find it answered before; where it costs too much, say what the rest buys."""
        request = Request(
            body=self._body(quote),
            charge=quote.charge,
            analyst=self.analyst,
            key=quote.payment.request,
            fresh=quote.payment.fresh,
            plan=None if quote.plan is None else quote.plan.id,
            slots=max(quote.slots, 1),
        )
        try:
            return self.account.reserve(request)
        except BudgetExceeded as error:
            standing, asked = self.account.standing(), quote.asked[0]
            alone = quote.plan is None and len(quote.asked) == 1 and asked.threshold is None
            # Where nothing is told of what remains, what it buys would tell it.
            if not alone or standing.budget is None or error.remaining is None:
                raise
            left = (standing.budget, standing.spent, quote.neighbours, quote.level)
            found = error_of_rest(asked.question, *left)
            error.remedies = tuple(
                replace(each, within=found, probability=quote.level) if isinstance(each, AskForLess) else each
                for each in error.remedies
            )
            raise

    def _noisy(self, asked: QuotedQuery) -> Released:
        secret = self.account.secret if asked.question.persons is not None else b""
        if asked.threshold is None:
            true = true_cells(self.engine, asked.question, secret)
            return noised(true, asked.question.measure.components(), asked.noises)
        # Closed when stopped on the way, too: a traceback that somebody keeps must not keep the engine busy.
        with closing(held_cells(self.engine, asked.question, secret)) as held:
            return discovered(held, cell_reader(asked.question), asked.noises[0], asked.threshold)

    def _body(self, quote: Quote) -> str:
        """Return the canonical text of what is asked: equal texts are the same question."""
        asked = [each.to_dict() for each in quote.asked]
        body = {"asked": asked, "neighbours": quote.neighbours, "source": self.source}
        return json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    def _show(
        self, released: Sequence[Released], quote: Quote, answered_at: datetime, stored: bool
    ) -> list[Answer]:
        plan = quote.plan
        standing = self.account.standing(None if plan is None else self.analyst)
        assert standing.budget is not None
        return [
            of_its_kind(
                Answer(
                    self.dataset,
                    asked.question,
                    asked.noises,
                    each.cells,
                    quote.charge,
                    quote.neighbours,
                    answered_at,
                    standing.budget,
                    standing.spent,
                    stored,
                    quote.payment.clamp,
                    None if plan is None else plan.id,
                    level=quote.level,
                    # As it stands now, with the number of answers that are left.
                    paid_by=next((open_ for open_ in standing.plans if open_ == plan), None),
                    found=each.found,
                    threshold=asked.threshold,
                    together=len(quote.asked),
                )
            )
            for asked, each in zip(quote.asked, released, strict=True)
        ]
