"""What `deploy/` holds to begin with: a unit that systemd accepts, a container that starts what there is."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

DEPLOY = Path(__file__).parents[2] / "deploy"
UNIT = (DEPLOY / "dovetail.service").read_text(encoding="utf-8")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "dovetail.service"
    # The program is not installed here; everything else is looked at as it is.
    unit.write_text(UNIT.replace("/opt/dovetail/bin/dovetail", "/bin/true"))
    found = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (0, "")
    wrong = tmp_path / "wrong.service"
    wrong.write_text(unit.read_text().replace("ProtectSystem=strict", "ProtectSystem=somewhat"))
    found = subprocess.run(["systemd-analyze", "verify", wrong], capture_output=True, text=True, check=False)
    assert "somewhat" in found.stderr


def test_the_container_starts_what_the_unit_starts() -> None:
    container = (DEPLOY / "Containerfile").read_text()
    unit = re.search(r"^ExecStart=\S+/dovetail (.*)$", UNIT, re.MULTILINE)
    entry = re.search(r"^ENTRYPOINT (\[.*\])$", container, re.MULTILINE)
    assert unit is not None
    assert entry is not None
    assert re.findall(r'"([^"]*)"', entry[1]) == ["dovetail", *shlex.split(unit[1])]
    # Not as root, and what is installed has the extras that a service needs.
    assert re.search(r"^USER dovetail$", container, re.MULTILINE)
    assert "'.[service,postgres]'" in container
    # Data, ledgers and environments that lie in the folder do not get into an image.
    ignored = (DEPLOY.parent / ".dockerignore").read_text().splitlines()
    assert next(line for line in ignored if not line.startswith(("#", "!"))) == "*"
    assert {"!src", "!pyproject.toml", "!README.md", "!LICENSE"} == {x for x in ignored if x.startswith("!")}
