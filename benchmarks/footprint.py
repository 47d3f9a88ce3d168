"""How long does each library take to import, and how much memory has it then?

Each is measured in processes of its own: the import, and then one draw of noise. Bytecode is written before,
as an installer does. The floor of a first draw is NumPy and Arb, which the tables of a noise are built with.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial

from .report import Row, Times, measured, show, with_bytecode

TITLE = "Import and memory"
ROUNDS = 5
LIMIT = 0.1
_OURS = ("import dovetail as dv", "dv.Geometric(1).sample()")
_FLOOR = "numpy and flint alone"
_OPENDP = """dp.enable_features("contrib")
dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)(0)"""
_OTHERS = {
    _FLOOR: ("import numpy", "import flint"),
    "OpenDP": ("import opendp.prelude as dp", _OPENDP),
    "diffprivlib": (
        "from diffprivlib.mechanisms import Geometric",
        "Geometric(epsilon=1, sensitivity=1).randomise(0)",
    ),
    "PyDP": (
        "from pydp.algorithms.numerical_mechanisms import LaplaceMechanism",
        "LaplaceMechanism(epsilon=1, sensitivity=1).add_noise(0)",
    ),
}
_MEASURE = """
import re, time, warnings
warnings.simplefilter("ignore")
begin = time.perf_counter()
{load}
loaded = time.perf_counter() - begin
{use}
took = time.perf_counter() - begin
# The peak of this program alone: getrusage would count the process that started it.
peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
print(loaded, took, int(peak) / 1024)
"""


def rows() -> Iterator[Row]:
    """Measure and give one row after another."""
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in ("ours", *_OTHERS)}

        def first_draw(name: str, load: str, use: str) -> float:
            found[name].append(_once(load, use, folder))
            return found[name][-1][1]

        # The first ones, which do not count, write the bytecode.
        measured({n: partial(first_draw, n, *each) for n, each in {"ours": _OURS, **_OTHERS}.items()}, ROUNDS)
    for number, case, unit in (
        (0, "import", "ms"),
        (1, "import and a first draw", "ms"),
        (2, "memory", "MiB"),
    ):
        figures = Times({name: [run[number] for run in runs[1:]] for name, runs in found.items()})
        factor = 1000 if unit == "ms" else 1
        ours = f"{figures['ours'] * factor:,.0f} {unit}"
        for name in _OTHERS if number else (other for other in _OTHERS if other != _FLOOR):
            theirs = f"{figures[name] * factor:,.0f} {unit}"
            yield Row(f"{case}, {name}", ours, theirs, figures.ratio(name, "ours"))
        if number == 1:
            yield Row(f"{case}, the limit", ours, f"{LIMIT * 1000:.0f} ms", LIMIT / figures["ours"], 1.0)


def _once(load: str, use: str, bytecode: str) -> tuple[float, float, float]:
    code = _MEASURE.format(load=load, use=use)
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, env=with_bytecode(bytecode), capture_output=True, text=True, check=True)
    first, second, third = map(float, done.stdout.split()[-3:])
    return first, second, third


if __name__ == "__main__":
    sys.exit(0 if show(TITLE, rows()) else 1)
