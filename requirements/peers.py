"""Run the jobs of docs/how-to/migrate.md in other libraries, each in an environment of its own.

The first line of a job names its library and version, and what it needs besides. Environments are kept in a
folder, .venv-peers unless another is given, because some take minutes to install.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "how-to" / "migrate.md"
PACKAGES = {"opendp": "opendp[polars]", "snsql": "smartnoise-sql"}
WARDS = ("surgery", "eyes", "heart")
_JOB = re.compile(r"^```py\n(# (\S+) ([\d.]+)(?:, with ([^\n]+))?\n.*?)^```", re.DOTALL | re.MULTILINE)


def jobs() -> dict[str, tuple[list[str], str]]:
    """Return what to install and what to run for each library.

    >>> sorted(jobs())
    ['diffprivlib', 'opendp', 'snsql', 'tmlt.analytics']
    >>> jobs()["opendp"][0]
    ['opendp[polars]==0.16.0', 'polars']
    >>> jobs()["tmlt.analytics"][0]
    ['tmlt.analytics==0.21.0', 'pyspark==3.5.*']
    """
    found = {}
    for code, name, version, beside in _JOB.findall(PAGE.read_text(encoding="utf-8")):
        others = (each.partition(" ") for each in beside.lower().split(" and ") if each)
        more = [f"{other}=={its}.*" if its else other for other, _, its in others]
        found[name] = ([f"{PACKAGES.get(name, name)}=={version}", *more], code)
    return found


def passed(name: str, needs: list[str], code: str, folder: Path) -> bool:
    """Make the environment if it is not there, run the job on a small table, and say how it went."""
    python = folder / name / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder / name], check=True)
        install = [python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *needs]
        if subprocess.run(install, check=False).returncode:
            print(f"== {name}: could not be installed")
            return False
    rows = [f"{WARDS[number % 3]},{number % 100}" for number in range(3000)]
    with tempfile.TemporaryDirectory() as place:
        Path(place, "visits.csv").write_text("ward,age\n" + "\n".join(rows) + "\n", encoding="utf-8")
        # As in an activated environment: Spark's workers take the first Python of the PATH.
        active = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
        run = subprocess.run(
            [python, "-c", code], cwd=place, env=active, capture_output=True, text=True, check=False
        )
    good = run.returncode == 0 and all(ward in run.stdout for ward in WARDS)
    print(run.stdout if good else run.stdout + run.stderr)
    print(f"== {' '.join(needs)}: {'runs' if good else 'FAILED'}", flush=True)
    return good


def main(arguments: list[str]) -> int:
    """Run every job; the exit code says whether all ran."""
    folder = Path(arguments[0] if arguments else ROOT / ".venv-peers").resolve()
    results = [passed(name, needs, code, folder) for name, (needs, code) in jobs().items()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
