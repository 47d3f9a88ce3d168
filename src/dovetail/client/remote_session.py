"""A session whose data, ledger and noise are a service's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as escaped

from dovetail.answers.answer import Answer
from dovetail.answers.payment import Payment, answers_planned, designed_for, noise_of_slots
from dovetail.answers.plan import Plan
from dovetail.answers.quote import Quote
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.errors.remedies import Give
from dovetail.privacy import Budget, Remaining
from dovetail.query.query_json import json_ready, to_dict
from dovetail.query.schema import Schema, Table
from dovetail.query.workload import Workload
from dovetail.session_methods.marginals import MarginalMethods

from .connection import ServiceConnection, new_request
from .replies import (
    RemoteQuote,
    read_answer,
    read_plan,
    read_quote,
    read_schema,
    sent_payment,
)

if TYPE_CHECKING:
    from dovetail.query.queries import Query
    from dovetail.query.sql import Selection

    from .remote_run import RemoteRun, RemoteRunDesign

_KEY = "DOVETAIL_KEY"


def connect(
    url: str, *, key: str | None = None, dataset: str | None = None, vintage: str | Sequence[str] = ()
) -> RemoteSession:
    """Return a session on a service: the same questions, quotes and answers, paid from your allotment there.

    `key` is what the curator gave you; without it, the environment variable DOVETAIL_KEY is read. `dataset`
    may be left out where only one was granted to you. `vintage` says which of its rows are meant, such as a
    month, by labels that its curator declared.
    """
    given = os.environ.get(_KEY) if key is None else key
    if not given:
        raise InvalidParameter("key", None, f"the key that the curator gave you, here or in {_KEY}")
    connection = ServiceConnection(url, given)
    try:
        labels = [vintage] if isinstance(vintage, str) else vintage
        return RemoteSession(connection, _chosen(connection, dataset), vintage=labels)
    except BaseException:
        connection.close()
        raise


def _chosen(connection: ServiceConnection, dataset: str | None) -> str:
    if dataset is not None:
        return dataset
    names, cursor = [], None
    while True:
        page = connection.get("/v1/datasets", cursor=cursor)
        names += [str(each["name"]) for each in page["datasets"]]
        cursor = page["next"]
        if cursor is None:
            break
    if len(names) == 1:
        return names[0]
    if not names:
        raise InvalidParameter("key", "…", "one with a grant", "Ask the curator to grant you a dataset.")
    raise InvalidParameter("dataset", None, f"one of {', '.join(names)}")


class RemoteSession(MarginalMethods):
    """A dataset of a service. `connect` opens it; questions are read here, and answered there.

    A lost reply costs nothing twice: every request has a name, `request` where one was given, and is sent
    again under it.
    """

    def __init__(self, connection: ServiceConnection, dataset: str, *, vintage: Sequence[str] = ()) -> None:
        self._connection = connection
        self._vintages = {"vintages": list(vintage)} if vintage else {}
        self._path = f"/v1/datasets/{escaped(dataset, safe='')}"
        self._about = self._fresh()
        self.name: str = self._about["name"]
        """The dataset's name."""

    def answer(self, quote: Quote) -> list[Answer]:
        """Answer a quote of this session; it is charged exactly what was quoted, or refused."""
        if not isinstance(quote, RemoteQuote) or quote.dataset != self.name:
            raise InvalidParameter("quote", quote, "a quote of this session")
        return self._paid(quote.body | {"quote": quote.offer}, quote.payment)

    def _quoted(self, queries: Query | Iterable[Query], payment: Payment) -> Quote:
        body = self._body(queries, payment)
        told = self._connection.post(f"{self._path}/quotes", body)
        return read_quote(told, payment, body, self.name)

    def _answered(self, queries: Iterable[Query], payment: Payment) -> list[Answer]:
        return self._paid(self._body(queries, payment), payment)

    def _paid(self, body: Mapping[str, Any], payment: Payment) -> list[Answer]:
        once = payment.request or new_request()
        told = self._connection.post(f"{self._path}/answers", body, once=once)
        return [read_answer(each) for each in told["answers"]]

    def _body(self, queries: Query | Iterable[Query], payment: Payment) -> dict[str, Any]:
        """Return a request; what the schema does not allow is refused here already."""
        listed = list(queries) if isinstance(queries, Iterable) else [queries]
        for query in listed:
            query.checked(self._table)
        body = {"question": [to_dict(query) for query in listed], "pay": sent_payment(payment)}
        body |= self._vintages
        return body | {"workload": True} if isinstance(queries, Workload) else body

    def _selection(self, text: str) -> Selection:
        from dovetail.query.sql import read_select

        return read_select(text, self._table, [self.name, self._about["sql_name"]], self._about["unit"])

    def plan(self, design: Any, *, queries: int, name: str | None = None) -> Plan:
        """Pay now for `queries` answers of one noise, to be asked freely one after another.

        Asking again returns the same plan, paid once; give another `name` to buy another.
        """
        slots = answers_planned(queries)
        noise = noise_of_slots("design", design, designed_for(design))
        body = {"noise": noise.to_dict(), "queries": slots, "name": name} | self._vintages
        return read_plan(self._connection.post(f"{self._path}/plans", body, once=new_request()))

    @property
    def plans(self) -> list[Plan]:
        """The plans that you may use, oldest first."""
        return list(map(read_plan, self._connection.get("/v1/plans", dataset=self.name)["plans"]))

    def quote_online(
        self,
        *columns: str,
        queries: int,
        ways: int = 3,
        bins: Any = None,
        base: Any = "auto",
        updates: Any = "auto",
        spend: Budget | None = None,
        promise: Real = "0.95",
        most_cells: int = 10**7,
    ) -> RemoteRunDesign:
        """Design an online run and return its price, as `Session.quote_online`; nothing is read or spent."""
        from .remote_run import RemoteRunDesign

        body = self._run(columns, queries, ways, bins, base, updates, spend, promise, most_cells)
        return RemoteRunDesign(self._connection.post(f"{self._path}/runs/quotes", body))

    def online(
        self,
        *columns: str,
        queries: int,
        ways: int = 3,
        bins: Any = None,
        base: Any = "auto",
        updates: Any = "auto",
        spend: Budget | None = None,
        promise: Real = "0.95",
        most_cells: int = 10**7,
    ) -> RemoteRun:
        """Pay once, then ask counts of these columns as often as you like, as `Session.online`."""
        from .remote_run import RemoteRun

        body = self._run(columns, queries, ways, bins, base, updates, spend, promise, most_cells)
        told = self._connection.post(f"{self._path}/runs", body, once=new_request())
        return RemoteRun(self._connection, told, lambda query: query.checked(self._table))

    def _run(
        self,
        columns: tuple[str, ...],
        queries: int,
        ways: int,
        bins: Any,
        base: Any,
        updates: Any,
        spend: Budget | None,
        promise: Real,
        most_cells: int,
    ) -> dict[str, Any]:
        """Return what the service is told of a run."""
        if not isinstance(spend, Budget | None):
            raise InvalidParameter("spend", spend, "a budget", Give("spend"))
        said = {"columns": columns, "queries": queries, "ways": ways, "bins": bins, "base": base}
        said |= {"updates": updates, "promise": str(promise), "most_cells": most_cells}
        said = {name: json_ready(value) for name, value in said.items()}
        return said | {"spend": None if spend is None else spend.to_dict()} | self._vintages

    @property
    def remaining(self) -> Remaining:
        """What your allotment can still pay, outside of plans."""
        return Remaining.from_dict(self._fresh()["mine"]["remaining"])

    @property
    def budget(self) -> Budget:
        """Your allotment of this dataset."""
        return Budget.from_dict(self._fresh()["mine"]["budget"])

    @property
    def protects(self) -> str:
        """Whom the answers protect."""
        return str(self._about["protects"])

    @cached_property
    def schema(self) -> Schema:
        """What is declared public."""
        return read_schema(self._about["schema"])

    @cached_property
    def _table(self) -> Table:
        return self.schema.table()

    def _fresh(self) -> dict[str, Any]:
        return self._connection.get(self._path, vintage=self._vintages.get("vintages"))

    def close(self) -> None:
        """Let go of the connection."""
        self._connection.close()

    def __enter__(self) -> RemoteSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<session on {self.name!r} at {self._connection.url}; protects {self.protects}>"
