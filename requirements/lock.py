"""Renew the lock files: one per environment, exact versions, no host names."""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
ENVIRONMENTS = {
    "demo": "plot,service",
    "dev": "dev",
    "bench": "bench,dev",
    "spark": "spark,dev",
    "docs": "docs,plot",
    "console": "browser,dev",
    "fuzz": "dev,fuzz",
}
BUILD = ["hatchling", "editables"]


def lock(name: str, extras: str) -> None:
    """Install the project with its extras into an empty environment and write down what came."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / "bin" / "python")
        pip = [python, "-m", "pip", "--disable-pip-version-check", "--quiet"]
        subprocess.run([*pip, "install", *BUILD, f"{ROOT}[{extras}]"], check=True)
        frozen = subprocess.run(
            [*pip, "freeze", "--exclude", "dovetail-dp"], check=True, capture_output=True, text=True
        ).stdout
    lines = sorted((line for line in frozen.splitlines() if "==" in line), key=str.lower)
    (HERE / f"{name}.lock").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or ENVIRONMENTS:
        lock(name, ENVIRONMENTS[name])
