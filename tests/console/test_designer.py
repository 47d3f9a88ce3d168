"""The noise designer and plans: what moves with the sliders, and what is reserved."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from math import ceil
from typing import Any

import pytest

import dovetail as dv
from console_service import Running

pytestmark = pytest.mark.browser


def certified(page: Any) -> None:
    page.locator("[data-state=certified]").wait_for(state="attached")


def settled(page: Any) -> None:
    """Wait until the price is certified and the budget tile tells what the plan would leave."""
    page.wait_for_function(
        "() => { const all = [...document.querySelectorAll('.tile .value')].map(one => one.textContent);"
        " return all.length === 3 && all.every(text => !/[≈…]/.test(text)) }"
    )


def tile(page: Any, index: int) -> str:
    return str(page.locator(".tile .value").nth(index).inner_text())


def up(value: float) -> str:
    """Return a price as the console shows it: two decimals from 1 on, else three digits, rounded up."""
    exact = Decimal(f"{value:.12g}")
    places = 2 if exact >= 1 else 3
    return f"{ceil(exact * 10**places) / 10**places:g}"


def test_the_designer_says_what_design_says(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "design/adult?within=5&probability=19/20&answers=20&delta=1e-6")
    certified(page)
    chosen = dv.design(within=5, probability="19/20", queries=20, delta="1e-6")
    assert chosen.point is not None
    assert tile(page, 0) == f"ε {up(chosen.point[0])}"
    assert tile(page, 1) == f"ε {up(chosen.loss.epsilon)}"
    words = page.content()
    for other in chosen.alternatives:
        assert f"{other.name} {up(other.value)}" in words
    page.get_by_text("Show the numbers").click()
    rows = page.get_by_role("region", name="How likely each error is").locator("tbody tr")
    zero = rows.nth(rows.count() // 2).locator("td").first.inner_text()
    assert float(zero.split()[0]) == pytest.approx(100 * float(chosen.noise.pmf(0)), abs=0.006)


def test_arrow_keys_move_density_price_and_answers_left(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "design/adult?within=5&probability=19/20&answers=20&delta=1e-6")
    certified(page)

    def seen() -> tuple[str, str, str]:
        bars = page.locator("rect.bar").evaluate_all(
            "all => all.map(one => one.getAttribute('height')).join()"
        )
        return bars, tile(page, 0), page.locator(".tile").nth(2).inner_text()

    settled(page)
    before = seen()
    slider = page.get_by_label("Error to stay within")
    slider.focus()
    slider.press("ArrowRight")
    assert slider.get_attribute("aria-valuetext") == "±6"
    settled(page)
    after = seen()
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert "within=6" in page.url
    slider.press("ArrowLeft")
    settled(page)
    assert tile(page, 0) == before[1]


def test_without_a_delta_the_worst_case_is_the_price(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "design/adult?within=50&answers=2&delta=0")
    certified(page)
    chosen = dv.design(within=50, probability="19/20", queries=2, minimise="epsilon")
    assert tile(page, 0) == f"ε {up(chosen.total.epsilon)}"
    assert "whatever the answers are" in page.locator(".sentence").inner_text()


def test_the_plan_on_show_is_the_plan_that_is_reserved(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "design/adult?within=20&answers=10&delta=1e-6")
    settled(page)
    shown = page.locator(".tile").nth(2).inner_text()
    page.get_by_role("button", name="Open this plan").click()
    page.locator("[data-plan]").wait_for()
    reserved = Decimal(page.locator("[data-price]").get_attribute("data-price"))
    (grant,) = service.ledger.people.grants("ann", "adult")
    assert Decimal(grant.spent.epsilon or 0) == reserved
    assert f"reserves ε {up(float(reserved))}" in shown
    assert "10 of 10 left" in page.content()
    page.get_by_role("link", name="Ask with this plan").click()
    page.get_by_text("Paid by the plan").wait_for()
    page.get_by_role("button", name="Ask with one answer of the plan").click()
    page.get_by_role("region", name="This answer").wait_for()
    page.goto("/#/plans")
    page.get_by_text("9 of 10 left").first.wait_for()
    (after,) = service.ledger.people.grants("ann", "adult")
    assert Decimal(after.spent.epsilon or 0) == reserved


def test_a_plan_beyond_the_budget_offers_a_smaller_one(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "design/adult?within=2&answers=100&delta=1e-6")
    certified(page)
    page.get_by_role("heading", name="The budget is too small for this plan").wait_for()
    assert page.get_by_role("button", name="Open this plan").is_disabled()
    page.get_by_role("button", name="Allow ±").click()
    settled(page)
    assert page.get_by_role("button", name="Open this plan").is_enabled()


def test_a_curator_without_a_grant_looks_and_is_not_refused(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "carl", "design/adult")
    page.locator("[data-state=certified]").wait_for(state="attached")
    page.wait_for_load_state("networkidle")
    page.get_by_text("Analysts with a grant for adult can open plans.").wait_for()
    assert page.get_by_role("button", name="Open this plan").count() == 0
    assert page.get_by_role("alert").count() == 0
