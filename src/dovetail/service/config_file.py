"""Read the settings of a service from a TOML file; `docs/reference/service-configuration.md` lists them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from dovetail.check import integer
from dovetail.engines import Source
from dovetail.engines.source import is_address
from dovetail.errors import DataError, InvalidParameter
from dovetail.ledger.store_opening import seconds
from dovetail.privacy import Budget
from dovetail.query import Schema

from .bodies import read_budget, read_pacing
from .forms import ABOUT
from .oidc import Provider
from .rate_limit import parsed_rate
from .settings import DeclaredDataset, Limits, Settings

# What each setting is; where nothing is named, its reader says so itself.
_TEXT, _TRUTH, _NUMBER, _TEXTS = "a text", "true or false", "a whole number", "a list of texts"
_SERVICE: dict[str, str | None] = {
    **dict.fromkeys(("host", "ledger", "tls_certificate", "tls_key", "cookie_secret_file"), _TEXT),
    **dict.fromkeys(("port", "workers", "threads", "metrics_port"), _NUMBER),
    "hosts": _TEXTS,
    "behind_proxy": _TRUTH,
    "lease": None,
}
_DATASET: dict[str, str | None] = {
    **dict.fromkeys(("source", "connection", "table", "schema", "unit", "neighbours", "answers"), _TEXT),
    **dict.fromkeys(("max_rows", "max_cells"), _NUMBER),
    **dict.fromkeys(ABOUT, _TEXT),
    "public": _TRUTH,
    "budget": None,
    "pacing": None,
}
_LEAST_SECRET = 32


def read_settings(path: Path, **over: Any) -> Settings:
    """Return the settings of a file, with what the command line says instead.

    Paths are relative to the file.
    """
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"The configuration {path.name} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise DataError(f"The configuration {path.name} is not in UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"The configuration {path.name} is not TOML: {error}.") from None
    _only(said, ("service", "limits", "oidc", "data_roots", "connections", "datasets"), "the file")
    here, service = path.parent, _table(said, "service")
    _check_kinds(service, _SERVICE, "[service]")
    datasets = [_dataset(name, _table(said["datasets"], name), here) for name in _table(said, "datasets")]
    made: dict[str, Any] = {
        "ledger": _ledger(service, here),
        "datasets": tuple(datasets),
        "data_roots": _roots(_table(said, "data_roots"), here),
        "connections": {name: _address(name, each) for name, each in _table(said, "connections").items()},
        "limits": _limits(_table(said, "limits")),
        "oidc": _provider(_table(said, "oidc")),
    }
    plain = ("host", "behind_proxy", "port", "workers", "threads", "metrics_port")
    made |= {name: service[name] for name in plain if name in service}
    if "lease" in service:
        made["lease"] = seconds("lease", service["lease"])
    for name in ("tls_certificate", "tls_key"):
        if name in service:
            made[name] = here / service[name]
    made["hosts"] = tuple(service.get("hosts", ()))
    if "cookie_secret_file" in service:
        made["cookie_secret"] = _secret(here / service["cookie_secret_file"])
    return Settings(**made | over)


def _only(said: Mapping[str, Any], known: Collection[str], where: str) -> None:
    unknown = sorted(set(said) - set(known))
    if unknown:
        raise InvalidParameter("config", unknown[0], f"a setting of {where}: {', '.join(sorted(known))}")


def _check_kinds(said: Mapping[str, Any], known: Mapping[str, str | None], where: str) -> None:
    """Refuse a setting that does not exist, and one of another kind: "no" is not false."""
    _only(said, known, where)
    for name, value in said.items():
        kind = known[name]
        if kind is not None and not _IS[kind](value):
            # It may hold a password: only numbers are shown.
            shown = value if isinstance(value, bool | int | float) else "…"
            raise InvalidParameter(name, shown, f"{kind} in {where}")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_IS: dict[str, Callable[[Any], bool]] = {
    _TEXT: _is_text,
    _TRUTH: lambda value: isinstance(value, bool),
    _NUMBER: lambda value: type(value) is int,
    _TEXTS: lambda value: isinstance(value, list) and all(map(_is_text, value)),
}


def _roots(said: Mapping[str, Any], here: Path) -> dict[str, Path]:
    _check_kinds(said, dict.fromkeys(said, _TEXT), "[data_roots]")
    return {name: (here / place).resolve() for name, place in said.items()}


def _table(said: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = said.get(name, {})
    if not isinstance(table, dict):
        raise InvalidParameter("config", name, "a table of the file")
    return table


def _ledger(service: Mapping[str, Any], here: Path) -> str:
    place = service.get("ledger")
    if not place:
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
            read[name] = seconds(name, value)
        else:
            read[name] = integer(name, value, low=1)
    return Limits(**read)


def _dataset(name: str, said: Mapping[str, Any], here: Path) -> DeclaredDataset:
    _check_kinds(said, _DATASET, f"[datasets.{name}]")
    if "connection" in said:
        source = {"connection": said["connection"], "table": said.get("table", "")}
    elif said.get("source") == "adult":
        source = {"shipped": "adult"}
    else:
        source = {"path": str((here / said.get("source", name)).resolve())}
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
    if "path" not in source:
        return Schema()
    beside = Source(Path(source["path"]), "", table=source.get("table")).with_schema()
    return beside.schema or Schema()
