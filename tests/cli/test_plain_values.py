"""Plain values pass without a validator, and are what Typer would have made of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperArgument, TyperOption
from typer.main import get_command
from typer.testing import CliRunner

import dovetail
from dovetail.cli.app import app
from dovetail.cli.options import Neighbour
from dovetail.cli.plain_values import PlainArgument, PlainOption, make_plain

VALUES: list[Any] = [None, "", "10", "a b", "nan", "ü", (), ("a",), ["a", "b"], True, 3, 0.5]
VALUES += [Neighbour.REPLACE, "replace"]


def commands(command: Any, context: Any = None) -> Iterator[tuple[Any, Any]]:
    made = typer.Context(command, info_name=command.name, parent=context)
    yield command, made
    for below in getattr(command, "commands", {}).values():
        yield from commands(below, made)


def outcome(process: Any, parameter: Any, context: Any, value: Any) -> object:
    try:
        result = process(parameter, context, value)
    except Exception as error:  # noqa: BLE001 - the same error is the same outcome
        return type(error), str(error)
    return type(result), result


def test_every_parameter_of_every_command_takes_each_value_as_typer_does() -> None:
    compared, plain = 0, 0
    for command, context in commands(get_command(app)):
        for parameter in command.get_params(context):
            if parameter.callback is not None or type(parameter.default) is bool:
                continue
            assert isinstance(parameter, (PlainOption, PlainArgument))
            usual = TyperOption if isinstance(parameter, TyperOption) else TyperArgument
            for value in VALUES:
                ours = outcome(type(parameter).process_value, parameter, context, value)
                assert ours == outcome(usual.process_value, parameter, context, value), (parameter, value)
                compared += 1
                plain += ours == (type(value), value)
    assert compared > 1_000
    assert plain > 100


def test_callbacks_and_required_values_keep_their_meaning() -> None:
    seen: list[object] = []
    small = typer.Typer(add_completion=False)

    @small.command()
    def ask(name: str, colour: str = typer.Option("red", callback=lambda value: seen.append(value))) -> None:
        typer.echo(f"{name} {colour}")

    make_plain(small)
    told = CliRunner().invoke(small, ["ann", "--colour", "blue"])
    # The callback's result is the value.
    assert (told.output, seen) == ("ann None\n", ["blue"])
    missing = CliRunner().invoke(small, [])
    assert missing.exit_code == 2
    assert "Missing argument" in missing.output


@pytest.mark.parametrize(
    "words",
    [
        ("version",),
        ("release", "adult", "--by", "sex", "--within", "10", "--budget", "epsilon=1"),
        ("release", "adult", "--by", "sex", "--by", "race", "--epsilon", "0.1", "--budget", "epsilon=1"),
    ],
)
def test_a_command_of_texts_starts_without_pydantic(words: tuple[str, ...], tmp_path: Path) -> None:
    code = "import sys; sys.modules['pydantic'] = None\nfrom dovetail.cli import main; main()"
    environment = os.environ | {
        "PYTHONPATH": str(Path(dovetail.__file__).parents[1]),
        "XDG_DATA_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
