"""Say which rows are the same data, however they are spelled: what a budget is kept for.

Everyone who keeps a budget asks here. Where two spellings cannot be told apart for certain they count as one,
so that nobody gets a second budget in silence; what nobody can know is said in `NOT_KNOWN`.
"""

from __future__ import annotations

import os
import posixpath
import socket
from hashlib import sha256
from ipaddress import IPv6Address, ip_address
from pathlib import Path
from unicodedata import normalize
from urllib.parse import quote, urlsplit, urlunsplit

from dovetail.errors import InvalidParameter

from .table_names import table_parts

POSTGRES = ("postgresql://", "postgres://", "postgresql+psycopg://")
NOT_KNOWN = (
    "Dovetail does not recognise a file that was renamed or moved, its copies and hard links, views, "
    "partitions and copies of a table, or a server under another name if it does not say which one it is. "
    "Each would get a budget of its own, and these budgets would add up."
)
_ADDRESS = "postgresql://USER@HOST/DATABASE"
# Without a schema, a table is that of the schema that databases begin with.
_LEFT_OUT = {"duckdb": ("source", "main"), "postgresql": ("public",), "spark": ("spark_catalog", "default")}
# Where PostgreSQL's own programs and the systems' packages put the socket of a server.
_SOCKETS = ("/tmp", "/run/postgresql", "/var/run/postgresql")
# Before the number of a server; no host is called so.
_SERVER = "postgresql://~"
_BUCKETS = {"s3": "s3a", "s3n": "s3a"}


def source_name(source: str | Path, table: str | None = None) -> str:
    """Return the lasting name of a path or an address, and of a table there; never a password.

    The user is left out: who asks does not make a second budget.

    >>> source_name("postgres://ann:secret@DB:5432/clinic", "visits")
    'postgresql://db/clinic#visits'
    """
    names = source_names(source, table)
    return names[0] if len(names) == 1 else " ".join(names)


def source_names(source: str | Path, table: str | None = None) -> tuple[str, ...]:
    """Return the lasting names: several where an address lists several servers."""
    text = str(source)
    if text.startswith(POSTGRES):
        kind, places = "postgresql", _databases(text)
    elif "://" in text or text.startswith("file:/"):
        kind, places = "spark", (_url(text),)
    else:
        kind, places = "duckdb", (path_name(Path(text)),)
    inner = "" if table is None else "#" + lasting_table(table, kind)
    return tuple(place + inner for place in places)


def server_name(system: int, database: str, table: str) -> str:
    """Return the lasting name of a table by the number that PostgreSQL gave its server when it was set up.

    It is the same through every host name, port and pooler, and on a standby.

    >>> server_name(7709388810392734566, "clinic", "public.visits")
    'postgresql://~7709388810392734566/clinic#visits'
    """
    return f"{_SERVER}{system}/{quote(database, safe='')}#{lasting_table(table, 'postgresql')}"


def is_server_name(name: str) -> bool:
    """Tell whether a name is one that only a server can tell (see `server_name`)."""
    return name.startswith(_SERVER)


def overlap(one: str, other: str) -> bool:
    """Tell whether two names may hold the same rows: equal, or a folder and what is in it.

    >>> overlap("/data/visits", "/data/visits/may.csv"), overlap("/data/visits", "/data/visits2")
    (True, False)
    """
    short, long = sorted((one, other), key=len)
    folder = short.rstrip("/\\")
    inside = long.startswith((folder + "/", folder + "\\")) and not short.startswith("postgresql://")
    return inside or short == long


def lasting_table(table: str, kind: str) -> str:
    """Return the name of a table without what another spelling may leave out.

    >>> lasting_table('main."Visits"', "duckdb"), lasting_table("public.Visits", "postgresql")
    ('visits', 'Visits')
    """
    parts = table_parts(table, kind)
    for first in _LEFT_OUT.get(kind, ()):
        parts = parts[1:] if len(parts) > 1 and parts[0] == first else parts
    return ".".join(parts)


def path_name(path: Path) -> str:
    """Return the path that all links lead to; a part that cannot be printed by its letters and a hash."""
    listed = _as_listed(path.resolve())
    shown = [part if part.isprintable() else _printable(part) for part in listed.parts]
    return str(Path(*shown))


def _as_listed(path: Path) -> Path:
    """Return a path as its folders list it: some file systems find a file by other letters as well."""
    built = Path(path.anchor)
    for part in path.parts[1:]:
        others = {part.swapcase(), normalize("NFC", part), normalize("NFD", part)} - {part}
        alike = any(_is_same(built / part, built / other) for other in others)
        built /= _listed(built, part) if alike else part
    return built


def _listed(folder: Path, part: str) -> str:
    """Return the name under which a folder lists a file."""
    try:
        names = os.listdir(folder)
    except OSError:
        return part
    if part in names:
        return part
    return next((name for name in sorted(names) if _is_same(folder / name, folder / part)), part)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


def _printable(part: str) -> str:
    letters = "".join(letter if letter.isprintable() else "?" for letter in part)
    return f"{letters}~{sha256(os.fsencode(part)).hexdigest()[:16]}"


def _url(text: str) -> str:
    parts = urlsplit(text if "://" in text else text.replace("file:", "file://", 1))
    path = posixpath.normpath(parts.path) if parts.path else ""
    if parts.scheme == "file":
        return path_name(Path(path))
    user, at, host = parts.netloc.rpartition("@")
    # The query of a URL can hold a password too, and does not say which data it is.
    place = user.split(":", 1)[0] + at + host.lower()
    scheme = _BUCKETS.get(parts.scheme, parts.scheme)
    return urlunsplit((scheme, place, path if path != "/" else "", "", ""))


def _databases(address: str) -> tuple[str, ...]:
    """Return each server, port and database that a PostgreSQL address may lead to, as its driver reads it."""
    given = _given(address)
    if "service" in given:
        raise InvalidParameter(
            "source",
            "… with a service",
            _ADDRESS,
            "A service does not say which server it is; name its host.",
        )
    usual = _usual() if {"host", "hostaddr", "port", "dbname", "user"} - set(given) else {}
    settled = {name: value for name, value in {**usual, **given}.items() if value}
    # An address decides where a connection goes, even beside the name of a host.
    hosts = settled.get("hostaddr", settled.get("host", "")).split(",")
    ports = settled.get("port", "5432").split(",")
    ports = ports * len(hosts) if len(ports) == 1 else ports
    database = quote(settled.get("dbname") or settled.get("user", ""), safe="")
    return tuple(
        dict.fromkeys(
            f"postgresql://{_server(host, port)}/{database}" for host, port in zip(hosts, ports, strict=False)
        )
    )


def _given(address: str) -> dict[str, str]:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(address).set(drivername="postgresql+psycopg")
        _, options = url.get_dialect()().create_connect_args(url)
    except (ArgumentError, ValueError, ImportError):
        # The address may hold a password: it is not shown.
        raise InvalidParameter("source", "…", _ADDRESS) from None
    return {name: str(value) for name, value in options.items()}


def _usual() -> dict[str, str]:
    """Return what the driver takes where an address says nothing, from the environment or the system."""
    try:
        from psycopg import pq
    except ImportError:
        return {}
    defaults = pq.Conninfo.get_defaults()
    return {option.keyword.decode(): option.val.decode() for option in defaults if option.val is not None}


def _server(host: str, port: str) -> str:
    """Return a host as one name, all names of this machine as localhost, and the port unless it is 5432."""
    name = host.strip().lower().removesuffix(".")
    number = port.strip().lstrip("0") or "5432"
    if name.startswith(("/", "@")):
        folder = posixpath.normpath(name) if name.startswith("@") else str(Path(host.strip()).resolve())
        # A socket in another folder may be another server.
        name = "localhost" if folder in _SOCKETS else quote(folder, safe="")
    elif not name or name == "localhost" or name.endswith((".localhost", ".localdomain")):
        name = "localhost"
    else:
        name = _numeric(name)
    return name if number == "5432" else f"{name}:{number}"


def _numeric(name: str) -> str:
    """Return the one spelling of an IP address; any other name as it is."""
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        try:
            # 127.1 and 0x7f000001 are addresses as well.
            address = ip_address(socket.inet_aton(name))
        except OSError:
            return name
    if isinstance(address, IPv6Address):
        address = address.ipv4_mapped or address
    if address.is_loopback or address.is_unspecified:
        return "localhost"
    return f"[{address}]" if isinstance(address, IPv6Address) else str(address)
