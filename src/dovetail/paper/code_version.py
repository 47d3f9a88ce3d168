"""Tell whether the code behind a result has changed since it was made."""

from __future__ import annotations

import ast
from functools import cache
from hashlib import sha256
from importlib.resources import files

# What the numbers rest on; the edges (command line, ledger, sessions) do not change them.
_NUMERIC = ("exact", "sampling", "noise", "privacy", "designer", "workloads", "pricing", "online")


@cache
def code_version(module: str) -> str:
    """Return a digest of a module of this package, of those it imports, and of the numeric packages.

    >>> code_version("dovetail.paper.claims") == code_version("dovetail.paper.store")
    False
    """
    digest = sha256(_numeric_version().encode())
    for name in sorted(_imported(module.rpartition(".")[2])):
        digest.update(_source(name))
    digest.update(files(__package__).joinpath("table1.csv").read_bytes())
    return digest.hexdigest()


@cache
def _numeric_version() -> str:
    digest = sha256()
    for package in _NUMERIC:
        folder = files("dovetail").joinpath(package)
        kept = (each for each in folder.iterdir() if each.name.endswith((".py", ".json")))
        for path in sorted(kept, key=lambda each: each.name):
            digest.update(path.read_bytes())
    digest.update(files("dovetail").joinpath("datasets", "adult.parquet").read_bytes())
    return digest.hexdigest()


def _source(name: str) -> bytes:
    return files(__package__).joinpath(f"{name}.py").read_bytes()


def _imported(name: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the module and, through its relative imports, all that it uses of this package."""
    seen |= {name}
    for node in ast.walk(ast.parse(_source(name))):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            for used in [node.module] if node.module else [each.name for each in node.names]:
                if used not in seen:
                    seen |= _imported(used, seen)
    return seen
