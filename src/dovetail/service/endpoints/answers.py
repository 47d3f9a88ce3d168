"""What you asked before: as JSON, as a CSV that is safe in spreadsheets, as an Arrow stream or as Parquet."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dovetail.answers import Answer
from dovetail.answers.quote import Standing
from dovetail.check import error_bar_level, integer
from dovetail.errors import InvalidParameter
from dovetail.ledger.analyst_history import Asked
from dovetail.privacy import Budget
from dovetail.release.stored_answers import asked_by_run, recalled
from dovetail.service import forms
from dovetail.service.authentication import Caller, signed_in
from dovetail.service.long_answers import under_way
from dovetail.service.problems import Refused, not_found
from dovetail.service.replies import TAGGED, reply, service_of, tagged
from dovetail.service.reply_types import History, HistoryLine, Recalled, Reply, Running, State
from dovetail.service.routing import KeyRoute
from dovetail.service.service import Service

router = APIRouter(route_class=KeyRoute, tags=["Questions"])
CSV, ARROW = "text/csv", "application/vnd.apache.arrow.stream"
PARQUET = "application/vnd.apache.parquet"
_TABLE = {"schema": {"type": "string", "format": "binary"}}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer.",
        "content": {CSV: {"schema": {"type": "string"}}, ARROW: _TABLE, PARQUET: _TABLE},
    }
}
_STATES: dict[str, State] = {"reserved": "running", "answered": "answered", "failed": "failed"}
_NOTHING = Budget.pure("1e-9")


@router.get("/v1/answers", summary="Your history, newest first")
def history(request: Request, limit: int = 50, cursor: str | None = None) -> Reply[History]:
    """Only your own questions, one page at a time."""
    service, caller = service_of(request), signed_in(request)
    limit = integer("limit", limit, low=1, high=200)
    try:
        page = service.ledger.people.asked(caller.name, before=cursor, limit=limit + 1)
    except InvalidParameter:
        raise not_found() from None
    more = page[limit - 1].public if len(page) > limit else None
    return reply({"answers": [_line(each) for each in page[:limit]], "next": more})


@router.get("/v1/answers/{public}", responses=_FILES | TAGGED, summary="One of your answers")
def one(
    public: str,
    request: Request,
    level: str = "0.95",
    format: str | None = None,  # noqa: A002 - the name of the parameter in the address
    part: int = 0,
) -> Reply[Recalled] | Reply[HistoryLine] | Reply[Running] | Response:
    """`level` is that of the error bars, `format` json, csv, arrow or parquet; `part` picks one."""
    service, caller = service_of(request), signed_in(request)
    try:
        stored = service.ledger.people.answer(caller.name, public)
    except InvalidParameter:
        raise not_found() from None
    if stored.interrupted:
        raise Refused(
            503,
            "interrupted",
            "The process that was answering this question stopped.",
            "Send it again with the same Idempotency-Key: nothing more is paid.",
        )
    if stored.state == "reserved":
        return under_way(public)
    if stored.answer is None or asked_by_run(stored.body):
        return reply(_line(stored))
    answers = _answers(service, caller, stored, error_bar_level("level", level, "For example 0.9."))
    kind = format or _accepted(request)
    if kind == "json":
        return tagged(request, _whole(stored, answers))
    return _file(answers[integer("part", part, low=0, high=len(answers) - 1)], kind, public)


def _answers(service: Service, caller: Caller, found: Asked, level: Fraction) -> list[Answer]:
    catalogue = service.ledger.catalogue
    allotted = catalogue.number(found.dataset) in service.held(caller)
    # Once a grant is gone, an own answer is still shown, and nothing about the budget.
    account = catalogue.account(found.dataset, caller.name).about(*found.vintages)
    standing = account.standing() if allotted else Standing(_NOTHING)
    assert found.answer is not None
    assert found.answered_at is not None
    given = (found.dataset, found.body, found.answer, found.answered_at)
    return recalled(*given, standing, level, vintages=found.vintages)


def _line(asked: Asked) -> HistoryLine:
    run = asked_by_run(asked.body)
    return {
        "id": asked.public,
        "dataset": asked.dataset,
        "asked_at": asked.asked_at.isoformat(),
        "answered_at": None if asked.answered_at is None else asked.answered_at.isoformat(),
        "state": _STATES[asked.state],
        "words": forms.request_words(asked.body),
        "price": None if asked.charge is None else forms.amount(asked.charge),
        "plan": None if run else asked.plan,
        "run": asked.plan if run else None,
        "vintages": list(asked.vintages),
    }


def _whole(found: Asked, answers: list[Answer]) -> Recalled:
    return {
        **_line(found),
        "state": "answered",
        "stored": True,
        "sql": None,
        "table": None,
        "remaining": answers[0].remaining.to_dict(),
        "answers": [forms.answer(each) for each in answers],
    }


def _accepted(request: Request) -> str:
    wanted = request.headers.get("accept", "")
    kinds = {CSV: "csv", ARROW: "arrow", PARQUET: "parquet"}
    return next((kind for media, kind in kinds.items() if media in wanted), "json")


def _file(answer: Answer, kind: str, public: str) -> Response:
    """Return the table of an answer as a file."""
    if kind == "csv":
        return _attached(answer.to_csv().encode(), CSV + "; charset=utf-8", f"{public}.csv")
    if kind not in ("arrow", "parquet"):
        raise Refused(400, "invalid-parameter", "format must be json, csv, arrow or parquet.")
    import pyarrow

    sink = pyarrow.BufferOutputStream()
    # Of marginals, `table` is a method: all their tables stand below each other here.
    table = answer.interval(answer.level) if answer.query.grouped else answer.table
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, sink)
        return _attached(sink.getvalue().to_pybytes(), PARQUET, f"{public}.parquet")
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return _attached(sink.getvalue().to_pybytes(), ARROW, f"{public}.arrows")


def _attached(body: bytes, media: str, name: str) -> Response:
    return Response(body, media_type=media, headers={"Content-Disposition": f'attachment; filename="{name}"'})
