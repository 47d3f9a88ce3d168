"""Try the package on every supported Python found here, and on the oldest versions that it declares.

Each Python gets the newest releases that pyproject.toml allows; the oldest Python also gets the declared
minimum of every requirement. The quick tests run in each; the exit code says whether all passed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SUPPORTED = [
    match[1]
    for match in map(re.compile(r"Programming Language :: Python :: (3\.\d+)$").match, PROJECT["classifiers"])
    if match
]
MINIMUM_EXTRAS = ("client", "oidc", "pandas", "plot", "postgres", "service")


def interpreter(version: str) -> str | None:
    """Return a Python of this version: on the PATH, or where pyenv keeps its own."""
    places = [*Path.home().glob(f".pyenv/versions/{version}.*/bin/python"), shutil.which(f"python{version}")]
    for place in filter(None, places):
        asked = subprocess.run([place, "-c", "import sys; print(*sys.version_info[:2], sep='.')"],
                               capture_output=True, text=True, check=False)  # fmt: skip
        if asked.returncode == 0 and asked.stdout.strip() == version:
            return str(place)
    return None


def minimums() -> list[str]:
    """Return the requirements of the package and its extras, each at the least version it declares.

    >>> "numpy==" in " ".join(minimums())
    True
    """
    extras = PROJECT["optional-dependencies"]
    declared = [*PROJECT["dependencies"], *(line for name in MINIMUM_EXTRAS for line in extras[name])]
    found = (re.match(r"([\w-]+)(?:\[\w+\])?>=([\w.]+)", line) for line in declared)
    return [f"{match[1]}=={match[2]}" for match in found if match]


def tried(python: str, title: str, constraints: list[str], arguments: list[str]) -> bool:
    """Install into an empty environment, run the tests there, and say how it went."""
    print(f"\n== {title}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside, listed = str(Path(folder, "bin", "python")), Path(folder, "constraints.txt")
        listed.write_text("\n".join(constraints) + "\n", encoding="utf-8")
        pip = [inside, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "-c", str(listed)]
        installed = subprocess.run([*pip, "-e", f"{ROOT}[dev]"], check=False).returncode == 0
        where = {**os.environ, "PYTHONPATH": ""}
        command = [inside, "-m", "pytest", "-q", "-n", "2", *arguments]
        passed = installed and subprocess.run(command, cwd=ROOT, env=where, check=False).returncode == 0
    print(f"== {title}: {'passed' if passed else 'FAILED' if installed else 'could not be installed'}")
    return passed


def main(arguments: list[str]) -> int:
    """Run everything; arguments go to pytest."""
    arguments = arguments or ["-m", "not slow and not spark and not browser and not faults"]
    found = {version: interpreter(version) for version in SUPPORTED}
    for version, python in found.items():
        print(f"Python {version}: {python or 'not found here, left out'}")
    pythons = {version: python for version, python in found.items() if python}
    results = [
        tried(python, f"Python {version}, newest", [], arguments) for version, python in pythons.items()
    ]
    for version, python in list(pythons.items())[:1]:
        results.append(tried(python, f"Python {version}, declared minimums", minimums(), arguments))
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
