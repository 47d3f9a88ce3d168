"""The analyst's path: catalogue, question, quote, answer, history."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from console_service import Running, running
from dovetail.privacy import Budget

pytestmark = pytest.mark.browser


def offer(page: Any) -> Any:
    """Wait until the price on show is that of the question on show."""
    box = page.get_by_role("region", name="Before you pay")
    page.wait_for_function(
        "() => { const box = document.querySelector('[aria-label=\"Before you pay\"]');"
        " return box && box.getAttribute('aria-busy') === 'false' && box.querySelector('[data-quote]') }"
    )
    return box


def ask(page: Any) -> str:
    """Pay the price on show and return the number of the answer."""
    offer(page).locator(".primary").click()
    page.get_by_role("region", name="This answer").wait_for()
    return page.url.rpartition("/")[2]


def spent(service: Running, name: str) -> Decimal:
    (grant,) = service.ledger.people.grants(name, "adult")
    return Decimal(grant.spent.epsilon or 0)


def test_the_catalogue_shows_only_what_was_granted(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "datasets")
    page.get_by_role("link", name="Adult census").click()
    page.get_by_role("heading", name="Columns").wait_for()
    assert page.locator("pre").inner_text().count(f'dv.connect("{service.address}", dataset="adult")') == 1
    other = signed_in(service, "eve", "datasets")
    other.get_by_role("heading", name="Nothing has been granted to you yet").wait_for()
    assert "adult" not in other.content().lower()
    other.goto("/#/datasets/adult")
    other.get_by_text("There is nothing here for you").wait_for()


def test_form_and_sql_are_one_question(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_label("For each", exact=True).select_option("sex")
    page.get_by_label("Only rows where").fill("age >= 40")
    sql = page.get_by_label("The same question in SQL")
    assert sql.input_value() == "SELECT sex, COUNT(*)\nFROM adult\nWHERE age >= 40\nGROUP BY sex"
    ask(page)
    page.goto("/#/ask/adult")
    sql.fill("select count(*), sex from adult where 40 <= age group by sex")
    assert "Asked before: free" in offer(page).inner_text()
    page.wait_for_function("() => document.querySelector('#group').value === 'sex'")
    assert page.get_by_label("Only rows where").input_value() == "age >= 40"


def test_a_select_is_drawn_in_its_own_order(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_label("The same question in SQL").fill(
        "SELECT workclass, COUNT(*) AS n FROM adult GROUP BY workclass ORDER BY n DESC LIMIT 3"
    )
    ask(page)
    drawn = page.locator("[data-select] tbody tr")
    assert drawn.count() == 3
    assert drawn.first.inner_text().startswith("Private")
    sizes = [int(row.replace(",", "")) for row in page.locator("[data-select] td.value").all_inner_texts()]
    assert sizes == sorted(sizes, reverse=True)
    assert "hold for all groups at once, shown or not" in page.locator("[data-select]").inner_text()
    page.get_by_text("All released numbers").click()
    assert page.locator("details tbody tr").count() >= 8
    page.goto("/#/ask/adult")
    page.get_by_label("The same question in SQL").fill(
        "SELECT sex, COUNT(*) AS n, 2 * COUNT(*) AS twice FROM adult GROUP BY sex"
    )
    ask(page)
    assert page.locator("[data-select] thead th").all_inner_texts() == ["sex", "n", "twice"]


def test_a_refused_part_is_marked_in_the_text_with_the_fix(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "ask/adult")
    text = "SELECT COUNT(*) FROM adult JOIN visits"
    page.get_by_label("The same question in SQL").fill(text)
    page.locator("mark", has_text="JOIN").wait_for()
    refusal = page.get_by_role("alert")
    assert "This SQL cannot be answered" in refusal.inner_text()
    assert refusal.locator("li").count() >= 1
    assert spent(service, "ann") == 0


def test_columns_and_declared_values_complete(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    where = page.get_by_label("Only rows where")
    where.press_sequentially("marit")
    where.press("ArrowDown")
    where.press("Enter")
    where.press_sequentially(" = 'Wid")
    where.press("ArrowDown")
    where.press("Enter")
    assert where.input_value() == "marital_status = 'Widowed'"
    assert "WHERE marital_status = 'Widowed'" in page.get_by_label("The same question in SQL").input_value()


def test_the_quote_is_what_is_charged(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_label("For each", exact=True).select_option("sex")
    box = offer(page)
    price = box.locator("[data-price]").get_attribute("data-price")
    words = box.inner_text()
    assert "±20 for each number" in words
    assert "for all 2 at once" in words
    left = box.locator("[data-remaining]").inner_text()
    ask(page)
    assert spent(service, "ann") == Decimal(price)
    page.goto("/#/history")
    page.get_by_text(f"{left} left").wait_for()


def test_a_refused_budget_says_what_the_rest_buys(tmp_path: Path, signed_in: Callable[..., Any]) -> None:
    with running(tmp_path, budget=Budget.pure("0.2")) as service:
        page = signed_in(service, "ann", "ask/adult?within=2")
        page.get_by_text("too small").first.wait_for()
        assert page.get_by_role("button", name="Ask for ε").is_disabled()
        assert spent(service, "ann") == 0


def test_an_answer_has_intervals_for_all_and_for_each(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_label("For each", exact=True).select_option("education")
    ask(page)
    rows = page.locator("tbody tr")
    assert rows.count() == 16
    together = rows.nth(0).locator("td").nth(1).inner_text()
    page.get_by_label("each on its own").check()
    alone = rows.nth(0).locator("td").nth(1).inner_text()
    assert int(together[1:]) > int(alone[1:]) == 20
    assert "Each error bar holds on its own" in page.content()


def test_negative_numbers_are_shown(service: Running, signed_in: Callable[..., Any]) -> None:
    """Of 40 empty cells with noise of ±200, some are below zero but for a chance under 1e-9."""
    page = signed_in(service, "ann", "ask/adult?within=200")
    page.get_by_label("For each", exact=True).select_option("native_country")
    page.get_by_label("Only rows where").fill("age > 119")
    ask(page)
    numbers = page.locator("td.value").all_inner_texts()
    assert len(numbers) == 42
    assert any(number.startswith("\u2212") for number in numbers)


def test_downloads_agree_with_the_screen(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_label("For each", exact=True).select_option("sex")
    ask(page)
    shown = [text.replace(",", "") for text in page.locator("td.value").all_inner_texts()]
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download CSV").click()
    table = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8-sig"))))
    assert [row["value"] for row in table] == shown
    with page.expect_download() as waiting:
        page.get_by_role("link", name="JSON").click()
    told = json.loads(Path(waiting.value.path()).read_text(encoding="utf-8"))
    assert [str(row["value"]) for row in told["answers"][0]["rows"]] == shown


def test_a_double_click_pays_once(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    price = Decimal(offer(page).locator("[data-price]").get_attribute("data-price"))
    posts = []
    page.on("request", lambda request: posts.append(request) if request.url.endswith("/answers") else None)
    offer(page).locator(".primary").dblclick()
    page.get_by_role("region", name="This answer").wait_for()
    assert spent(service, "ann") == price
    assert len({request.headers["idempotency-key"] for request in posts if request.method == "POST"}) == 1


def test_a_permalink_opens_the_same_answer_free(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    ask(page)
    value = page.locator("[data-value] b").inner_text()
    before = spent(service, "ann")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.locator("[data-value]").wait_for()
    assert page.locator("[data-value] b").inner_text() == value
    assert spent(service, "ann") == before


def test_history_is_ones_own_and_a_rerun_is_free(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    number = ask(page)
    before = spent(service, "ann")
    page.goto("/#/history")
    page.get_by_role("link", name="count").click()
    page.get_by_role("region", name="This answer").wait_for()
    assert page.url.endswith(number)
    assert spent(service, "ann") == before
    other = signed_in(service, "bob", "history")
    other.get_by_role("heading", name="You have not asked yet").wait_for()
    other.goto(f"/#/answers/{number}")
    other.get_by_text("There is nothing here for you").wait_for()


def test_a_distribution_is_drawn_with_its_band(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_label("What", exact=True).select_option("ranges")
    page.get_by_label("choose the price").check()
    ask(page)
    assert page.locator("path.band").get_attribute("d")
    page.get_by_text("Show the numbers").click()
    assert page.get_by_role("table").locator("tbody tr").count() > 100


def test_a_two_way_table_is_a_heat_map(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_label("For each", exact=True).select_option("race")
    page.get_by_label("and each").select_option("sex")
    ask(page)
    table = page.get_by_role("table", name="count by race, sex")
    assert table.locator("tbody tr").count() == 5
    assert table.locator("tbody td").count() == 10
