"""Show the examples of docstrings as code: an extension for the reference pages."""

from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Fence every run of lines that starts with `>>>`, up to the next blank line."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Rewrite one docstring."""
        if not getattr(obj, "is_alias", False) and obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Return the docstring with its examples between fences."""
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if line.startswith(">>>") and not inside:
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines).rstrip("\n")
