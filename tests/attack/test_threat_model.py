"""Every defence that the threat model names has the test that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "threat-model.md"
NAMED = re.findall(r"`([a-z_/]+\.py)::(test_\w+)`", PAGE.read_text(encoding="utf-8"))


def test_each_row_of_the_page_names_a_test() -> None:
    rows = re.findall(r"^\| .*\.py::.*\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(NAMED) == len(rows) > 30


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE)
