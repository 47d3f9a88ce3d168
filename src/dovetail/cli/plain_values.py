"""Take texts as they are, and left-out options as left out.

From 0.29 on, Typer makes a validator of pydantic's for every option of a command, given or not. Most of our
options are texts, which the library reads itself: such commands start without pydantic.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from typer import Typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


def _processed(self: Any, ctx: Any, value: Any) -> Any:
    """Return the value as the command gets it; of a plain one, what Typer's validator would return."""
    several = self.multiple or self.nargs == -1
    # Only the versions of Typer that use pydantic have it; to the others, a text is plain already.
    wanted = getattr(getattr(self, "type_descriptor", None), "annotation", None)
    if self.required and not value:
        plain = False
    elif value is None:
        plain, value = True, () if several else None
    elif several:
        listed = wanted == list[str] and isinstance(value, (list, tuple))
        plain = listed and all(type(each) is str for each in value)
        value = list(value) if plain else value
    else:
        kept = wanted is str or (isinstance(wanted, type) and issubclass(wanted, Enum))
        plain = kept and type(value) is wanted
    if not plain:
        return super(type(self), self).process_value(ctx, value)
    return value if self.callback is None else self.callback(ctx, self, value)


class PlainOption(TyperOption):
    """An option whose plain values need no validator."""

    process_value = _processed


class PlainArgument(TyperArgument):
    """An argument whose plain values need no validator."""

    process_value = _processed


class PlainCommand(TyperCommand):
    """A command that takes plain values as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options and arguments, that of the help included."""
        return _taken_plainly(super().get_params(ctx))


class PlainGroup(TyperGroup):
    """A group of commands that takes plain values as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return all options, that of the help included."""
        return _taken_plainly(super().get_params(ctx))


def make_plain(app: Typer) -> None:
    """Let all commands of an app take plain values as they are."""
    for command in app.registered_commands:
        if command.cls in (None, TyperCommand):
            command.cls = PlainCommand
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance.info.cls = PlainGroup
            make_plain(group.typer_instance)


def _taken_plainly(parameters: list[Any]) -> list[Any]:
    plain: dict[type, type] = {TyperOption: PlainOption, TyperArgument: PlainArgument}
    for parameter in parameters:
        # A switch that is on or off has no validator.
        if type(parameter.default) is not bool:
            parameter.__class__ = plain.get(type(parameter), type(parameter))
    return parameters
