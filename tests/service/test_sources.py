"""Where rows may be: below a root, at a named connection, shipped, and nowhere else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dovetail as dv
from dovetail.errors import DataError, InvalidParameter
from dovetail.service.settings import Settings
from dovetail.service.sources import below_root, check_form, listed_roots, opened_source, opened_sources


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A root with two files, a folder and links, of which some lead out of it; two connections."""
    root, outside = tmp_path / "data", tmp_path / "outside"
    for folder in (root / "months", root / "leaking", outside):
        folder.mkdir(parents=True)
    for place in (root / "a.csv", root / "b.csv", root / "months/jan.csv", outside / "secret.csv"):
        place.write_text("ward\neyes\n")
    for name in (".hidden.csv", "_half.csv", "notes.txt"):
        (root / name).write_text("x")
    (root / "inner.csv").symlink_to(root / "a.csv")
    (root / "outer.csv").symlink_to(outside / "secret.csv")
    (root / "leaking/out").symlink_to(outside)
    (root / "circle").symlink_to(root / "circle")
    return Settings(
        "x.ledger",
        data_roots={"data": root, "gone": tmp_path / "gone"},
        connections={"clinic": "postgresql://ann@host/clinic", "lake": "local[2]"},
    )


def test_a_path_stays_below_its_root(settings: Settings) -> None:
    root = settings.data_roots["data"]
    for path in ("a.csv", "months", "months/jan.csv", "inner.csv", "months/../a.csv"):
        found = below_root({"root": "data", "path": path}, settings)
        assert found == (root / path).resolve()
    for path in (
        *("outer.csv", "leaking", "../outside/secret.csv", str(root.parent / "outside/secret.csv")),
        *("missing.csv", "circle", "a\0.csv", "leaking/out/secret.csv"),
    ):
        with pytest.raises(InvalidParameter, match="below a data root"):
            below_root({"root": "data", "path": path}, settings)
    with pytest.raises(InvalidParameter, match="below a data root"):
        below_root({"root": "other", "path": "a.csv"}, settings)


@pytest.mark.parametrize(
    "said",
    [
        {"root": "data", "path": "a.csv"},
        {"root": "data", "path": "a.db", "table": "t"},
        {"connection": "clinic", "table": "folder/visits"},
        {"connection": "lake", "table": "visits"},
        {"shipped": "adult"},
    ],
)
def test_a_request_names_a_source_in_one_of_the_forms(said: dict[str, str], settings: Settings) -> None:
    assert check_form(said, settings) == said


@pytest.mark.parametrize(
    "said",
    [
        *(
            {"path": "/etc/passwd"},
            {"root": "data"},
            {"connection": "clinic"},
            {},
            None,
            "a.csv",
            ["shipped"],
        ),
        *({"shipped": ""}, {"shipped": 7}, {"root": "data", "path": ""}, {"root": "", "path": "a.csv"}),
        *({"root": "data", "path": "a.csv", "connection": "clinic"}, {"connection": "clinic", "table": 7}),
        {"connection": "lake", "table": "folder/visits"},
    ],
    ids=str,
)
def test_other_forms_are_refused(said: Any, settings: Settings) -> None:
    with pytest.raises(InvalidParameter):
        check_form(said, settings)


def test_each_form_opens_its_own_rows(settings: Settings) -> None:
    root = settings.data_roots["data"]
    assert opened_source({"root": "data", "path": "a.csv"}, settings, "x", None).data == root / "a.csv"
    named = opened_source({"path": str(root.parent / "outside/secret.csv")}, settings, "x", None)
    assert named.data == root.parent / "outside/secret.csv"
    schema = dv.Schema([dv.Column("age", "integer", low=0, high=9)])
    shipped = opened_source({"shipped": "adult"}, settings, "x", None)
    assert shipped.schema == dv.datasets.adult().schema
    assert opened_source({"shipped": "adult"}, settings, "x", schema).schema == schema
    with pytest.raises(InvalidParameter, match="adult"):
        opened_source({"shipped": "census"}, settings, "x", None)
    clinic = opened_source({"connection": "clinic", "table": "visits"}, settings, "x", None)
    assert (clinic.table, clinic.name) == ("visits", "x")
    with pytest.raises(DataError, match="no connection"):
        opened_source({"connection": "gone", "table": "visits"}, settings, "x", None)


def test_several_files_are_one_source_and_nothing_else_is(settings: Settings) -> None:
    one, other = ({"root": "data", "path": name} for name in ("a.csv", "b.csv"))
    root = settings.data_roots["data"]
    assert opened_sources([one], settings, "x", None).data == root / "a.csv"
    both = opened_sources([one, other], settings, "x", None)
    assert both.data == (root / "a.csv", root / "b.csv")
    table = {"connection": "clinic", "table": "visits"}
    assert opened_sources([table], settings, "x", None).table == "visits"
    inner = one | {"table": "t"}
    for wrong in ([one, table], [table, one], [table, table], [one, inner], [inner, other]):
        with pytest.raises(InvalidParameter, match="only files"):
            opened_sources(wrong, settings, "x", None)


def test_roots_list_what_can_be_read_at_their_top(settings: Settings) -> None:
    listed = {each["name"]: each["files"] for each in listed_roots(settings)}
    assert listed == {
        "data": ["a.csv", "b.csv", "inner.csv", "leaking/", "months/", "outer.csv"],
        "gone": [],
    }
