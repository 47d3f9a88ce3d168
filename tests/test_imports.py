"""Modules import one another in one direction, lazy imports and those for type checkers counted."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import dovetail

ROOT = Path(dovetail.__file__).parent
LONGEST_FILE = 400


def modules(root: Path) -> dict[str, Path]:
    """Return every module below a folder that is a package, by its full name."""
    found = {}
    for path in root.rglob("*.py"):
        parts = (root.name, *path.relative_to(root).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(root: Path) -> dict[str, set[str]]:
    """Return which modules each module imports, wherever in it the import stands."""
    known = modules(root)
    graph: dict[str, set[str]] = {}
    for name, path in known.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        used = graph.setdefault(name, set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*(above if node.level else []), *([node.module] if node.module else [])])
                for alias in node.names:
                    inner = f"{base}.{alias.name}"
                    used.add(inner if inner in known else base)
        used &= known.keys() - {name}
    return graph


def test_no_modules_import_one_another_in_a_circle() -> None:
    graph = imports(ROOT)
    assert len(graph) > 250
    assert sum(map(len, graph.values())) > 1000
    assert list(TopologicalSorter(graph).static_order())


def test_a_circle_of_imports_is_found_even_where_it_is_lazy(tmp_path: Path) -> None:
    package = tmp_path / "circle"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "one.py").write_text("def later():\n    from .two import given\n")
    (package / "two.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .one import later\n"
    )
    with pytest.raises(CycleError):
        TopologicalSorter(imports(package)).prepare()


def test_no_file_holds_two_ideas() -> None:
    lengths = {
        name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules(ROOT).items()
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}
