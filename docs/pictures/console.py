"""Take the pictures of the console: the real service, a real browser (run by the Python of .venv-console)."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from shutil import which
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from console_service import Running, running  # noqa: E402

COLOURS = 96


def kept(page: Any, name: str) -> None:
    """Write what the window shows, with few colours."""
    shot = Image.open(BytesIO(page.screenshot())).convert("RGB")
    few = shot.quantize(COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(HERE / f"console-{name}.png", optimize=True)


def designed(page: Any) -> None:
    page.goto("/#/design/adult?within=20&answers=20&delta=1e-6")
    page.locator("[data-state=certified]").wait_for(state="attached")
    page.wait_for_load_state("networkidle")


def quoted(page: Any) -> None:
    page.goto("/#/ask/adult?within=30")
    page.get_by_label("For each", exact=True).select_option("education")
    page.get_by_text("for all 16 at once").wait_for()


def answered(page: Any) -> None:
    quoted(page)
    page.locator("button.primary").click()
    page.get_by_role("region", name="This answer").wait_for()


def protected(page: Any) -> None:
    page.goto("/#/datasets/new")
    page.get_by_role("button", name="Choose people.csv").click()
    page.get_by_role("button", name="Continue with").click()
    page.get_by_label("Each person").check()


def overseen(page: Any) -> None:
    page.goto("/#/overview")
    page.get_by_text("Who spent it").wait_for()


def take(browser: Any, service: Running) -> None:
    """Take every picture."""
    tour: list[tuple[str, str, int, int, str, Callable[[Any], None]]] = [
        ("design", "ann", 1280, 900, "light", designed),
        ("design-dark", "ann", 1280, 900, "dark", designed),
        ("ask", "ann", 1280, 720, "light", quoted),
        ("answer", "ann", 1280, 820, "light", answered),
        ("answer-390", "ann", 390, 844, "dark", answered),
        ("protects", "carl", 1280, 900, "light", protected),
        ("overview", "carl", 1280, 900, "light", overseen),
    ]
    for name, who, width, height, theme, show in tour:
        context = browser.new_context(
            base_url=service.address, viewport={"width": width, "height": height}, color_scheme=theme
        )
        page = context.new_page()
        page.goto("/")
        page.get_by_label("Your key").fill(service.keys[who])
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("navigation", name="Screens").wait_for()
        show(page)
        page.mouse.move(0, 0)
        kept(page, name)
        context.close()


def main() -> None:
    """Serve the Adult data and a small file of persons, and take the pictures."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        data = Path(folder) / "data"
        data.mkdir()
        rows = "".join(f"{n // 2},{20 + n % 50}\n" for n in range(300))
        (data / "people.csv").write_text("person,age\n" + rows)
        with running(Path(folder)) as service:
            browser = playwright.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
            take(browser, service)
            browser.close()


if __name__ == "__main__":
    main()
