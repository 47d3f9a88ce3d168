"""Load the public names of a package when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `home` says which of its modules defines each name.

    >>> lazy_names("dovetail.noise", {"Geometric": "constructors"})("Geometric").__name__
    'Geometric'
    """

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = import_module(package)
        # Kept there, so that the next use finds it at once.
        value = getattr(import_module(f"{package}.{home[name]}"), name)
        setattr(found, name, value)
        return value

    return load
