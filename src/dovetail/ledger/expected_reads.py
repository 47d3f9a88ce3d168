"""Guess what a reservation will read, so that a server is asked for it together with the lock."""

from __future__ import annotations

from typing import NamedTuple

from dovetail.release.account import Request

from .balances import Row, balance_read
from .prepared_statements import Read
from .requests import AccountRequest, question_reads
from .vintages import Chosen

_MOST_KNOWN = 1000


class Circumstances(NamedTuple):
    """What a reservation found: the dataset and its settings, who asked, their grant, what it was about."""

    dataset: Row
    principal: int | None
    grant: Row | None
    chosen: Chosen


class Expectations:
    """What the last reservation of each analyst found.

    A guess that is wrong costs a read that is not used; settings themselves are always read anew.
    """

    def __init__(self) -> None:
        self._known: dict[str, Circumstances] = {}

    def remember(self, request: Request, found: Circumstances) -> None:
        """Keep what a reservation found, for the next one by the same analyst."""
        if not request.vintages and request.version is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[request.analyst] = found

    def reads(self, request: Request) -> list[Read]:
        """Return what will be read if everything is as it was for this analyst's last request."""
        known = self._known.get(request.analyst)
        if known is None or request.vintages or request.version is not None:
            return []
        reads = question_reads(AccountRequest(request, known.dataset, known.principal, known.chosen))
        if request.plan is not None:
            return reads
        subjects = [each["id"] for each in (known.dataset, known.grant) if each is not None]
        return reads + [balance_read(each, vintage) for each in subjects for vintage in known.chosen.bearing]
