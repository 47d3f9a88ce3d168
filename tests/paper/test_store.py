"""What is kept between runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dovetail as dv
from dovetail.paper import reproduce
from dovetail.paper import reproduction as module
from dovetail.paper.code_version import _NUMERIC, _imported, code_version
from dovetail.paper.item import Item, ItemResult, StepInputs, table


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the items by two cheap ones and list what is computed."""
    made: list[str] = []

    def first(run: StepInputs) -> ItemResult:
        made.append("first")
        return ItemResult(
            tables=(table("numbers", "n share word", [(1, 0.1, "a"), (run.sizes.grid, 1 / 3, "b")]),)
        )

    def second(run: StepInputs) -> ItemResult:
        made.append("second")
        assert run.tables["numbers"].column("share")[0] == 0.1
        return ItemResult(note=f"seed {run.seed}")

    # The code version is read from the module that makes an item.
    first.__module__ = second.__module__ = "dovetail.paper.densities"
    items = (
        Item("first", "First", first, uses=("grid",)),
        Item("second", "Second", second, ("first",), ("seed",)),
    )
    monkeypatch.setattr(module, "ITEMS", items)
    return made


def test_what_is_finished_is_not_computed_again(tmp_path: Path, counted: list[str]) -> None:
    reproduce(tmp_path, quick=True)
    reproduce(tmp_path, quick=True)
    assert counted == ["first", "second"]


def test_a_broken_off_run_goes_on_where_it_stopped(tmp_path: Path, counted: list[str]) -> None:
    reproduce(tmp_path, quick=True)
    (tmp_path / "steps" / "second.json").unlink()
    reproduce(tmp_path, quick=True)
    assert counted == ["first", "second", "second"]


def test_an_edited_file_is_made_again(tmp_path: Path, counted: list[str]) -> None:
    reproduce(tmp_path, quick=True)
    (tmp_path / "tables" / "numbers.csv").write_text("n\n1\n")
    assert reproduce(tmp_path, quick=True).table("numbers")[1]["word"] == "b"
    assert counted == ["first", "second", "first"]


def test_other_sizes_and_what_rests_on_them_are_computed_anew(tmp_path: Path, counted: list[str]) -> None:
    reproduce(tmp_path, quick=True)
    reproduce(tmp_path, quick=False)
    assert counted == ["first", "second", "first", "second"]


def test_the_seed_matters_only_to_items_that_draw(tmp_path: Path, counted: list[str]) -> None:
    reproduce(tmp_path, quick=True, seed=1)
    assert reproduce(tmp_path, quick=True, seed=2).items["second"].note == "seed 2"
    assert counted == ["first", "second", "second"]


def test_one_item_brings_what_it_needs_and_nothing_else(tmp_path: Path, counted: list[str]) -> None:
    reproduce(tmp_path, quick=True, only="first")
    assert counted == ["first"]
    reproduce(tmp_path, quick=True, only=["second"])
    assert counted == ["first", "second"]


def test_an_unknown_item_is_refused_with_the_names(tmp_path: Path, counted: list[str]) -> None:
    with pytest.raises(dv.InvalidParameter, match="only='fig99' must be one of first, second"):
        reproduce(tmp_path, only="fig99")


def test_progress_is_told_by_title(tmp_path: Path, counted: list[str]) -> None:
    told: list[tuple[str, float]] = []
    reproduce(tmp_path, quick=True, progress=lambda title, share: told.append((title, share)))
    assert told == [("First", 0.0), ("First", 1.0), ("Second", 0.0), ("Second", 1.0)]


def test_the_code_version_follows_relative_imports() -> None:
    assert {"metrics", "simulation", "clamped", "claims"} <= _imported("metrics")
    assert "metrics" not in _imported("simulation")
    assert code_version("dovetail.paper.metrics") != code_version("dovetail.paper.simulation")


def test_the_code_version_covers_every_package_that_makes_numbers() -> None:
    """Results are made again when a package changes that the paper's modules use through the public names."""
    used = set()
    for path in Path(module.__file__).parent.glob("*.py"):
        for name in re.findall(r"\bdv\.(\w+)", path.read_text(encoding="utf-8")):
            used.add(dv._HOME.get(name, name))
    assert used - {"datasets", "errors", "__version__"} <= set(_NUMERIC)
