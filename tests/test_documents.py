"""Documents name tests, files and public names that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dovetail

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


@pytest.fixture(scope="module")
def tests_by_name() -> set[str]:
    files = ROOT.glob("tests/**/test_*.py")
    return {name for file in files for name in re.findall(r"def (test_\w+)\(", file.read_text())}


def test_every_test_that_the_walk_through_the_paper_names_exists(tests_by_name: set[str]) -> None:
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "paper.md").read_text()))
    assert len(named) > 30
    assert named <= tests_by_name, sorted(named - tests_by_name)


def test_every_misprint_test_is_explained_in_the_walk_through() -> None:
    explained = (ROOT / "docs" / "paper.md").read_text()
    for name in re.findall(r"def (test_\w+)\(", (ROOT / "tests" / "noise" / "test_errata.py").read_text()):
        assert f"`{name}`" in explained, name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_names_in_the_notation_are_public() -> None:
    text = (ROOT / "docs" / "notation.md").read_text()
    for name in re.findall(r"`(\w+)\(", text):
        owners = (
            dovetail,
            dovetail.noise,
            dovetail.privacy,
            dovetail.PiecewiseLaplace,
            dovetail.PiecewiseGeometric,
        )
        assert any(hasattr(owner, name) for owner in owners) or name == "exp", name
    for name in re.findall(r"`noise\.(\w+)", text):
        assert hasattr(dovetail.PiecewiseGeometric, name) or hasattr(dovetail.PiecewiseLaplace, name), name
