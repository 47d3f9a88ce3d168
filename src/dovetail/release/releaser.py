"""Answer a quote in the one safe order: reserve, read, draw, store, return."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime

from dovetail.answers import Answer
from dovetail.answers.answer_classes import of_its_kind
from dovetail.answers.provenance import changed, day
from dovetail.answers.quote import Quote, QuotedQuery, Standing, StoredOffer
from dovetail.engines import Engine
from dovetail.engines.aggregation import cell_reader, held_cells, true_cells
from dovetail.errors import AccessRefused, BudgetExceeded, DataError, DovetailError, LedgerError, StaleAnswer
from dovetail.errors.remedies import Advice, AskForLess, Give
from dovetail.pricing.calibration import error_of_rest
from dovetail.privacy import Charge
from dovetail.progress import working
from dovetail.sampling import random_bytes

from .account import Account, Request, Reservation, StoredAnswer
from .mechanism import ReleasedCells, discovered, noised, read_released, write_released
from .plans import open_plan
from .stored_answers import accepted, bodies, charge_then, offer


def _unknown() -> None:
    """Tell no version."""


def _kept(quote: Quote, why: str) -> Advice:
    """Say what an answer that failed has cost."""
    spent = f"The charge ({quote.charge})" if quote.plan is None else "What the plan set aside for it"
    return Advice(f"{spent} stays spent, because {why}.")


def _check_slots(quote: Quote) -> None:
    """Refuse to pay for a plan that has too few answers for the first question already."""
    assert quote.plan is not None
    if quote.slots > quote.plan.slots:
        raise BudgetExceeded(
            f"This question uses {quote.slots} answers, and the plan would have {quote.plan.slots}. Nothing "
            "was spent.",
            "Plan more answers.",
            Give("queries"),
            requested=quote.slots,
            remaining=quote.plan.slots,
        )


@dataclass(frozen=True, slots=True)
class Releaser:
    """Stands between an analyst and the data; everything was priced before.

    `dataset` is the name that the budget is kept under, `source` where these rows are: one dataset may hold
    several files, and an answer from one is no answer for another. `version` tells, when it is called, which
    state of them is there, `vintages` which rows they are, where both have labels.
    """

    dataset: str
    source: str
    engine: Engine
    account: Account
    analyst: str
    version: Callable[[], str | None] = _unknown
    vintages: tuple[str, ...] = ()

    def offered(self, quote: Quote) -> StoredOffer | None:
        """Return the stored answer that a quote would get; nothing is told to who may not ask."""
        if quote.payment.fresh:
            return None
        try:
            answer = self.account.stored(self._request(quote))
        except LedgerError:
            return None
        return None if answer is None else offer(quote, answer)

    def answer(self, quote: Quote) -> list[Answer]:
        """Answer what was quoted for what was quoted, or return what was answered to the very same before."""
        for noise in (noise for each in quote.asked for noise in each.noises):
            noise.sample(0)  # Too wide a noise is refused now, before anything is spent.
        if quote.plan is not None and not quote.plan.id:
            # Before a plan is paid, a retry is answered, or refused if its key was used for another question.
            known = self.account.stored(self._request(quote))
            if known is not None:
                return self._stored(known, quote)
            _check_slots(quote)
            quote = replace(
                quote, plan=open_plan(self.account, quote.plan, self.analyst), charge=Charge.zero()
            )
        identifier, given = random_bytes(16).hex(), None
        try:
            given = self._reserved(quote, identifier)
            if isinstance(given, StoredAnswer):
                return self._stored(given, quote)
            with working("Reading the data"):
                released = [self._noisy(each) for each in quote.asked]
            written = write_released(released, quote.charge)
        except BaseException as error:
            self._give_up(given, identifier, error)
            if isinstance(given, Reservation) and isinstance(error, DataError):
                error.remedies += (_kept(quote, "rows may have been read"),)
            raise
        try:
            settled = self.account.settle_with_standing(given, written, self._plans_of(quote))
        except AccessRefused:
            raise  # It is stored, but a grant has ended since.
        except LedgerError as error:
            again = Advice("The charge is on record: a retry of the same request does not pay again.")
            lost = _kept(quote, "rows were read and no answer could be stored")
            error.remedies += (lost if quote.payment.request is None else again,)
            raise
        return self._show(released, replace(quote, stored=None), *settled, given.public)

    def _give_up(
        self, given: Reservation | StoredAnswer | None, identifier: str, error: BaseException
    ) -> None:
        """Record that no answer was given, also where Ctrl-C came before the reservation was known here."""
        with suppress(DovetailError):
            if isinstance(given, Reservation):
                unread = isinstance(error, DataError)
                self.account.fail(given, "the data could not be read" if unread else "stopped on the way")
            elif given is None and not isinstance(error, DovetailError):
                self.account.abandon(identifier)

    def _stored(self, given: StoredAnswer, quote: Quote) -> list[Answer]:
        """Show an answer that was given before, with the noise and the charge that it had."""
        offered = offer(quote, given)
        if given.stale:
            warnings.warn(
                StaleAnswer(
                    f"This answer was stored on {day(given.answered_at)}; {changed(offered)}.",
                    "It describes the rows at that time.",
                    Give("fresh"),
                ),
                stacklevel=5,
            )
        then = replace(quote, asked=offered.asked, charge=charge_then(given), stored=offered)
        released = read_released(given.answer, [each.question for each in quote.asked])
        standing = given.standing or self.account.standing(self._plans_of(quote))
        return self._show(released, then, given.answered_at, standing, given.public)

    def _plans_of(self, quote: Quote) -> str | None:
        """Return whose plans an answer tells of: where a plan pays, how much of it is left."""
        return None if quote.plan is None else self.analyst

    def _reserved(self, quote: Quote, identifier: str) -> Reservation | StoredAnswer:
        """Charge the quote, or find it answered before; where it costs too much, say what the rest buys."""
        try:
            return self.account.reserve(self._request(quote, identifier))
        except BudgetExceeded as error:
            standing, asked = self.account.standing(), quote.asked[0]
            alone = quote.plan is None and len(quote.asked) == 1 and asked.threshold is None
            # Of tables that are measured unevenly, only a plan at that price would know.
            alone = alone and all(way.even for way in asked.ways[:1])
            # Where nothing is told of what remains, what it buys would tell it.
            if not alone or standing.budget is None or error.remaining is None:
                raise
            left = (standing.budget, standing.spent, quote.neighbours, quote.level)
            reachable = error_of_rest(asked.question, *left)
            error.remedies = tuple(
                AskForLess(reachable, quote.level, each.smaller_delta)
                if isinstance(each, AskForLess)
                else each
                for each in error.remedies
            )
            raise

    def _noisy(self, asked: QuotedQuery) -> ReleasedCells:
        secret = self.account.secret if asked.question.persons is not None else b""
        if asked.threshold is None:
            true = true_cells(self.engine, asked.question, secret)
            return noised(true, asked.question.measure.components(), asked.noises)
        # Closed when stopped on the way, too: a traceback that somebody keeps must not keep the engine busy.
        with closing(held_cells(self.engine, asked.question, secret)) as held:
            return discovered(held, cell_reader(asked.question), asked.noises[0], asked.threshold)

    def _request(self, quote: Quote, identifier: str | None = None) -> Request:
        body, question = bodies(quote, self.source)
        return Request(
            body=body,
            charge=quote.charge,
            analyst=self.analyst,
            key=quote.payment.request,
            fresh=quote.payment.fresh,
            plan=None if quote.plan is None else quote.plan.id,
            slots=max(quote.slots, 1),
            vintages=self.vintages,
            # Taken before a row is read: an answer is never about an older state than its version says.
            version=self.version(),
            public=identifier,
            question=question,
            accepts=accepted(quote),
        )

    def _show(
        self,
        released: Sequence[ReleasedCells],
        quote: Quote,
        answered_at: datetime,
        standing: Standing,
        reference: str | None,
    ) -> list[Answer]:
        plan, stored = quote.plan, quote.stored
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
                    standing.budget.remaining(standing.spent),
                    stored is not None,
                    quote.payment.clamp,
                    None if plan is None else plan.id,
                    level=quote.level,
                    # As it stands now, with the number of answers that are left.
                    paid_by=next((open_ for open_ in standing.plans if open_ == plan), None),
                    found=each.found,
                    threshold=asked.threshold,
                    together=len(quote.asked),
                    stale=stored is not None and stored.stale,
                    versioned=stored is None or stored.versioned,
                    vintages=self.vintages,
                    reference=reference,
                )
            )
            for asked, each in zip(quote.asked, released, strict=True)
        ]
