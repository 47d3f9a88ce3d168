"""What SIGHUP does: the file is read again, checked as a whole, and then holds for every worker.

One process takes the settings as it runs. Several are replaced one by one, and the process that starts them
hands out the settings, so that a worker that dies later does not begin with a file that nobody has approved.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from contextlib import closing
from functools import partial
from threading import Lock
from typing import Any

import uvicorn

from dovetail.errors import DataError
from dovetail.ledger import Ledger

from .logs import Log
from .middleware import Middleware
from .oidc import check_library
from .registration import set_pacing
from .settings import Settings

MakeWorker = Callable[[Settings], Any]
# A file that is read later must not be overtaken by an earlier one.
_TAKING_TURNS = Lock()


def check_settings(settings: Settings) -> None:
    """Refuse what cannot work although it reads well, before a ledger or a key is made."""
    check_certificate(settings)
    if settings.oidc is not None:
        check_library()


def check_certificate(settings: Settings) -> None:
    """Refuse a certificate that cannot be used."""
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


def reload(app: Middleware, config: uvicorn.Config, reread: Callable[[], Settings] | None) -> None:
    """Let the one process of a service take the settings of now; after a mistake it keeps those it has."""
    service = app.service
    try:
        with _TAKING_TURNS:
            settings = _read_again(service.settings, reread)
            set_pacing(settings, service.ledger)
            if settings.tls_certificate is not None and config.ssl is not None:
                # For the connections that begin from now on.
                config.ssl.load_cert_chain(settings.tls_certificate, settings.tls_key)
            service.reload(settings)
    except Exception as error:  # noqa: BLE001 - a mistake in the file must not stop the service
        service.log.fault(error)
        return
    service.log.info("reloaded")


class Renewal:
    """The settings with which workers begin."""

    def __init__(
        self, settings: Settings, make: MakeWorker, reread: Callable[[], Settings] | None = None
    ) -> None:
        self._settings, self._make, self._reread = settings, make, reread

    def __call__(self, config: uvicorn.Config) -> bool:
        """Let workers begin with the settings of now; tell whether there was no mistake in them."""
        try:
            settings = _read_again(self._settings, self._reread)
            with closing(Ledger.open(settings.ledger)) as ledger:
                set_pacing(settings, ledger)
        except Exception as error:  # noqa: BLE001 - a mistake in the file must not stop the service
            Log().fault(error, worker=os.getpid())
            return False
        self._settings = settings
        config.app = partial(self._make, settings)
        config.ssl_certfile, config.ssl_keyfile = certificate_files(settings)
        return True


def certificate_files(settings: Settings) -> tuple[str | None, str | None]:
    """Return the files of the certificate as uvicorn takes them."""
    if settings.tls_certificate is None:
        return None, None
    return str(settings.tls_certificate), str(settings.tls_key)


def _read_again(settings: Settings, reread: Callable[[], Settings] | None) -> Settings:
    if reread is None:
        return settings
    renewed = settings.renewed(reread())
    check_settings(renewed)
    return renewed
