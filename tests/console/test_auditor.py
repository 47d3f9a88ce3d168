"""The auditor's and the public's path: the record, and whether it holds."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from console_service import Running

pytestmark = pytest.mark.browser


def answered(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_role("button", name="Ask for ε").click()
    page.get_by_role("region", name="This answer").wait_for()


def published(service: Running, signed_in: Callable[..., Any]) -> None:
    """Let the curator open the record, by the same interface that the console uses."""
    page = signed_in(service, "carl", "datasets/adult")
    page.get_by_label("Everybody may read the record").check()
    page.get_by_text("The record is open").wait_for()


def test_the_record_is_readable_without_login_only_where_allowed(
    service: Running, opened: Callable[..., Any], signed_in: Callable[..., Any]
) -> None:
    answered(service, signed_in)
    page = opened(service)
    page.goto("/#/record/adult")
    page.get_by_text("There is nothing here for you").or_(
        page.get_by_text("No record is open to you")
    ).first.wait_for()
    published(service, signed_in)
    page.goto("/#/")
    page.reload()
    page.get_by_role("link", name="adult").click()
    page.get_by_role("heading", name="The record of Adult census").wait_for()
    (grant,) = service.ledger.people.grants("ann", "adult")
    told = Decimal(page.locator("[data-spent]").get_attribute("data-spent"))
    assert told == Decimal(grant.spent.epsilon or 0)
    assert "ann" not in page.get_by_role("main").inner_text()


def test_the_record_is_exported(service: Running, signed_in: Callable[..., Any]) -> None:
    answered(service, signed_in)
    page = signed_in(service, "olga", "record/adult")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Export for a registry").click()
    told = json.loads(Path(waiting.value.path()).read_text(encoding="utf-8"))
    assert told["schema"] == "dovetail.record/1"
    assert len(told["releases"]) == 1


def test_the_offline_command_agrees_with_the_screen(service: Running, signed_in: Callable[..., Any]) -> None:
    answered(service, signed_in)
    page = signed_in(service, "olga", "verify")
    head = page.locator("[data-head]").inner_text()
    assert page.locator("[data-verified=true]").count() == 1
    copy = service.folder / "copy.ledger"
    with sqlite3.connect(service.folder / "service.ledger") as source, sqlite3.connect(copy) as target:
        source.backup(target)
    source.close()
    target.close()
    command = [sys.executable, "-m", "dovetail", "ledger", "verify", str(copy), "--copy"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert head in done.stdout


def test_one_flipped_byte_fails(service: Running, signed_in: Callable[..., Any]) -> None:
    answered(service, signed_in)
    with sqlite3.connect(service.folder / "service.ledger") as store:
        (body,) = store.execute("SELECT content FROM dovetail_events ORDER BY sequence LIMIT 1").fetchone()
        flipped = bytes(body, "utf-8") if isinstance(body, str) else body
        flipped = flipped[:-2] + bytes([flipped[-2] ^ 1]) + flipped[-1:]
        changed = flipped.decode() if isinstance(body, str) else flipped
        store.execute("UPDATE dovetail_events SET content = ? WHERE sequence = 1", (changed,))
    store.close()
    page = signed_in(service, "olga", "verify")
    page.get_by_role("alert").wait_for()
    assert page.locator("[data-verified=true]").count() == 0


def test_the_sampler_of_a_used_noise_is_certified(service: Running, signed_in: Callable[..., Any]) -> None:
    answered(service, signed_in)
    page = signed_in(service, "olga", "verify")
    page.get_by_role("button", name="Certify its sampler").click()
    page.get_by_text("Certified.").wait_for()
