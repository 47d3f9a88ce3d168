"""Read what a service replies into the library's own values, and write what it is sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from dovetail.answers.answer import Answer
from dovetail.answers.answer_classes import of_its_kind
from dovetail.answers.json_format import read_noise
from dovetail.answers.payment import Payment
from dovetail.answers.plan import Plan
from dovetail.answers.quote import Quote, QuotedQuery, Standing, StoredOffer
from dovetail.answers.threshold import Threshold
from dovetail.privacy import Budget, Charge
from dovetail.query.canonical_form import read_question
from dovetail.query.column import Column
from dovetail.query.schema import Schema


@dataclass(frozen=True, slots=True, repr=False)
class RemoteQuote(Quote):
    """A quote of a service: `offer` names it there, `body` is what was asked."""

    dataset: str = ""
    offer: str = ""
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """The service's name for exactly this offer."""
        return self.offer


def sent_payment(payment: Payment) -> dict[str, Any]:
    """Return how an answer is paid, as a service reads it."""
    sent: dict[str, Any] = {}
    if payment.within is not None:
        sent |= {"within": str(payment.within), "probability": str(payment.probability)}
    if payment.noise is not None:
        sent |= {"noise": payment.noise.to_dict(), "sensitivity": payment.sensitivity}
    if payment.spend is not None:
        sent["spend"] = payment.spend.to_dict()
    if payment.plan is not None:
        sent["plan"] = payment.plan.id
    if payment.queries is not None:
        sent["queries"] = payment.queries
    if payment.delta is not None:
        sent["delta"] = str(payment.delta)
    return sent | {name: True for name in ("clamp", "fresh") if getattr(payment, name)}


def read_quote(told: Mapping[str, Any], payment: Payment, body: dict[str, Any], dataset: str) -> Quote:
    """Read a quote."""
    standing, stored = told["standing"], told["stored"]
    return RemoteQuote(
        tuple(map(_quoted, told["asked"])),
        Charge.from_dict(told["charge"]),
        payment,
        Standing(Budget.from_dict(standing["budget"]), Charge.from_dict(standing["spent"])),
        told["neighbours"],
        None if told["plan"] is None else read_plan(told["plan"]),
        told["slots"],
        None if stored is None else _offer(stored),
        dataset=dataset,
        offer=told["digest"],
        body=body,
    )


def _offer(data: Mapping[str, Any]) -> StoredOffer:
    asked, at = tuple(map(_quoted, data["asked"])), datetime.fromisoformat(data["answered_at"])
    return StoredOffer(asked, at, data["stale"], data["versioned"])


def _quoted(data: Mapping[str, Any]) -> QuotedQuery:
    threshold = data.get("threshold")
    return QuotedQuery(
        read_question(data["question"]),
        tuple(map(read_noise, data["noise"])),
        None if threshold is None else Threshold(int(threshold), 0),
    )


def read_answer(data: Mapping[str, Any]) -> Answer:
    """Read an answer: everything that it can do there, it can do here."""
    return of_its_kind(Answer.from_json(json.dumps(data)))


def read_plan(data: Mapping[str, Any]) -> Plan:
    """Read a plan; its number is the service's public name for it."""
    return Plan.from_dict(data)


def read_schema(data: Mapping[str, Any]) -> Schema:
    """Read what is public of a dataset: columns, derived ones, lookups and the time zone."""
    columns = [_column(each) for each in data["columns"]]
    if not data.get("toml"):
        return Schema(columns)
    return replace(Schema.from_toml(data["toml"], folder=None), columns=columns)


def _column(data: Mapping[str, Any]) -> Column:
    low, high, step = (data.get(name) for name in ("low", "high", "step"))
    return Column(data["name"], data["type"], low, high, step, data.get("values"), data.get("other"))
