"""The documentation is complete, its code runs, and its generated parts are up to date."""

from __future__ import annotations

import importlib
import inspect
import re
import runpy
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

import dovetail
from document_blocks import ROOT, blocks, run
from dovetail.pricing.partition_selection import threshold_for
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import Field
from dovetail.query.measures import Rows
from dovetail.query.partitions import Discovered

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
# They need a server, a service or a Java machine.
ELSEWHERE = {"postgresql.md", "spark.md", "billion-rows.md", "ask-a-service.md"}
SLOW = {"tutorial.md"}
PACKAGES = ("audit", "datasets", "designer", "ledger", "noise", "online", "privacy", "sampling")


def _runnable() -> list[object]:
    found = []
    for page in PAGES:
        kinds = {block.language for block in blocks(page) if block.language == "python" or block.commands()}
        if kinds & {"python", "console", "sh", "shell", "bash"} and page.name not in ELSEWHERE:
            marks = [pytest.mark.slow] if page.name in SLOW else []
            found.append(pytest.param(page, id=str(page.relative_to(ROOT)), marks=marks))
    return found


@pytest.mark.parametrize("page", _runnable())
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    assert run(page, tmp_path) > 0


def _documented() -> set[str]:
    """Return what the reference pages describe, by the object's own place."""
    found = set()
    for page in (DOCS / "reference").glob("*.md"):
        for path in re.findall(r"^::: ([\w.]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            found.add(id(_object(path)))
    return found


def _object(path: str) -> object:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _public() -> dict[str, object]:
    named = {
        f"dovetail.{name}": getattr(dovetail, name) for name in dovetail.__all__ if name != "__version__"
    }
    for package in PACKAGES:
        module = importlib.import_module(f"dovetail.{package}")
        named |= {f"{module.__name__}.{name}": getattr(module, name) for name in module.__all__}
    return {path: value for path, value in named.items() if not inspect.ismodule(value)}


def test_every_public_name_is_in_the_reference() -> None:
    documented, public = _documented(), _public()
    assert len(public) > 60
    missing = sorted(path for path, value in public.items() if id(value) not in documented)
    assert not missing, f"add '::: NAME' to a page of docs/reference: {missing}"


def test_every_public_method_has_a_docstring() -> None:
    """What has no docstring is left out of the reference."""
    bare = []
    for path, value in _public().items():
        if inspect.isclass(value) and not issubclass(value, Exception):
            for name, member in inspect.getmembers(value):
                described = inspect.isroutine(member) or isinstance(member, property)
                # A query's `checked` is the protocol Query, described there; sessions call it.
                hidden = name.startswith("_") or name == "checked"
                if described and not hidden and not inspect.getdoc(member):
                    bare.append(f"{path}.{name}")
    assert not bare


def test_the_page_of_commands_is_what_the_commands_say() -> None:
    written = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    assert written == runpy.run_path(str(DOCS / "commands.py"))["page"](), "run: python docs/commands.py"


def test_every_command_is_on_that_page() -> None:
    from typer.main import get_command

    from dovetail.cli.app import app

    written = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    for name, command in get_command(app).commands.items():
        for full in [name, *(f"{name} {inner}" for inner in getattr(command, "commands", ()))]:
            assert re.search(rf"^##+ dovetail {full}$", written, re.MULTILINE), full


def test_every_page_is_in_the_navigation_or_linked_from_one_that_is() -> None:
    navigation = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    reached = {(DOCS / page).resolve() for page in _leaves(navigation)}
    assert all(page.exists() for page in reached), sorted(map(str, reached))
    waiting = list(reached)
    while waiting:
        page = waiting.pop()
        for target in re.findall(r"\]\(([^)#:\s]+\.md)", page.read_text(encoding="utf-8")):
            found = (page.parent / target).resolve()
            if found not in reached and found.exists():
                reached.add(found)
                waiting.append(found)
    left = {page.resolve() for page in DOCS.rglob("*.md")} - reached
    assert not left, sorted(map(str, left))


def _leaves(entries: object) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    values = entries.values() if isinstance(entries, dict) else entries
    return [leaf for value in values for leaf in _leaves(value)]  # type: ignore[union-attr]


def test_the_runner_notices_a_page_that_is_wrong(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nassert 1 == 2\n```\n")
    with pytest.raises(AssertionError):
        run(page, tmp_path)
    page.write_text("```console\n$ dovetail version # exit code 3\n```\n")
    with pytest.raises(AssertionError):
        run(page, tmp_path)


def test_the_table_of_variances_is_what_the_script_prints() -> None:
    """A design is searched in floats, so it differs a little from processor to processor."""
    page = (DOCS / "noise.md").read_text(encoding="utf-8")
    made = runpy.run_path(str(DOCS / "pictures" / "noise.py"))["table"]().splitlines()
    printed = page[page.index(made[0]) :].splitlines()[: len(made)]
    for fresh, shown in zip(made[2:], printed[2:], strict=True):
        name, variance, worst = (cell.strip() for cell in fresh.strip("|").split("|"))
        told, told_variance, told_worst = (cell.strip() for cell in shown.strip("|").split("|"))
        assert name == told
        assert float(variance) == pytest.approx(float(told_variance), rel=0.005)
        assert worst == told_worst == "none" or float(worst) == pytest.approx(float(told_worst), rel=0.05)


def test_what_readme_shows_as_measured_is_on_the_page_of_measurements() -> None:
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    marked = re.search(r"<!-- bench.*?-->\n(.*?)<!-- /bench -->", readme, re.DOTALL)
    assert marked
    rows = marked[1].splitlines()[2:]
    assert len(rows) > 5
    for row in rows:
        assert "|" + "|".join(row.split("|")[2:5]) + "|" in page, row


def test_the_table_of_thresholds_is_true() -> None:
    page = (DOCS / "how-to" / "unknown-keys.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)\((.*?)\)` \| (\S+) \| (\d+) \|$", page, re.MULTILINE)
    assert len(rows) == 4
    question = CheckedQuery(Rows(), (Discovered(Field("word", "text")),))
    for kind, numbers, delta, least in rows:
        noise = getattr(dovetail, kind)(*numbers.split(", "))
        assert threshold_for(question, noise, int(Fraction(delta) * 10**18)).least == int(least)


def test_no_page_or_message_installs_a_strangers_package() -> None:
    """The distribution is dovetail-dp; plain "dovetail" on the package index belongs to somebody else."""
    stranger = re.compile(r"install\s+(?:-\S+\s+)*['\"]?dovetail(?!-dp\b)")
    texts = [
        *PAGES,
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "examples").rglob("*.*"),
        ROOT / "CONTRIBUTING.md",
    ]
    assert stranger.search("pip install 'dovetail[plot]'")
    assert stranger.search("pip install --upgrade dovetail")
    assert not stranger.search("pip install 'dovetail-dp[plot]'")
    assert not [
        path for path in texts if path.is_file() and stranger.search(path.read_text(encoding="utf-8"))
    ]


def test_the_house_is_drawn_from_the_contract_and_names_files_that_exist() -> None:
    drawn = runpy.run_path(str(DOCS / "pictures" / "architecture.py"))["drawn"]()
    assert (DOCS / "pictures" / "architecture.svg").read_text(encoding="utf-8") == drawn
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+(?:\w+\.py)?|\w+\.py)`", page))
    assert len(named) > 30
    assert not [name for name in named if not (ROOT / "src" / "dovetail" / name).exists()]


def test_the_drawing_of_questions_is_what_the_script_draws_and_names_what_can_be_asked() -> None:
    script = runpy.run_path(str(DOCS / "pictures" / "choosing.py"))
    assert (DOCS / "pictures" / "choosing.svg").read_text(encoding="utf-8") == script["drawn"]()
    for _, write, _ in script["ASK"]:
        assert all(hasattr(dovetail.Session, name) for name in write.split(", ")), write
    ways = inspect.signature(dovetail.Session.histogram).parameters
    assert all(write.partition("=")[0] in ways for _, write, _ in script["PAY"])
