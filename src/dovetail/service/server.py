"""Start and stop the service: the ledger first, then a socket, then one process or several."""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import ssl
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from threading import Thread
from time import sleep
from typing import Any

import uvicorn

from dovetail.errors import DataError, DovetailError
from dovetail.ledger import Ledger
from dovetail.sampling import random_bytes

from .app import create_app
from .cookies import CODE_LIVES
from .logs import Log
from .metrics import serve_metrics
from .middleware import Middleware
from .registration import seed
from .settings import Settings

CURATOR = "curator"
_GRACE = 30
_MOST_WAITING = 256
# Seconds without a byte taken, after which a client that does not read its reply is given up.
_UNREAD = 30
# Seconds: a worker of a busy machine may take long to begin.
_UNWELL = 60
# Its number in malloc.h.
_ARENA_MAX = -8


@dataclass(frozen=True, slots=True)
class Start:
    """What is told once: where the service is, the first curator's key, and the code for the console."""

    address: str
    key: str | None
    code: str | None


def prepare(settings: Settings) -> None:
    """Make the ledger ready, and put the datasets of the configuration on record."""
    with closing(Ledger.open(settings.ledger, create=True)) as ledger:
        seed(settings, ledger)


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
    check_certificate(settings)
    prepare(settings)
    if not settings.cookie_secret:
        settings = replace(settings, cookie_secret=random_bytes(32))
    bound = bound_socket(settings)
    settings = replace(settings, port=bound.getsockname()[1])
    # Whatever stops a start does so before a key is made that nobody would see.
    made: Any = partial(_quiet_worker, settings, reread) if settings.workers > 1 else worker(settings)
    config = configured(settings, made)
    told(Start(address_of(settings), *first_curator(settings)))
    # A graceful stop by Ctrl-C ends with the signal being raised once more.
    with closing(bound), suppress(KeyboardInterrupt):
        if settings.workers > 1:
            from .supervisor import Supervisor

            Supervisor(config, [bound]).run()
        else:
            if hasattr(signal, "SIGHUP"):
                again = partial(reload, made, config, reread)
                signal.signal(signal.SIGHUP, lambda *_: Thread(target=again).start())
            uvicorn.Server(config).run(sockets=[bound])


def check_certificate(settings: Settings) -> None:
    """Refuse a certificate that cannot be used, before a ledger or a key is made."""
    certificate, key = settings.tls_certificate, settings.tls_key
    if certificate is None or key is None:
        return
    for file in (certificate, key):
        try:
            file.read_bytes()
        except OSError as error:
            raise DataError(f"{file} cannot be read: {error.strerror}.") from None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except ssl.SSLError:
        raise DataError(
            f"{certificate} and {key} are not a certificate and its key.", "Both are files in the form PEM."
        ) from None


def _quiet_worker(settings: Settings, reread: Callable[[], Settings] | None) -> Middleware:
    """Return the application of a process of its own, with the settings as they are when it begins."""
    _quiet()
    _share_heaps()
    return worker(settings if reread is None else read_again(settings, reread))


def read_again(settings: Settings, reread: Callable[[], Settings]) -> Settings:
    """Return the settings of now; where the file has a mistake, those of the start."""
    try:
        return settings.renewed(reread())
    except DovetailError:
        Log().warning("settings not read", worker=os.getpid())
        return settings


def worker(settings: Settings) -> Middleware:
    """Return the application of one process, which opens a ledger of its own."""
    ledger = Ledger.open(settings.ledger, lease=settings.lease)
    app = create_app(settings, ledger)
    if settings.workers > 1:
        Thread(target=_follow, args=(os.getppid(),), daemon=True).start()
    if settings.metrics_port is not None:
        _serve_metrics(app, settings)
    return app


def _follow(parent: int) -> None:
    """End this worker when the process that started it is gone, however it ended."""
    while os.getppid() == parent:
        sleep(1)
    os.kill(os.getpid(), signal.SIGTERM)


def reload(app: Middleware, config: uvicorn.Config, reread: Callable[[], Settings] | None) -> None:
    """Take new limits, roots, connections and certificates; the address stays what it is."""
    service = app.service
    try:
        service.reload(service.settings if reread is None else reread())
        certificate, key = service.settings.tls_certificate, service.settings.tls_key
        if certificate is not None and config.ssl is not None:
            # For the connections that begin from now on.
            config.ssl.load_cert_chain(certificate, key)
    except Exception as error:  # noqa: BLE001 - a mistake in the file must not stop the service
        service.log.fault(error)
        return
    service.log.info("reloaded")


def configured(settings: Settings, app: Any) -> uvicorn.Config:
    """Return how uvicorn runs the application."""
    return uvicorn.Config(
        app,
        factory=settings.workers > 1,
        workers=settings.workers,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        ssl_certfile=None if settings.tls_certificate is None else str(settings.tls_certificate),
        ssl_keyfile=None if settings.tls_key is None else str(settings.tls_key),
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=15,
        timeout_worker_healthcheck=_UNWELL,
        limit_concurrency=_MOST_WAITING,
        lifespan="on",
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


def _serve_metrics(app: Middleware, settings: Settings) -> Any:
    """Serve figures on the port of the configuration, or for a further worker on the next free one."""
    assert settings.metrics_port is not None
    for port in range(settings.metrics_port, settings.metrics_port + max(settings.workers, 1)):
        with suppress(OSError):
            return serve_metrics(app.service.metrics, "127.0.0.1", port)
    app.service.log.warning("no port for metrics")
    return None


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
