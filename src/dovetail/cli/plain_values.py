"""Take texts as they are, and left-out options as left out.

From 0.29 on, Typer makes a validator of pydantic's for every option of a command, given or not. Most of our
options are texts, which the library reads itself: such commands start without pydantic.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from typer import Typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

# No value that a validator returns.
_UNDECIDED = object()


class PlainOption(TyperOption):
    """An option whose plain values need no validator."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value as the command gets it."""
        plain = _plain(self, value)
        return super().process_value(ctx, value) if plain is _UNDECIDED else _called(self, ctx, plain)


class PlainArgument(TyperArgument):
    """An argument whose plain values need no validator."""

    def process_value(self, ctx: Any, value: Any) -> Any:
        """Return the value as the command gets it."""
        plain = _plain(self, value)
        return super().process_value(ctx, value) if plain is _UNDECIDED else _called(self, ctx, plain)


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
        parameter.__class__ = plain.get(type(parameter), type(parameter))
    return parameters


def _plain(parameter: TyperOption | TyperArgument, value: Any) -> Any:
    """Return what Typer's validator would make of a plain value."""
    several = parameter.multiple or parameter.nargs == -1
    if parameter.required and not value:
        return _UNDECIDED
    if value is None:
        return () if several else None
    # Only the versions of Typer that use pydantic have it; to the others, a text is plain already.
    wanted = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if several:
        listed = wanted == list[str] and isinstance(value, (list, tuple))
        return list(value) if listed and all(type(each) is str for each in value) else _UNDECIDED
    kept = wanted is str or (isinstance(wanted, type) and issubclass(wanted, Enum))
    return value if kept and type(value) is wanted else _UNDECIDED


def _called(parameter: TyperOption | TyperArgument, context: Any, value: Any) -> Any:
    return value if parameter.callback is None else parameter.callback(context, parameter, value)
