"""Every screen at both widths and in both themes: accessible, in the window, calm, and by keyboard alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from console_service import Running, running

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]
AXE = ROOT / "console" / "node_modules" / "axe-core" / "axe.min.js"
SCREENS = {
    "ann": ("datasets", "datasets/adult", "ask/adult", "history", "design/adult", "plans", "runs", "answers"),
    "carl": (
        *("overview", "datasets", "datasets/adult", "datasets/new", "datasets/adult/schema"),
        *("datasets/adult/budget", "people", "people/one", "record/adult", "verify"),
    ),
    "eve": ("datasets", "ask"),
}
VIEWS = [(width, theme) for width in (1280, 390) for theme in ("light", "dark")]


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Serve the Adult data, of which Ann has asked two questions."""
    import json
    from urllib.request import Request, urlopen

    with running(tmp_path_factory.mktemp("console")) as made:

        def post(path: str, body: dict[str, Any]) -> Any:
            headers = {"Authorization": f"Bearer {made.keys['ann']}", "Content-Type": "application/json"}
            headers["Idempotency-Key"] = json.dumps(body)[:100]
            with urlopen(Request(made.address + path, json.dumps(body).encode(), headers)) as reply:
                return json.load(reply)

        pay = {"within": 20}
        for sql in ("SELECT education, COUNT(*) FROM adult GROUP BY education", "SELECT COUNT(*) FROM adult"):
            answer = post("/v1/datasets/adult/answers", {"sql": sql, "pay": pay})
        made.keys["answer"] = answer["id"]
        yield made


def path_of(service: Running, screen: str) -> str:
    if screen == "answers":
        return f"answers/{service.keys['answer']}"
    if screen == "people/one":
        return f"people/{next(one.public for one in service.ledger.people.all() if one.name == 'ann')}"
    return screen


def settled(page: Any) -> None:
    page.locator("h1").wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_function("() => !document.querySelector('[aria-busy=true]')")


@pytest.mark.parametrize(("width", "theme"), VIEWS)
@pytest.mark.parametrize("name", SCREENS)
def test_axe_finds_nothing_and_no_screen_is_wider_than_the_window(
    furnished: Running, signed_in: Callable[..., Any], name: str, width: int, theme: str
) -> None:
    page = signed_in(furnished, name, width=width, theme=theme)
    found = []
    for screen in SCREENS[name]:
        page.goto("about:blank")
        page.goto(f"/#/{path_of(furnished, screen)}")
        settled(page)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        for each in page.evaluate("async () => (await axe.run()).violations"):
            found += [f"{screen}: {each['id']} {node['html'][:160]}" for node in each["nodes"]]
        if page.evaluate("document.documentElement.scrollWidth - innerWidth") > 0:
            found.append(f"{screen}: wider than the window")
    assert not found, "\n".join(found)


@pytest.mark.parametrize(("width", "theme"), VIEWS)
def test_axe_finds_nothing_without_login(
    furnished: Running, opened: Callable[..., Any], width: int, theme: str
) -> None:
    page = opened(furnished, width=width, theme=theme)
    for path in ("", "#/record/adult"):
        page.goto(f"/{path}")
        settled(page)
        page.evaluate(AXE.read_text(encoding="utf-8"))
        assert page.evaluate("async () => (await axe.run()).violations") == []


def test_a_question_is_asked_by_keyboard_alone(service: Running, opened: Callable[..., Any]) -> None:
    page = opened(service)
    keys = page.keyboard
    keys.press("Tab")
    keys.press("Tab")
    for _ in range(20):
        if page.evaluate("document.activeElement.id") == "key":
            break
        keys.press("Tab")
    keys.insert_text(service.keys["ann"])
    keys.press("Enter")
    page.get_by_role("navigation", name="Screens").wait_for()

    def reach(words: str, most: int = 60) -> None:
        for _ in range(most):
            keys.press("Tab")
            name = "document.activeElement.textContent + (document.activeElement.ariaLabel ?? '')"
            if words in page.evaluate(name):
                return
        raise AssertionError(f"{words} cannot be reached")

    reach("Ask")
    keys.press("Enter")
    page.get_by_label("What", exact=True).wait_for()
    page.get_by_role("button", name="Ask for ε").wait_for()
    reach("Ask for ε")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    keys.press("Enter")
    page.get_by_role("region", name="This answer").wait_for()


def test_the_first_stop_skips_to_the_content(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "datasets")
    page.get_by_role("link", name="Skip to the content").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "MAIN"


def test_a_new_screen_has_a_title_and_takes_the_focus(
    service: Running, signed_in: Callable[..., Any]
) -> None:
    page = signed_in(service, "ann", "datasets")
    page.get_by_role("link", name="History").click()
    page.get_by_role("heading", name="History").wait_for()
    assert page.title() == "History · Dovetail"
    assert page.evaluate("document.activeElement.tagName") == "H1"


def test_nothing_jumps_while_a_slider_moves(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "design/adult?within=5&answers=20&delta=1e-6")
    page.locator("[data-state=certified]").wait_for(state="attached")
    places = """() => [...document.querySelectorAll('.plot, .slider, .tile')]
        .map(one => one.getBoundingClientRect().top + scrollY)"""
    before = page.evaluate(places)
    slider = page.get_by_label("Error to stay within")
    slider.focus()
    for _ in range(3):
        slider.press("ArrowRight")
        assert page.evaluate(places) == pytest.approx(before, abs=1)
    page.locator("[data-state=certified]").wait_for(state="attached")
    assert page.evaluate(places) == pytest.approx(before, abs=1)


def test_reduced_motion_has_no_transitions(service: Running, signed_in: Callable[..., Any]) -> None:
    page = signed_in(service, "ann", "datasets", reduced_motion="reduce")
    page.locator(".button").first.wait_for()
    times = page.locator(".button").evaluate_all(
        "all => all.map(one => getComputedStyle(one).transitionDuration)"
    )
    assert set(times) == {"0s"}
