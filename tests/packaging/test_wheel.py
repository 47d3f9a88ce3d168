"""The wheel and the sdist hold what a user needs, and nothing else; building them needs no network."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path, PurePosixPath

import pytest

import dovetail

ROOT = Path(__file__).parents[2]
ENDINGS = {".py", ".typed", ".parquet", ".toml", ".md", ".csv", ".css", ".html", ".json", ".js", ".svg"}
MOST_BYTES = 1_500_000
EXTRAS = {
    "service",
    "oidc",
    "client",
    "browser",
    "fuzz",
    "plot",
    "pandas",
    "postgres",
    "spark",
    "docs",
    "bench",
    "dev",
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    assert path.name == f"dovetail_dp-{dovetail.__version__}-py3-none-any.whl"
    assert path.stat().st_size < MOST_BYTES
    return zipfile.ZipFile(path)


def test_the_wheel_holds_types_data_and_schema(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    for needed in (
        "py.typed",
        "datasets/adult.parquet",
        "datasets/adult.toml",
        "datasets/adult.md",
        "paper/claims.toml",
        "paper/table1.csv",
        "paper/report.html",
        "paper/report.css",
        "designer/shapes.json",
        "answers/formats.json",
    ):
        assert f"dovetail/{needed}" in names, needed


def test_the_wheel_holds_every_module_and_nothing_odd(wheel: zipfile.ZipFile) -> None:
    inside = {PurePosixPath(name) for name in wheel.namelist()}
    info = f"dovetail_dp-{dovetail.__version__}.dist-info"
    assert {path.parts[0] for path in inside} == {"dovetail", info}
    odd = [path for path in inside if path.parts[0] == "dovetail" and path.suffix not in ENDINGS]
    assert not odd
    source = ROOT / "src"
    modules = {PurePosixPath(path.relative_to(source)) for path in source.rglob("*.py")}
    assert modules <= inside


def test_the_metadata_names_licence_extras_and_the_command(wheel: zipfile.ZipFile) -> None:
    info = f"dovetail_dp-{dovetail.__version__}.dist-info"
    fields = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    assert fields["Version"] == dovetail.__version__
    assert fields["License-Expression"] == "Apache-2.0"
    assert fields["Requires-Python"] == ">=3.11"
    assert set(fields.get_all("Provides-Extra", [])) == EXTRAS
    assert f"{info}/licenses/LICENSE" in wheel.namelist()
    assert "dovetail = dovetail.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()


def test_the_sdist_holds_source_tests_and_documents(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {PurePosixPath(*PurePosixPath(name).parts[1:]) for name in archive.getnames()}
    for needed in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "src/dovetail/py.typed",
        "docs/index.md",
        "Makefile",
    ):
        assert PurePosixPath(needed) in names, needed
    assert PurePosixPath("tests/packaging/test_wheel.py") in names
    assert PurePosixPath("examples/own_mechanism.py") in names
    assert not any(part.startswith(".venv") or part == "site" for name in names for part in name.parts)
