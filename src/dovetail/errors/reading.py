"""Read an error back from its JSON form, as a service sends it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from . import DovetailError, Place, remedies
from .remedies import Advice, Remedy


def read_error(data: Mapping[str, Any]) -> DovetailError:
    """Read an error of a service; one that only a service has becomes a plain DovetailError.

    >>> print(read_error({"code": "invalid-query", "detail": "There is no such column.", "fix": []}))
    There is no such column.
    """
    kind = _ERRORS.get(str(data.get("code")), DovetailError)
    error = kind.__new__(kind)
    problem = str(data.get("detail") or data.get("problem") or "The service refused this.")
    DovetailError.__init__(
        error,
        problem,
        *read_remedies(data.get("remedies"), data.get("fix")),
        **{name: _text(data.get(name)) for name in ("parameter", "given", "allowed")},
        place=_place(data.get("place")),
    )
    for name in ("requested", "remaining", "asked", "updates"):
        if name in data:
            setattr(error, name, data[name])
    return error


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _place(data: object) -> Place | None:
    return Place(int(data["line"]), int(data["column"])) if isinstance(data, Mapping) else None


def read_remedy(data: Mapping[str, Any]) -> Remedy | None:
    """Read what `Remedy.to_dict` wrote; None for a kind that this version does not know.

    >>> read_remedy({"remedy": "leave-out", "parameter": "clamp"})
    LeaveOut(parameter='clamp')
    """
    kind = _KINDS.get(str(data.get("remedy")))
    if kind is None:
        return None
    told = {name: _value(name, data.get(name)) for name in kind.members()}
    if kind is remedies.Give:
        return remedies.Give(*told["parameters"])
    return kind(**told)


def read_remedies(listed: object, sentences: object = ()) -> Iterator[Remedy]:
    """Read a list of remedies; `sentences` say the same in words, for kinds that are not known here."""
    words = list(sentences) if isinstance(sentences, list) else []
    for number, data in enumerate(listed if isinstance(listed, list) else []):
        known = read_remedy(data) if isinstance(data, Mapping) else None
        if known is not None:
            yield known
        elif number < len(words):
            yield Advice(str(words[number]))


def _value(name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return Fraction(value) if name in ("within", "probability") and isinstance(value, str) else value


def _below(root: type[Any]) -> Iterator[type[Any]]:
    for kind in root.__subclasses__():
        yield kind
        yield from _below(kind)


_KINDS: dict[str, type[Remedy]] = {kind.json_name(): kind for kind in _below(Remedy)}
_ERRORS: dict[str, type[DovetailError]] = {kind.json_name(): kind for kind in _below(DovetailError)}
