"""The curator's path: dataset, schema, who is protected, budget, people, overview."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from console_service import Running, running

pytestmark = pytest.mark.browser
SECRET = "Zaphod-Beeblebrox-unusual"


@pytest.fixture
def people(tmp_path: Path) -> Iterator[Running]:
    """Serve a folder with a file whose values stand nowhere else."""
    rows = [f"{SECRET if n == 7 else 'plain'},{9_876 if n == 7 else n % 50},{n // 2}" for n in range(200)]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text("nick,points,person\n" + "\n".join(rows) + "\n")
    with running(tmp_path) as made:
        yield made


@contextmanager
def started(folder: Path, *words: str) -> Iterator[str]:
    """Start a service in a process of its own, and give the address that signs its curator in."""
    command = [sys.executable, "-m", "dovetail", "serve", *words, "--port", "0", "--no-open"]
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
    try:
        for _ in range(600):
            found = re.search(r"http\S+#code=\S+", (folder / "output.txt").read_text())
            if found or process.poll() is not None:
                break
            time.sleep(0.1)
        assert found, (folder / "output.txt").read_text()
        yield found[0]
    finally:
        process.terminate()
        process.wait(60)


def choose(page: Any, file: str) -> None:
    page.get_by_role("button", name=f"Choose {file}").click()
    page.get_by_role("heading", name="What everybody may know about the columns").wait_for()


def group(page: Any, column: str) -> Any:
    return page.get_by_role("group", name=f"Column {column}")


def test_the_whole_path_from_a_file_to_the_first_answer(
    people: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(people, "carl", "datasets/new")
    choose(page, "people.csv")
    points = group(page, "points")
    points.get_by_label("Least").fill("0")
    points.get_by_label("Largest").fill("100")
    page.get_by_label("confirm points").check()
    page.get_by_role("button", name="Continue with 1 confirmed column").click()
    page.get_by_label("Each person").check()
    page.get_by_label("Column that names the person").select_option("person")
    page.get_by_label("Rows of one person, at most").fill("2")
    page.get_by_role("button", name="Protect each person").click()
    page.get_by_label("Name of the dataset").fill("people")
    page.get_by_role("button", name="Publish the dataset").click()
    page.get_by_role("heading", name="people is published. Who asks first?").wait_for()
    page.get_by_label("Name").fill("Dora")
    page.get_by_role("button", name="Grant it and make a key").click()
    key = page.locator("[data-secret]").inner_text()
    assert key.startswith("dvt_")
    page.get_by_role("button", name="Sign in as Dora").click()
    page.get_by_text("Dora · analyst").wait_for()
    page.get_by_role("button", name="Ask for ε").click()
    page.get_by_role("region", name="This answer").wait_for()
    (grant,) = people.ledger.people.grants("Dora", "people")
    assert Decimal(grant.spent.epsilon or 0) > 0


def test_a_first_run_opens_the_path_to_the_first_answer(tmp_path: Path, browser: Any) -> None:
    """Start it as a user does; the address that it prints signs the curator in, once."""
    (tmp_path / "people.csv").write_text("age\n" + "".join(f"{20 + n % 50}\n" for n in range(300)))
    context = browser.new_context()
    context.set_default_timeout(20_000)
    with started(tmp_path, "people.csv", "--budget", "epsilon=3,delta=1e-6") as address:
        page = context.new_page()
        page.goto(address)
        page.get_by_role("button", name="Begin with people").click()
        assert "code" not in page.url
        group(page, "age").get_by_label("Least").fill("0")
        group(page, "age").get_by_label("Largest").fill("120")
        page.get_by_label("confirm age").check()
        page.get_by_role("button", name="Continue with 1 confirmed column").click()
        page.get_by_role("button", name="Protect each row").click()
        assert page.get_by_label("Epsilon").input_value() == "3"
        page.get_by_role("button", name="Publish the dataset").click()
        page.get_by_role("heading", name="people is published").wait_for()
        page.get_by_label("Name").fill("Dora")
        page.get_by_role("button", name="Grant it and make a key").click()
        page.get_by_role("button", name="Sign in as Dora").click()
        page.get_by_role("button", name="Ask for ε").click()
        page.get_by_role("region", name="This answer").wait_for()
        context.clear_cookies()
        again = context.new_page()
        again.goto(address)
        again.get_by_label("Your key").wait_for()
    context.close()


def test_a_draft_shows_no_value_of_a_row_unless_the_curator_asks(
    people: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(people, "carl", "datasets/new")
    replies: list[str] = []
    page.on("response", lambda reply: replies.append(reply.text()) if "/v1/drafts" in reply.url else None)
    choose(page, "people.csv")
    assert SECRET not in page.content()
    assert "9876" not in page.content()
    assert SECRET not in "".join(replies)
    group(page, "points").get_by_role("button", name="Propose from the rows").click()
    page.get_by_text("Proposals for points come from the rows").wait_for()
    assert group(page, "points").get_by_label("Largest").input_value() != ""
    assert SECRET not in page.content()


def test_columns_are_confirmed_one_by_one(people: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(people, "carl", "datasets/new")
    choose(page, "people.csv")
    page.get_by_label("confirm nick").check()
    page.get_by_role("button", name="Continue with 1 confirmed column").wait_for()
    group(page, "nick").get_by_label("Possible values").fill("plain")
    group(page, "points").get_by_label("Least").click()
    page.get_by_role("button", name="Continue with 0 confirmed columns").wait_for()


def test_who_is_protected_is_fixed_and_says_why(people: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(people, "carl", "datasets/new")
    choose(page, "people.csv")
    page.get_by_role("button", name="Continue with").click()
    assert "Fixed once published." in page.content()
    assert "Every price and every answer rests on it" in page.content()
    page.goto("/#/datasets/adult")
    page.get_by_role("heading", name="What is promised").wait_for()
    assert page.get_by_text("Fixed when it was published").count() == 1
    assert page.locator("select, input:not([type=checkbox])").count() == 0


def test_a_password_is_never_shown_and_a_failed_connection_says_which_part(
    tmp_path: Path, signed_in: Callable[..., Any]
) -> None:
    address = "postgresql://reader:hunter2-secret@127.0.0.1:1/clinic"
    with running(tmp_path, connections={"clinic": address}) as service:
        page = signed_in(service, "carl", "datasets/new")
        seen: list[str] = []
        page.on("response", lambda reply: seen.append(reply.text()) if "/v1/" in reply.url else None)
        page.get_by_text("reader@127.0.0.1").wait_for()
        page.get_by_label("Table of clinic").fill("visits")
        page.get_by_role("button", name="Connect").click()
        refusal = page.get_by_role("alert")
        refusal.wait_for()
        told = refusal.inner_text().lower()
        assert any(part in told for part in ("server", "port", "connect", "reach", "address")), told
        assert "hunter2" not in page.content() + "".join(seen)


@pytest.mark.parametrize(
    ("choice", "sure"),
    [
        ("ε alone", "95.3\u00a0% sure"),
        ("ε with δ", "acts like answers"),
        ("ζ with a worst case", "on average"),
    ],
)
def test_a_budget_says_what_becomes_of_a_suspicion(
    people: Running, signed_in: Callable[..., Any], choice: str, sure: str
) -> None:
    page = signed_in(people, "carl", "datasets/new")
    choose(page, "people.csv")
    page.get_by_role("button", name="Continue with").click()
    page.get_by_role("button", name="Protect each row").click()
    page.get_by_label(choice).check()
    meaning = page.locator("[data-meaning]").inner_text()
    assert "50 % sure that a row is in the data" in meaning
    assert sure.lower() in meaning.lower()


def test_raising_needs_a_typed_reason_and_says_ex_post(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_role("button", name="Ask for ε").click()
    page.get_by_role("region", name="This answer").wait_for()
    page = signed_in(service, "carl", "datasets/adult/budget")
    page.get_by_label("Epsilon").fill("12")
    button = page.get_by_role("button", name="Set this limit")
    assert button.is_disabled()
    assert "Ex post." in page.content()
    page.get_by_label("Reason, for the record").fill("a second year of data")
    button.click()
    page.get_by_text("is ε 12 at δ 10⁻⁶ now, ex post").wait_for()
    page.goto("/#/record/adult")
    page.get_by_text("a second year of data").wait_for()
    assert "ex post" in page.content()


def test_a_key_is_shown_once_and_a_revoked_one_stops_at_the_next_request(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "carl", "people")
    page.get_by_label("Name").fill("Nora")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Grant a dataset").click()
    page.get_by_role("button", name="Grant this").click()
    page.get_by_text("left of ε 9").first.wait_for()
    page.get_by_role("button", name="Make a key").click()
    key = page.locator("[data-secret]").inner_text()
    page.get_by_role("button", name="I have saved it").click()
    assert key not in page.content()
    page.reload()
    page.get_by_role("heading", name="Keys").wait_for()
    assert key not in page.content()
    service.keys["Nora"] = key
    theirs = signed_in(service, "Nora", "datasets")
    theirs.get_by_role("link", name="Adult census").wait_for()
    page.get_by_role("button", name="Revoke key").click()
    page.get_by_text("revoked").first.wait_for()
    theirs.goto("/#/history")
    theirs.get_by_text("Your session has ended").wait_for()


def test_the_overview_equals_what_the_ledger_verifies(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "ask/adult")
    page.get_by_role("button", name="Ask for ε").click()
    page.get_by_role("region", name="This answer").wait_for()
    page = signed_in(service, "carl", "overview")
    head = page.locator("[data-head]").inner_text()
    assert head == str(service.ledger.verify())
    (grant,) = service.ledger.people.grants("ann", "adult")
    spent = page.locator(".tile .value").first.inner_text()
    assert Decimal(spent.split()[1]) >= Decimal(grant.spent.epsilon or 0)
    assert Decimal(spent.split()[1]) - Decimal(grant.spent.epsilon or 0) < Decimal("0.001")
    assert "ann" in page.get_by_text("Who spent it").locator("..").inner_text()


def test_a_screen_without_content_says_what_to_do(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "plans")
    page.get_by_role("link", name="Design a plan").wait_for()
    page.goto("/#/history")
    page.get_by_role("link", name="Ask the first question").wait_for()


def test_a_curator_without_a_grant_is_shown_the_way_to_one(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "carl", "ask")
    page.get_by_role("link", name="Grant yourself a part of the budget").click()
    page.get_by_role("heading", name="Granted").wait_for()
