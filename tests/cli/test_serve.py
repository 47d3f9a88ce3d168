"""What `dovetail serve` refuses before it starts: nothing that was typed is left out in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def config(run: Any) -> str:
    """Return a configuration that could be served."""
    Path("service.toml").write_text('[service]\nledger = "a.ledger"\n[datasets.adult]\nsource = "adult"\n')
    return "service.toml"


@pytest.mark.parametrize(
    "more",
    [
        ["adult"],
        ["--budget", "epsilon=1"],
        ["--ledger", "b.ledger"],
        ["--name", "people"],
        ["--unit", "person"],
        ["--max-rows", "5"],
        ["--neighbours", "replace"],
    ],
)
def test_a_configuration_takes_nothing_about_data_beside_it(run: Any, config: str, more: list[str]) -> None:
    said = run("serve", "--config", config, *more, code=2).stderr
    assert f"given without {more[0] if more[0].startswith('-') else 'DATA'}" in said
    assert not Path("a.ledger").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--port", "99999"], "from 0 to 65535"),
        (["--port", "-1"], "from 0 to 65535"),
        (["--metrics-port", "70000"], "from 1 to 65535"),
        (["--workers", "0"], "from 1 to"),
        (["--data-root", "nowhere"], ""),
        (["--tls-certificate", "nowhere.pem", "--tls-key", "people.key"], "nowhere.pem cannot be read"),
        (["--tls-certificate", "people.key", "--tls-key", "people.key"], "not a certificate and its key"),
        (["--data-root", "one/data", "--data-root", "two/data"], "another folder by its name"),
    ],
)
def test_a_setting_that_cannot_be_is_one_line(run: Any, more: list[str], said: str) -> None:
    for folder in ("one/data", "two/data"):
        Path(folder).mkdir(parents=True)
    Path("people.key").write_text("no key")
    words = ("serve", "adult", "--budget", "epsilon=1", "--ledger", "a.ledger")
    result = run(*words, *more, code=4 if {"nowhere", "people.key"} & set(more) else 2)
    assert said in result.stderr
    assert "bug" not in result.stderr
    assert not Path("a.ledger").exists()


def test_whom_data_protect_is_not_forgotten_where_they_have_no_schema(run: Any, people: Path) -> None:
    said = run("serve", str(people), "--budget", "epsilon=1", "--unit", "age", code=2).stderr
    assert "the console asks" in said
