"""Read the settings of a service from a TOML file; `docs/reference/service-configuration.md` lists them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from dovetail.check import integer, positive
from dovetail.engines.source import is_address
from dovetail.errors import DataError, InvalidParameter
from dovetail.privacy import Budget
from dovetail.query import Schema

from .bodies import read_budget, read_pacing
from .forms import ABOUT
from .oidc import Provider
from .rate_limit import parsed_rate
from .settings import DeclaredDataset, Limits, Settings

_SERVICE = {"host", "port", "hosts", "ledger", "tls_certificate", "tls_key", "behind_proxy", "workers"}
_SERVICE |= {"threads", "lease", "metrics_port", "cookie_secret_file"}
_DATASET = {
    "source",
    "connection",
    "table",
    "schema",
    "unit",
    "max_rows",
    "max_cells",
    "neighbours",
    "budget",
}
_DATASET |= {"answers", "public", "pacing", *ABOUT}
_LEAST_SECRET = 32


def read_settings(path: Path, **over: Any) -> Settings:
    """Return the settings of a file, with what the command line says instead.

    Paths are relative to the file.
    """
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is not TOML in UTF-8"
        raise DataError(f"The configuration {path.name} cannot be read: {why}.") from None
    _only(said, {"service", "limits", "oidc", "data_roots", "connections", "datasets"}, "the file")
    here, service = path.parent, _table(said, "service")
    _only(service, _SERVICE, "[service]")
    datasets = [_dataset(name, _table(said["datasets"], name), here) for name in _table(said, "datasets")]
    made: dict[str, Any] = {
        "ledger": _ledger(service, here),
        "datasets": tuple(datasets),
        "data_roots": {name: (here / place).resolve() for name, place in _table(said, "data_roots").items()},
        "connections": {name: _address(name, each) for name, each in _table(said, "connections").items()},
        "limits": _limits(_table(said, "limits")),
        "oidc": _provider(_table(said, "oidc")),
    }
    made |= {name: service[name] for name in ("host", "behind_proxy") if name in service}
    for name in ("port", "workers", "threads", "metrics_port"):
        if name in service:
            made[name] = integer(name, service[name], low=0, high=65535)
    if "lease" in service:
        made["lease"] = float(positive("lease", service["lease"], "Seconds, such as 600."))
    for name in ("tls_certificate", "tls_key"):
        if name in service:
            made[name] = here / service[name]
    made["hosts"] = tuple(service.get("hosts", ()))
    if "cookie_secret_file" in service:
        made["cookie_secret"] = _secret(here / service["cookie_secret_file"])
    return Settings(**made | over)


def _only(said: Mapping[str, Any], known: set[str], where: str) -> None:
    unknown = sorted(set(said) - known)
    if unknown:
        raise InvalidParameter("config", unknown[0], f"a setting of {where}: {', '.join(sorted(known))}")


def _table(said: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = said.get(name, {})
    if not isinstance(table, dict):
        raise InvalidParameter("config", name, "a table of the file")
    return table


def _ledger(service: Mapping[str, Any], here: Path) -> str:
    place = service.get("ledger")
    if not isinstance(place, str) or not place:
        raise InvalidParameter(
            "ledger", place, "named in [service]", 'For example ledger = "service.ledger".'
        )
    place = os.path.expandvars(place)
    return place if "://" in place else str(here / place)


def _address(name: str, said: Any) -> str:
    """Return the address of a connection; `$NAME` in it stands for a variable of the environment."""
    address = os.path.expandvars(said) if isinstance(said, str) else ""
    if not is_address(address) or "$" in address:
        # It may hold a password: it is not shown.
        raise InvalidParameter(
            f"connections.{name}",
            "…",
            "postgresql://USER@HOST/DATABASE or a Spark master, in which every $NAME is set",
        )
    return address


def _secret(path: Path) -> bytes:
    try:
        secret = path.read_bytes()
    except OSError as error:
        raise DataError(f"The cookie secret {path.name} cannot be read: {error.strerror}.") from None
    if len(secret) < _LEAST_SECRET:
        raise InvalidParameter(
            "cookie_secret_file", path.name, f"a file of at least {_LEAST_SECRET} random bytes"
        )
    return secret


def _provider(said: Mapping[str, Any]) -> Provider | None:
    if not said:
        return None
    _only(said, {each.name for each in fields(Provider)}, "[oidc]")
    if not {"issuer", "audience"} <= set(said) or not all(isinstance(each, str) for each in said.values()):
        raise InvalidParameter("oidc", sorted(said), "a table with issuer and audience, as texts")
    return Provider(**said)


def _limits(said: Mapping[str, Any]) -> Limits:
    known = {each.name: each for each in fields(Limits)}
    _only(said, set(known), "[limits]")
    read: dict[str, Any] = {}
    for name, value in said.items():
        if name == "rate":
            parsed_rate(str(value))
            read[name] = str(value)
        elif name in ("patience", "body_seconds"):
            read[name] = float(positive(name, value, "Seconds, such as 10."))
        else:
            read[name] = integer(name, value, low=1)
    return Limits(**read)


def _dataset(name: str, said: Mapping[str, Any], here: Path) -> DeclaredDataset:
    _only(said, _DATASET, f"[datasets.{name}]")
    if "connection" in said:
        source = {"connection": said["connection"], "table": said.get("table", "")}
    elif said.get("source") == "adult":
        source = {"shipped": "adult"}
    else:
        source = {"path": str((here / str(said.get("source", name))).resolve())}
        source |= {"table": said["table"]} if "table" in said else {}
    about = {key: said[key] for key in (*ABOUT, "public") if key in said}
    more: dict[str, Any] = {
        key: said[key] for key in ("unit", "max_rows", "max_cells", "neighbours", "answers") if key in said
    }
    more |= {"schema": _schema(said, source, here), "pacing": read_pacing(said.get("pacing"))}
    return DeclaredDataset(name, source, _budget(said.get("budget")), about=about, **more)


def _budget(said: Any) -> Budget | None:
    return None if said is None else read_budget("budget", said)


def _schema(said: Mapping[str, Any], source: Mapping[str, Any], here: Path) -> Schema:
    if "schema" in said:
        return Schema.read(here / said["schema"])
    if "shipped" in source:
        from dovetail import datasets

        return datasets.adult().schema or Schema()
    beside = Path(source["path"]).with_suffix(".toml") if "path" in source else None
    return Schema.read(beside) if beside is not None and beside.is_file() else Schema()
