"""What a service is started with; `config_file.py` reads it from TOML, the command line makes it directly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from dovetail.check import choice, integer
from dovetail.errors import InvalidParameter
from dovetail.ledger.store_opening import LEASE
from dovetail.privacy import Budget
from dovetail.query import Schema
from dovetail.query.neighbours import NEIGHBOURS

from .oidc import Provider

PORT = 8321
ANSWERS = ("own", "shared")
_MOST_WORKERS, _MOST_THREADS, _LAST_PORT = 1000, 1000, 65535
# What only another start changes.
_FIXED = (
    *("ledger", "host", "port", "behind_proxy", "cookie_secret", "first", "log_requests"),
    *("workers", "threads", "lease", "metrics_port"),
)
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class DeclaredDataset:
    """A dataset that the configuration declares; the ledger's registry begins with it.

    `source` says where the rows are, in the form that the registry keeps (see `sources.py`). Answers leave at
    moments that lie `pacing` seconds apart; at once where it is 0, and as the record says where it is None.
    """

    name: str
    source: Mapping[str, Any]
    budget: Budget | None = None
    schema: Schema = field(default_factory=Schema)
    unit: str | None = None
    max_rows: int | None = None
    max_cells: int | None = None
    neighbours: str = "add-remove"
    answers: str = "own"
    pacing: float | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        choice("neighbours", self.neighbours, NEIGHBOURS)
        choice("answers", self.answers, ANSWERS)


@dataclass(frozen=True, slots=True)
class UnpublishedSource:
    """Rows that were named at the start, which a curator has still to describe and publish in the console."""

    name: str
    source: Mapping[str, Any]
    budget: Budget | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may ask for at most; all of it is looked at before anything is parsed or run."""

    body: int = 1 << 20
    depth: int = 32
    sql: int = 20_000
    cells: int = 100_000
    batch: int = 100
    rate: str = "600/minute"
    body_seconds: float = 20
    patience: float = 10


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a process of the service needs to begin."""

    ledger: str
    host: str = "127.0.0.1"
    port: int = PORT
    hosts: tuple[str, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    behind_proxy: bool = False
    workers: int = 1
    threads: int = 16
    lease: float = LEASE
    metrics_port: int | None = None
    data_roots: Mapping[str, Path] = field(default_factory=dict)
    connections: Mapping[str, str] = field(default_factory=dict)
    datasets: tuple[DeclaredDataset, ...] = ()
    first: UnpublishedSource | None = None
    limits: Limits = field(default_factory=Limits)
    log_requests: bool = True
    oidc: Provider | None = None
    cookie_secret: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        integer("port", self.port, 0, _LAST_PORT, "0 takes any that is free.")
        integer("workers", self.workers, 1, _MOST_WORKERS)
        integer("threads", self.threads, 1, _MOST_THREADS)
        if self.metrics_port is not None:
            integer("metrics_port", self.metrics_port, 1, _LAST_PORT)
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise InvalidParameter("tls_key", None, "given together with the certificate")
        if not (self.loopback or self.tls or self.behind_proxy):
            raise InvalidParameter(
                "host",
                self.host,
                "an address of this machine alone, such as 127.0.0.1",
                "Keys would be sent unencrypted. Give a certificate and its key, or say that a TLS proxy "
                "is in front of the service.",
            )

    def renewed(self, read: Settings) -> Settings:
        """Return settings that were read again; what a process is begun with stays as it is."""
        fixed = _FIXED if self.tls == read.tls else (*_FIXED, "tls_certificate", "tls_key")
        return replace(read, **{name: getattr(self, name) for name in fixed})

    @property
    def loopback(self) -> bool:
        """Tell whether only this machine reaches the service."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def tls(self) -> bool:
        """Tell whether the service itself speaks TLS."""
        return self.tls_certificate is not None

    @property
    def secure(self) -> bool:
        """Tell whether browsers reach it by HTTPS."""
        return self.tls or self.behind_proxy

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The names that a request may call the service by."""
        own = () if self.host in ("0.0.0.0", "::") else (self.host,)
        return frozenset(name.lower() for name in (*LOOPBACK, *own, *self.hosts))
