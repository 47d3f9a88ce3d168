"""Every notebook runs from top to bottom, and none is kept with outputs."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples" / "notebooks").glob("*.ipynb"))


def _cells(notebook: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return found


def _shown(value: object) -> str:
    """Return what a notebook displays of the last value of a cell."""
    as_html = getattr(value, "_repr_html_", None)
    return repr(value) if as_html is None else str(as_html())


def _run(cell: str, place: str, names: dict[str, Any]) -> str | None:
    tree = ast.parse(cell)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, place, "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return _shown(eval(compile(ast.Expression(last.value), place, "eval"), names))


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(notebook: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = [
        _run("".join(cell["source"]), f"{notebook.stem}, cell {number}", names)
        for number, cell in enumerate(_cells(notebook))
        if cell["cell_type"] == "code"
    ]
    assert sum(text is not None for text in shown) >= 3


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(notebook: Path) -> None:
    assert len(NOTEBOOKS) >= 5
    for cell in _cells(notebook):
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
