"""Ask: a quote costs nothing, an answer costs exactly what was quoted."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request

from dovetail.answers import Answer, Quote
from dovetail.answers.select_layout import laid_out
from dovetail.errors import BudgetExceeded
from dovetail.ledger import DatasetAccount
from dovetail.ledger.text import composed
from dovetail.query import Workload
from dovetail.query.sql import Selection
from dovetail.release.account import PlanState
from dovetail.service import forms
from dovetail.service.authentication import Caller, in_role
from dovetail.service.bodies import (
    AnswerBody,
    QuoteBody,
    check_sql,
    idempotency_key,
    one_of,
    read_payment,
    read_queries,
)
from dovetail.service.problems import Refused
from dovetail.service.replies import reply, service_of
from dovetail.service.reply_types import Answered, QuoteForm, Reply, Running
from dovetail.service.routing import AnswerRoute, KeyRoute
from dovetail.service.served_datasets import ServedDataset
from dovetail.service.service import Service

router = APIRouter(route_class=KeyRoute, tags=["Questions"])
answering = APIRouter(route_class=AnswerRoute, tags=["Questions"])


@router.post("/v1/datasets/{name}/quotes", summary="What a question would cost, and how accurate it would be")
def quoted(name: str, body: QuoteBody, request: Request) -> Reply[QuoteForm]:
    """Nothing is read from the data and nothing is spent."""
    asker = Asker.of(name, request, body.vintages)
    offered, _ = asker.quote(body, None)
    return reply(asker.form(asker.told(offered)))


@answering.post("/v1/datasets/{name}/answers", summary="Answer a question, for its price")
def answered(name: str, body: AnswerBody, request: Request) -> Reply[Answered] | Reply[Running]:
    """The same Idempotency-Key never pays twice. If it takes long, the reply is 202 with a Location."""
    key = idempotency_key(request)
    asker = Asker.of(name, request, body.vintages)
    request.state.running = lambda: asker.running(key)
    return reply(asker.answer(body, key))


class Asker:
    """Somebody who asks about a dataset that they hold a grant for."""

    def __init__(
        self, service: Service, caller: Caller, served: ServedDataset, vintages: Sequence[str] = ()
    ) -> None:
        self.service, self.caller, self.served = service, caller, served
        # As they were declared: another spelling of a label would not find the place of its rows.
        self.vintages = tuple(dict.fromkeys(composed("vintage", each) for each in vintages))
        self.session = served.session_of(caller, self.vintages)
        self._limits = service.settings.limits

    @classmethod
    def of(cls, name: str, request: Request, vintages: Sequence[str] = ()) -> Asker:
        """Return who asks; whoever holds no grant learns nothing."""
        service, caller = service_of(request), in_role(request, "analyst", "curator")
        served = service.visible(caller, name)
        if served.entry.retired:
            raise Refused(409, "ledger-error", "This dataset was retired: nothing more is answered.")
        return cls(service, caller, served, vintages)

    @property
    def account(self) -> DatasetAccount:
        """The dataset's account, as the caller sees it."""
        account = self.service.ledger.catalogue.account(self.served.entry.name, self.caller.name)
        return account.about(*self.vintages)

    def plans(self) -> list[PlanState]:
        """Return the plans and runs that the caller may use."""
        return self.account.plans_of(self.caller.name)

    def quote(self, body: QuoteBody, key: str | None) -> tuple[Quote, Selection | None]:
        """Price what a body asks."""
        one_of(body)
        selection = None
        queries: Any
        if body.sql is not None:
            selection = self.session.read_sql(check_sql(body.sql, self._limits))
            queries = selection.queries
        else:
            queries = read_queries(body.question, self._limits)
            queries = Workload(queries) if body.workload else queries
        plans = self.account.usable_plans(self.caller.name) if "plan" in body.pay else []
        payment = read_payment(body.pay, plans, key)
        # An order finds a stored answer when it is carried out; only a digest tells of it before.
        told = not isinstance(body, AnswerBody) or body.quote is not None
        offered = self.session.quoted(queries, payment, stored=told)
        listed = (each.question for each in offered.asked if not each.question.discovers)
        cells = sum(question.cells * question.measure.numbers() for question in listed)
        if cells > self._limits.cells:
            raise Refused(413, "too-large", f"{cells} cells are more than {self._limits.cells}.")
        return offered, selection

    def check_places(self) -> None:
        """Refuse to read rows that lie outside of their data root by now, before anything is spent."""
        self.service.served.check_places(self.served, self.vintages)

    def told(self, offered: Quote) -> Quote:
        """Return a quote as the caller is told it."""
        return offered if offered.plan is None else forms.outside(offered, self.plans())

    def form(self, told: Quote) -> QuoteForm:
        """Return the form of a quote."""
        return forms.quote(told, self.served.entry.name, self.vintages)

    def answer(self, body: AnswerBody, key: str) -> Answered:
        """Answer what a body asks; a quote that is named must still be the price."""
        offered, selection = self.quote(body, key)
        named, told = body.quote, None if body.quote is None else self.told(offered)
        if told is not None and named != forms.digest(told, self.vintages):
            raise Refused(
                409,
                "quote-changed",
                "The offer is not the one that was quoted; nothing was spent.",
                "Look at the new quote and name its digest.",
                quote=self.form(told),
            )
        self.check_places()
        try:
            answers = self.session.answer(offered)
        except BudgetExceeded:
            self.service.metrics.refusals[self.served.entry.name] += 1
            raise
        return self.shown(answers, selection, body.sql)

    def shown(self, answers: list[Answer], selection: Selection | None, sql: str | None) -> Answered:
        """Return the reply to an answered question."""
        first = answers[0]
        plan = None if first.plan is None else forms.public_plan(first.plan, self.plans())
        table = None
        if selection is not None:
            table = forms.paid_by(json.loads(laid_out(str(sql), selection, answers).to_json()), plan)
        return {
            "id": first.reference,
            "dataset": self.served.entry.name,
            "state": "answered",
            "stored": first.stored,
            "price": forms.amount(first.charge),
            "remaining": first.remaining.to_dict(),
            "answered_at": first.answered_at.isoformat(),
            "sql": sql,
            "answers": [forms.answer(each, plan) for each in answers],
            "table": table,
        }

    def running(self, key: str) -> str | None:
        """Return the public identifier of what is being answered under a key."""
        request = self.service.ledger.people.asked_under(self.caller.name, self.served.entry.name, key)
        return None if request is None else request.public
