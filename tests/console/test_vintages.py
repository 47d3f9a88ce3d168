"""Vintages in the console: chosen before asking, named in answers and history, listed for the curator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from console_service import Running, running
from dovetail.privacy import Budget

pytestmark = pytest.mark.browser

SCHEMA = dv.Schema([dv.Column("ward", "text", values=["eyes", "heart"])])
SIZES = {"January": 40, "February": 900}


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Running]:
    """Serve two months of visits; the second is still open."""
    from dovetail.service.settings import DeclaredDataset

    (tmp_path / "data").mkdir()
    for label, number in SIZES.items():
        (tmp_path / "data" / f"{label}.csv").write_text("ward\n" + "eyes\n" * number)
    first = {"root": "data", "path": "January.csv"}
    declared = DeclaredDataset("visits", first, Budget.pure(9), schema=SCHEMA)
    with running(tmp_path, budget=Budget.pure(9), declared=(declared,)) as made:
        for label in SIZES:
            place = {"root": "data", "path": f"{label}.csv"}
            made.ledger.catalogue.declare_vintage(
                "visits",
                label,
                lambda said, label=label, place=place: {  # type: ignore[misc]
                    **said,
                    "vintages": {**said.get("vintages", {}), label: place},
                },
                complete=label == "January",
            )
        yield made


def offer(page: Any) -> Any:
    """Wait until the price on show is that of the question on show."""
    box = page.get_by_role("region", name="Before you pay")
    page.wait_for_function(
        "() => { const box = document.querySelector('[aria-label=\"Before you pay\"]');"
        " return box && box.getAttribute('aria-busy') === 'false' && box.querySelector('[data-quote]') }"
    )
    return box


def number(page: Any) -> int:
    return int(page.locator("[data-value] b").inner_text().replace(",", ""))


def test_an_analyst_chooses_a_vintage_and_finds_it_again(
    clinic: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(clinic, "ann", "ask/visits")
    choice = page.get_by_label("Vintage")
    choice.wait_for()
    assert choice.locator("option").all_inner_texts() == [
        "no vintage in particular",
        "January",
        "February (rows may still be added)",
    ]
    choice.select_option("February")
    page.wait_for_function("() => location.hash.includes('vintage=February')")
    page.wait_for_function(
        "() => document.querySelector('[data-quote] + dl')?.innerText.includes('February')"
    )
    offer(page).locator(".primary").click()
    told = page.get_by_role("region", name="This answer")
    told.wait_for()
    assert number(page) > 500
    assert "February" in told.inner_text()
    page.goto("/#/history")
    row = page.get_by_role("region", name="Your requests").locator("tbody tr")
    assert "visits, February" in row.inner_text()
    # The address of a question names its rows too: opened anew, it is the same question, and free.
    page.goto("/#/ask/visits?within=20&probability=19%2F20&vintage=February")
    assert page.get_by_label("Vintage").input_value() == "February"
    assert "Asked before: free" in offer(page).inner_text()
    page.get_by_label("Vintage").select_option("January")
    page.wait_for_function("() => document.querySelector('[data-quote]')?.innerText.includes('This costs')")


def test_where_each_row_lies_in_one_vintage_one_is_always_named(
    clinic: Running, signed_in: Callable[..., Any]
) -> None:
    clinic.ledger.catalogue.settle("visits", disjoint=True)
    page = signed_in(clinic, "ann", "ask/visits")
    choice = page.get_by_label("Vintage")
    choice.wait_for()
    assert choice.locator("option").count() == 2
    assert choice.input_value() == "February"
    offer(page).locator(".primary").click()
    page.get_by_role("region", name="This answer").wait_for()
    page.goto("/#/ask/visits?vintage=January")
    box = offer(page)
    assert page.get_by_label("Vintage").input_value() == "January"
    # Nothing was charged to it before this question.
    assert "ε 8.85 left of ε 9" in box.locator("[role=img]").get_attribute("aria-label")
    other = signed_in(clinic, "carl", "overview/visits")
    table = other.locator("[data-vintages]")
    table.wait_for()
    rows = [row.split("\t") for row in table.locator("tbody tr").all_inner_texts()]
    assert [row[:2] for row in rows] == [["January", "complete"], ["February", "may still be added"]]
    assert rows[0][2] == "ε 0"
    assert rows[1][2] != "ε 0"


def test_a_plan_for_a_vintage_is_offered_for_its_rows_only(
    clinic: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(clinic, "ann", "design/visits?delta=0&answers=2")
    page.get_by_label("Vintage").select_option("February")
    button = page.get_by_role("button", name="Open this plan")
    page.wait_for_function(
        "() => [...document.querySelectorAll('button')].some((one) =>"
        " one.innerText === 'Open this plan' && !one.disabled)"
    )
    button.click()
    page.locator("[data-plan]").wait_for()
    assert "February" in page.locator("[data-plan]").inner_text()
    page.get_by_role("link", name="Ask with this plan").click()
    assert page.get_by_label("Vintage").input_value() == "February"
    assert "Paid by the plan" in offer(page).inner_text()
    page.get_by_label("Vintage").select_option("January")
    page.get_by_label("use a plan").wait_for(state="detached")


def test_a_dataset_without_vintages_says_nothing_of_them(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "ask/adult")
    offer(page)
    assert "intage" not in page.inner_text("main")
