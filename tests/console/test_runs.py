"""Online runs: paid once, answers say where they come from."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from console_service import Running

pytestmark = pytest.mark.browser


def test_a_run_is_paid_once_and_its_answers_tell_their_origin(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "runs")
    page.get_by_label("sex").check()
    page.get_by_label("race").check()
    page.get_by_role("button", name="Open the run for ε 1").click()
    page.get_by_role("button", name="Ask (already paid)").click()
    page.get_by_text("Origin: base").wait_for()
    assert page.locator("td.value").count() == 5
    (grant,) = service.ledger.people.grants("ann", "adult")
    assert Decimal(grant.spent.epsilon or 0) == 1
    page.get_by_role("button", name="Ask (already paid)").click()
    page.get_by_text("Origin: base").wait_for()
    (after,) = service.ledger.people.grants("ann", "adult")
    assert after.spent == grant.spent
