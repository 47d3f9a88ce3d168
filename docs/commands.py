"""Write the page of every command from the commands themselves: `python docs/commands.py`."""

import inspect
from pathlib import Path
from typing import Any

from typer.main import get_command

from dovetail.cli.app import app

PAGE = Path(__file__).parent / "reference" / "commands.md"
_HEAD = """# Commands

Written by `python docs/commands.py` from the commands themselves; `dovetail COMMAND --help` shows the same.
"""


def page() -> str:
    """Return the page as Markdown."""
    top: Any = get_command(app)
    parts = [_HEAD, _sentences(top.help), _listed(top.epilog)]
    for name, command in top.commands.items():
        group = getattr(command, "commands", None)
        if group is None:
            parts += _described(f"dovetail {name}", command)
        else:
            parts.append(f"## dovetail {name}\n\n{_sentences(command.help)}\n")
            for inner, one in group.items():
                parts += _described(f"dovetail {name} {inner}", one, "###")
    return "\n".join(part for part in parts if part).rstrip() + "\n"


def _described(name: str, command: Any, heading: str = "##") -> list[str]:
    arguments = [p for p in command.params if not p.opts[0].startswith("-")]
    options = [p for p in command.params if p.opts[0].startswith("-") and p.name != "help"]
    usage = " ".join([name, *(p.metavar for p in arguments), *(["[OPTIONS]"] if options else [])])
    parts = [f"{heading} {name}\n", f"    {usage}\n", _sentences(command.help)]
    rows = [f"| `{p.metavar}` | {_cell(p.help)} |" for p in arguments] + [_row(p) for p in options]
    if rows:
        parts.append("\n".join(["| option | meaning |", "|---|---|", *rows]) + "\n")
    parts.append(_listed(command.epilog))
    return parts


def _row(option: Any) -> str:
    default = option.default
    value = option.metavar or _one_of(option)
    shown = "" if default in (None, False) else f" Default: {default}."
    names = "/".join((option.opts[0], *option.secondary_opts))
    return f"| `{f'{names} {value}'.strip()}` | {_cell(option.help)}{shown} |"


def _one_of(option: Any) -> str:
    """Return the words that an option takes, where they are listed; Typer calls that by two names."""
    kind = getattr(option, "type_descriptor", None) or getattr(option, "type", None)
    return "/".join(str(getattr(one, "value", one)) for one in getattr(kind, "choices", None) or ())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _sentences(text: str | None) -> str:
    return f"{inspect.cleandoc(text)}\n" if text else ""


def _listed(epilog: str | None) -> str:
    """Return the lists that close a command's help, each under its title as a block of text."""
    parts = []
    for block in (epilog or "").split("\b\n"):
        title, _, lines = block.strip().partition("\n")
        if lines:
            body = "\n".join(f"    {line.strip()}" for line in lines.splitlines())
            parts.append(f"{title}\n\n{body}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
