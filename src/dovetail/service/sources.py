"""Find the rows that the registry names: below a data root, by a named connection, or shipped.

    {"root": "data", "path": "visits/2025.csv"}      a file or folder below a configured root
    {"path": "/srv/people.csv"}                      a file that the operator named at the start
    {"connection": "clinic", "table": "visits"}      a table of a server; the configuration has its password
    {"shipped": "adult"}                             data that ship with the package

Over HTTP only the first, third and last form are accepted: no free path, no address. Nor is a path that Spark
would read as a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dovetail.engines import Source
from dovetail.engines.source import FORMATS, is_spark
from dovetail.errors import DataError, InvalidParameter
from dovetail.query import Schema

from .curator_reply_types import Root
from .settings import Settings

_FORMS = ({"root", "path"}, {"root", "path", "table"}, {"connection", "table"}, {"shipped"})
_MOST_LISTED = 1000


def opened_source(said: Mapping[str, Any], settings: Settings, name: str, schema: Schema | None) -> Source:
    """Return the source that a form names."""
    if "shipped" in said:
        from dovetail import datasets

        if said["shipped"] != "adult":
            raise InvalidParameter("shipped", said["shipped"], "data that ship with Dovetail: adult")
        shipped = datasets.adult()
        return Source.of(shipped, name=name, schema=schema or shipped.schema)
    if "connection" in said:
        address = settings.connections.get(said["connection"])
        if address is None:
            raise DataError("The configuration has no connection of this name.", "The operator can add one.")
        return Source.of(address, name=name, schema=schema, table=said["table"])
    place = below_root(said, settings) if "root" in said else Path(said["path"])
    return Source.of(place, name=name, schema=schema, table=said.get("table"))


def opened_sources(
    said: Sequence[Mapping[str, Any]], settings: Settings, name: str, schema: Schema | None
) -> Source:
    """Return several files as one source."""
    if len(said) == 1:
        return opened_source(said[0], settings, name, schema)
    opened = [opened_source(each, settings, name, schema) for each in said]
    if not all(isinstance(each.data, Path) and each.table is None for each in opened):
        raise InvalidParameter("vintages", len(said), "one: only files can be asked about together")
    return Source.of([each.data for each in opened], name=name, schema=schema)


def check_form(said: object, settings: Settings) -> Mapping[str, Any]:
    """Return a source as a request may name it."""
    known = isinstance(said, Mapping) and set(said) in _FORMS
    if isinstance(said, Mapping) and known and all(isinstance(each, str) and each for each in said.values()):
        address = settings.connections.get(said.get("connection", ""), "")
        if is_spark(address) and "/" in said["table"]:
            raise InvalidParameter("table", said["table"], "the name of a table in the catalog of Spark")
        return said
    raise InvalidParameter(
        "source",
        sorted(said) if isinstance(said, Mapping) else said,
        "a root and a path, a connection and a table, or shipped data",
        "GET /v1/sources lists what there is.",
    )


def below_root(said: Mapping[str, Any], settings: Settings) -> Path:
    """Return a path below a data root; links that lead out of it are not followed."""
    root: Path | None = settings.data_roots.get(said["root"])
    unknown = InvalidParameter(
        "path", said["path"], "a file or folder below a data root of the configuration"
    )
    if root is None or "\0" in said["path"]:
        raise unknown
    try:
        path: Path = (root / said["path"]).resolve()
        inside = path.is_relative_to(root.resolve()) and path.exists() and not _leads_out(path, root)
    except (OSError, RuntimeError, ValueError):  # before Python 3.13, links in a circle are a RuntimeError
        inside = False
    if not inside:
        raise unknown
    return path


def leaves_root(said: Mapping[str, Any], settings: Settings) -> bool:
    """Tell whether a path that was below a data root leads out of it by now; one that is gone does not."""
    root = settings.data_roots.get(said.get("root", ""))
    if root is None:
        return False
    try:
        path = (root / said["path"]).resolve()
        return not path.is_relative_to(root.resolve()) or _leads_out(path, root)
    except (OSError, RuntimeError):
        # What cannot be looked at cannot be read either.
        return False


def _leads_out(folder: Path, root: Path) -> bool:
    """Tell whether a folder holds a link to something outside of the root."""
    links = (each for each in folder.rglob("*") if each.is_symlink())
    return any(not each.resolve().is_relative_to(root.resolve()) for each in links)


def listed_roots(settings: Settings) -> list[Root]:
    """Return the files and folders at the top of each data root."""
    roots: list[Root] = []
    for name, root in settings.data_roots.items():
        files = []
        for entry in sorted(root.iterdir()) if root.is_dir() else []:
            if entry.name.startswith((".", "_")):
                continue
            if entry.is_dir() or FORMATS.get(entry.suffix.lower()):
                files.append(entry.name + ("/" if entry.is_dir() else ""))
        roots.append({"name": name, "files": files[:_MOST_LISTED]})
    return roots
