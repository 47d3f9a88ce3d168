"""Serve the console's files, which are built into the package; without them, one page that says how."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from mimetypes import guess_type
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dovetail.service.problems import not_found

opening = APIRouter(include_in_schema=False)
_LASTING = "public, max-age=31536000, immutable"
_UNBUILT = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Dovetail</title>
<h1>Dovetail</h1>
<p>The service is running. This installation has no console: it was not built.</p>
<p>In a checkout, <code>make console</code> builds it.
The packages that are released have it inside.</p>
<p>Scripts need none: the HTTP interface is described at <a href="/openapi.json">/openapi.json</a>.</p>
</html>
"""


@opening.get("/{path:path}")
def page(path: str, request: Request) -> Response:
    """Return a file of the console; any other address of it is the one page, which finds its own way."""
    request.scope["dovetail.route"] = "console"
    if path == "v1" or path.startswith("v1/"):
        raise not_found()
    built = bundle()
    if "index.html" not in built:
        return Response(_UNBUILT, media_type="text/html; charset=utf-8")
    file = path if path in built else "index.html"
    if file != path and "." in path.rpartition("/")[2]:
        raise not_found()
    kind = guess_type(file)[0] or "application/octet-stream"
    made = Response(built[file].read_bytes(), media_type=kind)
    if file.startswith("assets/"):
        # The names of these files change with what is in them.
        made.headers["Cache-Control"] = _LASTING
    return made


@lru_cache(maxsize=1)
def bundle() -> dict[str, Path]:
    """Return the console's files by their addresses; no other file can be asked for."""
    folder = Path(str(files("dovetail.service"))) / "console"
    if not folder.is_dir():
        return {}
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in paths}
