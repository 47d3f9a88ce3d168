"""Find the code in a page and run it as a reader would: in order, in one empty folder."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from dovetail.cli.app import app

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
# They take up to a minute and have tests of their own.
_TESTED = ("dovetail paper", "dovetail demo")
# Such a line needs a shell; any other runs in this process, which is quicker.
_SHELL = re.compile(r"[|<>&;$`*]")
_CODE = re.compile(r"#.*\bexit code (\d)")
_FIGURE = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, its text and the line on which it starts."""

    language: str
    text: str
    line: int

    def commands(self) -> list[tuple[str, int]]:
        """Return the `dovetail` commands of the block, each with the exit code that its comment promises."""
        found = []
        for line in self.text.replace("\\\n", " ").splitlines():
            command = line.removeprefix("$ ").strip()
            if command.startswith("dovetail ") and not command.startswith(_TESTED):
                promised = _CODE.search(command)
                found.append((command, int(promised[1]) if promised else 0))
        return found


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    return [Block(m[1], m[2], text.count("\n", 0, m.start()) + 2) for m in _BLOCK.finditer(text)]


def run(page: Path, folder: Path) -> int:
    """Run all Python and all `dovetail` commands of a page in `folder`; return how many blocks ran."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    ran = 0
    for block in blocks(page):
        if block.language == "python":
            # Blank lines in front, so that an error names the line of the page.
            code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
            exec(code, namespace)
            ran += 1
        elif block.language in ("console", "sh", "shell", "bash") and block.commands():
            for command, promised in block.commands():
                _run_command(command, folder, promised)
            ran += 1
    return ran


def alike(shown: str, made: str, relative: float) -> bool:
    """Say whether two texts differ in the last digits of their figures alone.

    A design is found in floats, and their last digits depend on the processor. The best variance hardly
    feels that; what goes with it, such as the worst case, moves a little more. Figures may differ by
    `relative`, or by one in their last digit.
    """
    figures = [_FIGURE.findall(text) for text in (shown, made)]
    words = [" ".join(_FIGURE.sub("#", text).split()) for text in (shown, made)]
    if words[0] != words[1]:
        return False
    for one, other in zip(*figures, strict=True):
        first, second = (Decimal(figure.replace(",", "")) for figure in (one, other))
        digit = Decimal(1).scaleb(int(max(first.as_tuple().exponent, second.as_tuple().exponent)))
        # A whole number counts something.
        slack = max(digit, abs(first) * Decimal(relative)) if "." in one + other or "e" in one + other else 0
        if abs(first - second) > slack:
            return False
    return True


def _run_command(command: str, folder: Path, promised: int) -> None:
    """Run one command line, with `dovetail` being the package under test."""
    home = {"XDG_DATA_HOME": str(folder / "home")}
    if not _SHELL.search(command):
        with chdir(folder):
            result = CliRunner().invoke(app, shlex.split(command, comments=True)[1:], env=home)
        assert result.exit_code == promised, (command, result.exit_code, result.output)
        return
    function = f'dovetail() {{ {shlex.quote(sys.executable)} -m dovetail "$@"; }}'
    done = subprocess.run(
        ["bash", "-c", f"{function}\n{command}"],
        cwd=folder,
        env=os.environ | home | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == promised, (command, done.returncode, done.stdout, done.stderr)
