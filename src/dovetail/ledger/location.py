"""Where a ledger is kept when nobody says, and how a source is named in it."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit, urlunsplit

SUFFIX = ".ledger"
_POSTGRES = ("postgresql://", "postgres://", "postgresql+psycopg://")


def source_name(source: str | Path, table: str | None = None) -> str:
    """Return the lasting name of a source: the resolved path or the URL without its password, and the table.

    The user is left out as well: who asks does not make a second budget.

    >>> source_name("postgres://ann:secret@DB:5432/clinic", "visits")
    'postgresql://db/clinic#visits'
    """
    text = str(source)
    if text.startswith(_POSTGRES):
        name = _server_name(text)
    elif "://" in text:
        parts = urlsplit(text)
        user, at, host = parts.netloc.rpartition("@")
        # The query of a URL can hold a password too, and does not say which data it is.
        name = urlunsplit((parts.scheme, user.split(":", 1)[0] + at + host, parts.path, "", ""))
    else:
        name = str(Path(text).expanduser().resolve())
    return name if table is None else f"{name}#{table}"


def _server_name(address: str) -> str:
    """Return a PostgreSQL address as it tells which data are meant: server, port and database."""
    parts = urlsplit(address)
    options = dict(parse_qsl(parts.query))
    host, _, port = parts.netloc.rpartition("@")[2].partition(":")
    host, port = options.get("host", host).lower(), options.get("port", port)
    place = host if port in ("", "5432") else f"{host}:{port}"
    return f"postgresql://{place}/{options.get('dbname', parts.path.lstrip('/'))}"


def default_path(source: str | Path) -> Path:
    """Return the ledger's file for a source: beside the data, or in the user's data folder.

    A ledger that is there already is used: a folder that becomes writable does not mint a new budget.

    >>> default_path("postgresql://db/clinic").suffix
    '.ledger'
    """
    named = source_name(source)
    mine = _user_folder() / f"{_short(named)}-{sha256(named.encode()).hexdigest()[:16]}{SUFFIX}"
    if "://" in named:
        return mine
    data = Path(named)
    beside = data.with_name(data.name + SUFFIX)
    if beside.exists() or not (mine.exists() or not os.access(data.parent, os.W_OK)):
        return beside
    return mine


def _user_folder() -> Path:
    # Imported here: a session that names its ledger never needs it.
    from platformdirs import user_data_path

    return user_data_path("dovetail", appauthor=False, ensure_exists=True)


def _short(named: str) -> str:
    """Return a few letters that a person recognises the source by."""
    last = named.rstrip("/").rsplit("/", 1)[-1]
    return "".join(letter if letter.isalnum() else "-" for letter in last)[:40].strip("-") or "data"
