"""Is the process alive, and may it be sent requests? Nothing here tells what the service knows."""

from __future__ import annotations

from fastapi import APIRouter, Request

from dovetail.errors import DovetailError
from dovetail.service.problems import Refused, for_the_log
from dovetail.service.replies import reply, service_of
from dovetail.service.reply_types import Reply, Status
from dovetail.service.routing import OpenRoute

opening = APIRouter(route_class=OpenRoute, tags=["Health"])


@opening.get("/healthz", summary="The process is alive")
def alive() -> Reply[Status]:
    """It says nothing about the ledger."""
    return reply({"status": "ok"})


@opening.get("/readyz", summary="The ledger is writable and its head verifies")
def ready(request: Request) -> Reply[Status]:
    """A ledger restored from an old copy is not ready: its witness shows that."""
    service = service_of(request)
    try:
        service.check_ready()
    except DovetailError as error:
        service.log.warning("not ready", **for_the_log(error))
        raise Refused(
            503, "not-ready", "The ledger is not ready.", "The operator finds the reason in the log."
        ) from None
    return reply({"status": "ready"})
