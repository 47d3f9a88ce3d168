"""A wheel carries the built console although git ignores it, and no wheel without it is released."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "console" / "wheel.py"


def small_wheel(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path / "dovetail_dp-0-py3-none-any.whl", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHECK), str(folder)], capture_output=True, text=True, check=False
    )


PAGE = "dovetail/service/console/index.html"
SCRIPT = "dovetail/service/console/assets/index.js"


def test_a_wheel_with_the_console_passes(tmp_path: Path) -> None:
    assert check(small_wheel(tmp_path, {PAGE: b"<p>", SCRIPT: b"0"})).returncode == 0


@pytest.mark.parametrize(
    ("files", "word"),
    [
        ({"dovetail/__init__.py": b""}, "no console"),
        ({PAGE: b"<p>"}, "no console"),
        ({PAGE: b"<p>", SCRIPT: b"0", SCRIPT + ".map": b"{}"}, "source maps"),
    ],
)
def test_a_wheel_without_it_is_refused(tmp_path: Path, files: dict[str, bytes], word: str) -> None:
    refused = check(small_wheel(tmp_path, files))
    assert refused.returncode == 1
    assert word in refused.stdout


@pytest.mark.slow
def test_the_build_takes_the_ignored_bundle_along(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path / name)
    console = tmp_path / "src" / "dovetail" / "service" / "console"
    (console / "assets").mkdir(parents=True)
    (tmp_path / "src" / "dovetail" / "__init__.py").write_text("")
    (console / "index.html").write_text("<p>")
    (console / "assets" / "index.js").write_text("0")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    passed = check(tmp_path / "dist")
    assert passed.returncode == 0, passed.stdout


def test_the_lock_file_names_no_address() -> None:
    assert "://" not in (ROOT / "console" / "package-lock.json").read_text(encoding="utf-8")
