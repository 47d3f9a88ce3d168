"""Errors as application/problem+json (RFC 9457): one form for all, and nothing private in any."""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi.responses import Response

from dovetail import errors as e
from dovetail.errors import DovetailError

from .error_words import words

_TYPE = "https://dovetail.invalid/problems/"
_STATUSES: tuple[tuple[type[DovetailError], int], ...] = (
    (e.BudgetExceeded, 409),
    (e.DataError, 503),
    (e.LedgerCorrupt, 503),
    (e.LedgerBusy, 503),
    (e.LedgerUnavailable, 503),
    (e.RequestConflict, 422),
    (e.AccessRefused, 403),
    (e.LedgerError, 409),
)
_UNAVAILABLE = "The ledger of this service cannot be reached or written now; no answer was given."
_BUSY = "The ledger of this service is busy now; nothing was spent."
_AGAIN = "Try again with the same Idempotency-Key: what was charged already is not charged again."
_AFTER = {429: "10", 503: "5"}


class Refused(Exception):
    """A refusal of the service's own: `code` names it, `more` are further members of its form."""

    def __init__(self, status: int, code: str, detail: str, *fix: str, **more: Any) -> None:
        super().__init__(code)
        self.status, self.code, self.detail, self.fix, self.more = status, code, detail, fix, more


def not_found() -> Refused:
    """Return the one refusal for what is unknown and for what is not yours to know."""
    return Refused(404, "not-found", "There is nothing here that you may see.")


def unauthenticated() -> Refused:
    """Return the one refusal for a key or cookie that is missing, wrong, revoked or over."""
    return Refused(
        401,
        "unauthenticated",
        "A valid key is needed.",
        "Send Authorization: Bearer and your key; the curator gives you another if it was revoked.",
    )


def internal() -> Refused:
    """Return what is said of an error that nobody foresaw: its own text could hold a private value."""
    return Refused(500, "internal", "This should not have happened; it is a bug in the service.")


def status_of(error: DovetailError) -> int:
    """Return the status of an error of the library.

    >>> status_of(e.InvalidQuery("")), status_of(e.UpdatesExhausted("")), status_of(e.LedgerBusy(""))
    (400, 409, 503)
    """
    if is_for_the_operator(error):
        return 503
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 400)


def is_for_the_operator(error: DovetailError) -> bool:
    """Tell whether an error says where the ledger is kept, or what failed there."""
    return isinstance(error, e.LedgerUnavailable) or getattr(error, "kept_at", None) is not None


def for_the_log(error: DovetailError) -> dict[str, str]:
    """Return what the operator's log says of such an error: what failed, without a place.

    >>> for_the_log(e.LedgerUnavailable("The ledger /srv/a.ledger is full.", kept_at="/srv/a.ledger"))
    {'code': 'ledger-unavailable', 'reason': 'The ledger … is full.'}
    """
    place = getattr(error, "kept_at", None) or "…"
    return {"code": error.code, "reason": re.sub(r"\S*[/\\]\S*", "…", error.problem.replace(place, "…"))}


def form(error: DovetailError | Refused, request_id: str | None) -> dict[str, Any]:
    """Return the members of the problem."""
    if isinstance(error, Refused):
        said: dict[str, Any] = {"code": error.code, "fix": list(error.fix), "remedies": []}
        said |= dict.fromkeys(("parameter", "given", "allowed", "place")) | error.more
        status, detail = error.status, error.detail
    else:
        said = error.to_dict()
        detail, status = said.pop("problem"), status_of(error)
        said["fix"] = [text for text in map(words, error.remedies) if text]
        if is_for_the_operator(error):
            detail = _BUSY if isinstance(error, e.LedgerBusy) else _UNAVAILABLE
            said["remedies"], said["fix"] = [], [_AGAIN]
        if isinstance(error, e.BudgetExceeded):
            said |= {"requested": _text(error.requested), "remaining": _text(error.remaining)}
    code = said["code"]
    head = {"type": _TYPE + code, "title": code.replace("-", " ").capitalize(), "status": status}
    # The one 404 is the same for everybody, byte for byte.
    return head | {"detail": detail} | said | {"id": None if status == 404 else request_id}


def problem(error: DovetailError | Refused, request_id: str | None) -> Response:
    """Return the reply."""
    data = form(error, request_id)
    made = Response(
        json.dumps(data, ensure_ascii=False), data["status"], media_type="application/problem+json"
    )
    if data["status"] in _AFTER:
        made.headers["Retry-After"] = _AFTER[data["status"]]
    if data["status"] == 401:
        made.headers["WWW-Authenticate"] = "Bearer"
    made.headers["X-Problem"] = data["code"]
    return made


def _text(value: object) -> str | None:
    return None if value is None else str(value)
