"""What the endpoints share: ledger, datasets, limits, the pool that answers; no budget, no key."""

from __future__ import annotations

from threading import Lock
from time import monotonic

from fastapi import Request

from dovetail.ledger import Ledger

from .answer_pool import AnswerPool
from .authentication import Caller
from .curator_reply_types import Verified
from .logs import Log
from .metrics import Metrics
from .oidc import Tokens
from .problems import Refused, not_found
from .rate_limit import RateLimit
from .served_datasets import ServedDataset, ServedDatasets
from .settings import Settings

_READY_AGAIN = 2.0


class Service:
    """One process of the service."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self.settings, self.ledger = settings, ledger
        self.log, self.metrics = Log(settings.log_requests), Metrics()
        self.served = ServedDatasets(
            ledger, settings, lambda code: self.log.warning("unreadable dataset", code=code)
        )
        self.served.refresh(now=True)
        self.pool = AnswerPool(settings.threads)
        self.tokens = _tokens(settings)
        self.verified: tuple[float, Verified] | None = None
        self.verifying = Lock()
        self.ready_at = -_READY_AGAIN
        self._rate = RateLimit(settings.limits.rate)

    def check_rate(self, request: Request, caller: Caller | None) -> None:
        """Refuse who asks too often; each worker counts for itself."""
        who = caller.principal.public if caller else f"from {request.client.host if request.client else ''}"
        if not self._rate.admits(who):
            raise Refused(
                429, "too-many-requests", "There were too many requests.", "Try again a little later."
            )

    def visible(self, caller: Caller, name: str) -> ServedDataset:
        """Return a dataset that the caller may know of; all others are not found, and cost the same work."""
        served = self.served.find(name)
        granted = self.granted(caller)
        if served is None or (granted is not None and served.entry.number not in granted):
            raise not_found()
        return served

    def granted(self, caller: Caller) -> set[int] | None:
        """Return the datasets that an analyst holds a grant for; None stands for all of them."""
        return None if caller.role != "analyst" else self.held(caller)

    def held(self, caller: Caller) -> set[int]:
        """Return the datasets that somebody, curator or analyst, holds a grant for."""
        return self.ledger.people.granted(caller.principal.id) if caller.granted is None else caller.granted

    def check_ready(self) -> None:
        """Refuse a ledger that is not ready; looked at once in two seconds at most."""
        with self.verifying:
            if monotonic() - self.ready_at >= _READY_AGAIN:
                self.ledger.check_ready()
                self.ready_at = monotonic()

    def reload(self, settings: Settings) -> None:
        """Take settings that were read again."""
        self.settings = self.settings.renewed(settings)
        self.tokens = _tokens(self.settings)
        self._rate = RateLimit(self.settings.limits.rate)
        self.served.reload(self.settings)

    def close(self) -> None:
        """Finish what is being answered, then let go of data and ledger."""
        self.pool.close()
        self.served.close()
        self.ledger.close()


def _tokens(settings: Settings) -> Tokens | None:
    return None if settings.oidc is None else Tokens(settings.oidc)
