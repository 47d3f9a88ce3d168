"""Start and stop the service: the ledger first, then a socket, then one process or several."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from threading import Thread
from time import sleep
from typing import Any

import uvicorn

from dovetail.errors import DataError
from dovetail.ledger import Ledger
from dovetail.sampling import random_bytes

from .app import create_app
from .cookies import CODE_LIVES
from .http_protocol import HttpProtocol
from .metrics import serve_metrics
from .middleware import Middleware
from .registration import NewRecord, record, unrecorded
from .reloading import Renewal, certificate_files, check_settings, reload
from .settings import Settings

CURATOR = "curator"
_GRACE = 30
_MOST_WAITING = 256
# Seconds without a byte taken, after which a client that does not read its reply is given up.
_UNREAD = 30
# Seconds: a worker of a busy machine may take long to begin.
_UNWELL = 60
# One a second: longer than a worker takes to finish.
_METRICS_TRIES = 2 * _GRACE
# Its number in malloc.h.
_ARENA_MAX = -8


@dataclass(frozen=True, slots=True)
class Start:
    """What is told once: where the service is, the first curator's key, and the code for the console."""

    address: str
    key: str | None
    code: str | None


def prepare(settings: Settings) -> None:
    """Put the datasets of the configuration on record; the ledger is made when all of them can be served."""
    found = _unrecorded(settings)
    with closing(Ledger.open(settings.ledger, create=True)) as ledger:
        record(found, settings, ledger)


def _unrecorded(settings: Settings) -> list[NewRecord]:
    if not Ledger.exists(settings.ledger):
        return unrecorded(settings, None)
    with closing(Ledger.open(settings.ledger)) as ledger:
        return unrecorded(settings, ledger)


def first_curator(settings: Settings) -> tuple[str | None, str | None]:
    """Return a key and a code that works once, where no curator has a key yet."""
    with closing(Ledger.open(settings.ledger)) as ledger:
        curators = {each.id for each in ledger.people.all() if each.role == "curator"}
        keys = ledger.people.keys()
        if any(key.principal in curators and not key.revoked for key in keys):
            return None, None
        known = {each.name for each in ledger.people.all()}
        name = next(name for name in (CURATOR, *(f"{CURATOR}{n}" for n in range(2, 99))) if name not in known)
        ledger.people.add(name, "curator")
        code = ledger.people.make_key(name, expires=datetime.now(UTC) + CODE_LIVES)
        return ledger.people.make_key(name).text, code.text


def serve(
    settings: Settings,
    told: Callable[[Start], None],
    reread: Callable[[], Settings] | None = None,
) -> None:
    """Serve until a signal stops it; `reread` gives the settings anew when SIGHUP asks for it."""
    _quiet()
    _share_heaps()
    check_settings(settings)
    # Whatever can stop a start does so before anything is recorded, or a key is made that nobody would see.
    bound = bound_socket(settings)
    with closing(bound):
        prepare(settings)
        settings = replace(
            settings,
            port=bound.getsockname()[1],
            cookie_secret=settings.cookie_secret or random_bytes(32),
        )
        _run(settings, bound, told, reread)


def _run(
    settings: Settings,
    bound: socket.socket,
    told: Callable[[Start], None],
    reread: Callable[[], Settings] | None,
) -> None:
    made: Any = partial(_quiet_worker, settings) if settings.workers > 1 else worker(settings)
    config = configured(settings, made)
    told(Start(address_of(settings), *first_curator(settings)))
    # A graceful stop by Ctrl-C ends with the signal being raised once more.
    with suppress(KeyboardInterrupt):
        if settings.workers > 1:
            from .supervisor import Supervisor

            Supervisor(config, [bound], Renewal(settings, _quiet_worker, reread)).run()
        else:
            if hasattr(signal, "SIGHUP"):
                again = partial(reload, made, config, reread)
                signal.signal(signal.SIGHUP, lambda *_: Thread(target=again).start())
            uvicorn.Server(config).run(sockets=[bound])


def _quiet_worker(settings: Settings) -> Middleware:
    """Return the application of a process of its own."""
    _quiet()
    _share_heaps()
    return worker(settings)


def worker(settings: Settings) -> Middleware:
    """Return the application of one process, which opens a ledger of its own."""
    ledger = Ledger.open(settings.ledger, lease=settings.lease)
    app = create_app(settings, ledger)
    if settings.workers > 1:
        Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    if settings.metrics_port is not None:
        Thread(target=_serve_metrics, args=(app, settings), daemon=True).start()
    return app


def _follow(parent: int) -> None:
    """End this worker when the process that started it is gone, however it ended."""
    while os.getppid() == parent:
        sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def configured(settings: Settings, app: Any) -> uvicorn.Config:
    """Return how uvicorn runs the application."""
    certificate, key = certificate_files(settings)
    return uvicorn.Config(
        app,
        factory=settings.workers > 1,
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        ssl_certfile=certificate,
        ssl_keyfile=key,
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=15,
        timeout_worker_healthcheck=_UNWELL,
        limit_concurrency=_MOST_WAITING,
        lifespan="on",
        http=HttpProtocol,
        ws="none",
    )


def bound_socket(settings: Settings) -> socket.socket:
    """Return a socket that listens, before anything is promised."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio sends small replies at once only on sockets that say that they speak TCP.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        # Connections inherit it. Whoever reads nothing of a reply would hold it in memory for ever.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD * 1000)
    try:
        made.bind((settings.host, settings.port))
        # Of two that bind the same port at once, only one may listen.
        made.listen(_MOST_WAITING)
    except OSError as error:
        made.close()
        raise DataError(
            f"The service cannot listen at {settings.host}, port {settings.port}: {error.strerror}.",
            "Choose another port; 0 takes any that is free.",
        ) from None
    made.set_inheritable(True)
    return made


def address_of(settings: Settings) -> str:
    """Return the address that a browser on this machine takes."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    shown = "localhost" if settings.host in ("0.0.0.0", "::") else host
    return f"{'https' if settings.tls else 'http'}://{shown}:{settings.port}"


def _serve_metrics(app: Middleware, settings: Settings) -> None:
    """Serve figures on the port of the configuration, or for a further worker on the next free one.

    A worker that takes the place of another finds no port before that one has finished, and tries again.
    """
    assert settings.metrics_port is not None
    for _ in range(_METRICS_TRIES if settings.workers > 1 else 1):
        for port in range(settings.metrics_port, settings.metrics_port + settings.workers):
            with suppress(OSError):
                serve_metrics(app.service.metrics, "127.0.0.1", port)
                return
        sleep(1)
    app.service.log.warning("no port for metrics")


def _quiet() -> None:
    """Let the server's own log through from warnings on; addresses of requests stay out of it."""
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    logging.getLogger("dovetail").setLevel(logging.ERROR)


def _share_heaps() -> None:
    """Let the threads of this process share two heaps of the C library, unless its operator chose a number.

    glibc would make up to eight for each core, and each of them keeps what its threads have freed.
    """
    # Other C libraries have no such setting.
    with suppress(AttributeError, OSError, TypeError):
        if "MALLOC_ARENA_MAX" not in os.environ:
            ctypes.CDLL(None).mallopt(_ARENA_MAX, 2)
