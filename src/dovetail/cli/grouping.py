"""Let commands take their options in groups: each is written down once, however many commands share it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Any


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command as Typer reads it: a parameter that is a dataclass stands for all of its fields.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Size:
    ...     low: int = 0
    ...     high: int = 9
    >>> def show(name: str, size: Size) -> None:
    ...     print(name, size)
    >>> list(signature(grouped(show)).parameters)
    ['name', 'low', 'high']
    >>> grouped(show)(name="a", low=1, high=2)
    a Size(low=1, high=2)
    """
    taken = signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {one.name: one.annotation for one in taken if is_dataclass(one.annotation)}

    def spread(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    single: list[Parameter] = []
    for one in taken:
        inner = signature(one.annotation, eval_str=True).parameters.values() if one.name in groups else [one]
        single += [each.replace(kind=Parameter.KEYWORD_ONLY) for each in inner]
    spread.__name__, spread.__doc__ = command.__name__, command.__doc__
    spread.__signature__ = Signature(single)  # type: ignore[attr-defined]
    return spread
