"""Every defence that the threat model names has the test that it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "threat-model.md"
TEXT = PAGE.read_text(encoding="utf-8")
NAMED = re.findall(r"`([a-z_/]+\.py)::(test_\w+)`", TEXT)
_TEST = r"`[a-z_/]+\.py::test_\w+`"
ATTACKED = re.findall(r"^## (Attacks.*?)\n(.*?)(?=^## )", TEXT, re.MULTILINE | re.DOTALL)


def test_attacks_on_every_part_are_listed() -> None:
    titles = " ".join(title for title, _ in ATTACKED)
    for part in ("service", "console", "online runs", "workloads", "months"):
        assert part in titles


@pytest.mark.parametrize(("title", "section"), ATTACKED, ids=[title for title, _ in ATTACKED])
def test_each_row_names_its_tests(title: str, section: str) -> None:
    rows = [line for line in section.splitlines() if line.startswith("|")]
    assert rows[0] == "| attack | defence | test |"
    for row in rows[2:]:
        assert re.search(rf"\| {_TEST}(, {_TEST})* \|$", row), row


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_named_test_exists(file: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (TESTS / file).read_text(encoding="utf-8"), re.MULTILINE)
