"""Let commands take their options in groups: each is written down once, however many commands share it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_args

from .plain_values import PlainCommand


class Sectioned(PlainCommand):
    """A command whose help lists the options of each group under the title of the group."""

    def format_options(self, context: Any, formatter: Any) -> None:
        """Write arguments and options, section by section."""
        sections: dict[str, list[Any]] = {}
        for one in self.get_params(context):
            usual = "Arguments" if one.param_type_name == "argument" else "Options"
            title = getattr(one, "rich_help_panel", None) or usual
            if (record := one.get_help_record(context)) is not None:
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command as Typer reads it: a parameter that is a dataclass stands for all of its fields.

    A `title` of the dataclass becomes that of its options in the help.

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
        title = getattr(groups.get(one.name), "title", None)
        single += [each.replace(kind=Parameter.KEYWORD_ONLY) for each in _titled(inner, title)]
    spread.__name__, spread.__doc__ = command.__name__, command.__doc__
    spread.__signature__ = Signature(single)  # type: ignore[attr-defined]
    return spread


def _titled(parameters: Iterable[Parameter], title: str | None) -> Iterable[Parameter]:
    """Return the parameters with the title of their group noted for the help."""
    if title is None:
        return parameters
    titled = []
    for parameter in parameters:
        kind, option = get_args(parameter.annotation)
        noted = copy(option)
        noted.rich_help_panel = title
        titled.append(parameter.replace(annotation=Annotated[kind, noted]))
    return titled
