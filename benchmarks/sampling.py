"""How fast are exact draws, against NumPy's floating-point Laplace, OpenDP, diffprivlib and PyDP?

All candidates run in one process and take turns. Slow peers draw fewer values; speeds are per value.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from statistics import median

import numpy as np

from dovetail.noise import Geometric, GeometricMixture, IntegerNoise, PiecewiseGeometric
from dovetail.sampling.bits import Stream
from dovetail.sampling.build import build
from dovetail.sampling.draws import sampler_for

from .report import Row, rate, show, timed

TITLE = "Exact sampling"
MANY = 10_000_000
WIDE = GeometricMixture("1e-6", "5e-6", 10**6)
EIGHT = PiecewiseGeometric([f"{i}e-6" for i in range(1, 9)], [100_000 * i for i in range(1, 8)])


def rows() -> Iterator[Row]:
    """Measure and give one row after another."""
    yield from _against_numpy()
    yield from _curve()
    yield from _against_peers()
    yield from _one_draw()
    yield from _floor()
    yield from _set_up()
    yield _memory()


def _against_numpy() -> Iterator[Row]:
    rng = np.random.default_rng()
    for scale, target in ((3, 5.0), (1_000, 3.0), (1_000_000, 3.0), (10**15, None)):
        noise = Geometric(f"1/{scale}")
        yield _pair(f"scale {scale:g}, 10 million, NumPy laplace+rint", noise, scale, rng, target)
    yield _pair("two pieces near 1e6, NumPy laplace+rint", WIDE, 10**6, rng, None)
    yield _pair("eight pieces near 1e6, NumPy laplace+rint", EIGHT, 10**6, rng, None)


def _pair(case: str, noise: IntegerNoise, scale: int, rng: np.random.Generator, target: float | None) -> Row:
    times = timed(
        {
            "ours": lambda: noise.sample(MANY),
            "numpy": lambda: np.rint(rng.laplace(0, scale, MANY)).astype(np.int64),
        }
    )
    ratio = times.ratio("numpy", "ours")
    return Row(case, rate(times["ours"], MANY), rate(times["numpy"], MANY), ratio, target)


def _curve() -> Iterator[Row]:
    """Compare calls of every size, which pay for their own array as NumPy's do."""
    rng = np.random.default_rng()
    for scale in (3, 1_000_000):
        noise = Geometric(f"1/{scale}")
        noise.sample()
        for size in (10, 30, 100, 300, 1_000, 3_000, 10_000, 100_000, 1_000_000):
            calls = range(max(5, 400_000 // size))
            times = timed(
                {
                    "ours": lambda n=noise, k=size, c=calls: [n.sample(k) for _ in c],
                    "numpy": lambda s=scale, k=size, c=calls: [np.rint(rng.laplace(0, s, k)) for _ in c],
                }
            )
            shown = (_microseconds(times[name] / len(calls)) for name in ("ours", "numpy"))
            case = f"{size:,} draws at scale {scale:g}, NumPy laplace+rint"
            yield Row(case, *shown, times.ratio("numpy", "ours"), 1.0)


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} us" if seconds >= 1e-4 else f"{seconds * 1e6:.3g} us"


def _against_peers() -> Iterator[Row]:
    """Compare with peers, into an array that exists.

    The pages of a new one that were last used before a peer's turn, seconds ago, may have gone back to the
    host of a virtual machine: to get them again took ten times as long as to draw.
    """
    import opendp.prelude as dp
    from diffprivlib.mechanisms import Geometric as TheirGeometric
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    opendp = dp.m.make_laplace(*space, scale=3.0)
    mechanism = TheirGeometric(epsilon=1 / 3, sensitivity=1)
    pydp = LaplaceMechanism(epsilon=1 / 3, sensitivity=1)
    noise = Geometric("1/3")
    some, few = [0] * 100_000, range(20_000)
    out = np.ones(MANY, np.int64)
    times = timed(
        {
            "ours": lambda: noise.sample(out=out),
            "opendp": lambda: opendp(some),
            "diffprivlib": lambda: [mechanism.randomise(0) for _ in few],
            "PyDP": lambda: [pydp.add_noise(0) for _ in few],
        },
        rounds=5,
    )
    cases = (("opendp", len(some), 1000.0), ("diffprivlib", len(few), 1000.0), ("PyDP", len(few), None))
    for name, count, target in cases:
        ratio = times.ratio(name, "ours").per(count, MANY)
        yield Row(f"scale 3, {name}", rate(times["ours"], MANY), rate(times[name], count), ratio, target)


def _one_draw() -> Iterator[Row]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    opendp = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=3.0)
    noise, wide = Geometric("1/3"), Geometric("1e-6")
    rng = np.random.default_rng()
    calls = range(2_000)
    times = timed(
        {
            "ours": lambda: [noise.sample() for _ in calls],
            "wide": lambda: [wide.sample() for _ in calls],
            "numpy": lambda: [int(np.rint(rng.laplace(0, 3))) for _ in calls],
            "opendp": lambda: [opendp(0) for _ in calls],
        }
    )
    ours, numpy, theirs = (f"{times[name] / len(calls) * 1e6:.2f} us" for name in ("ours", "numpy", "opendp"))
    yield Row("one draw, NumPy laplace+rint", ours, numpy, times.ratio("numpy", "ours"), 1 / 3)
    yield Row("one draw, OpenDP", ours, theirs, times.ratio("opendp", "ours"), 10.0)
    shown = f"{times['wide'] / len(calls) * 1e6:.2f} us"
    yield Row("one draw at scale 1e6, NumPy laplace+rint", shown, numpy, times.ratio("numpy", "wide"), 1 / 3)


def _floor() -> Iterator[Row]:
    """Compare with what cannot be avoided: the bits of AES, writing the output, and NumPy's look-up."""
    noise = Geometric("1/3")
    cells = sampler_for(noise).cells

    def least(look_up: bool, size: int) -> None:
        stream, out = Stream(), np.empty(MANY, np.int64)
        words, places, values = (np.empty(size, kind) for kind in (np.uint16, np.int64, cells.dtype))
        for begin in range(0, MANY, size):
            stream.fill(words)
            if look_up:
                np.copyto(places, words)
                cells.take(places, out=values, mode="wrap")
            out[begin : begin + size] = (values if look_up else words)[: MANY - begin]

    times = timed(
        {
            "ours": lambda: noise.sample(MANY),
            "AES and writing alone": lambda: least(False, 1 << 18),
            "AES, one look-up and writing alone": lambda: least(True, 1 << 16),
        }
    )
    for name, target in (("AES and writing alone", 0.6), ("AES, one look-up and writing alone", 0.9)):
        shown = rate(times["ours"], MANY), rate(times[name], MANY)
        yield Row(f"scale 3, {name}", *shown, times.ratio(name, "ours"), target)


def _set_up() -> Iterator[Row]:
    """Time new tables, and show their size against the largest allowed."""
    for scale, limit in ((3, 30.0), (31, 150.0), (1_000, 150.0), (10**6, 150.0), (10**15, 150.0)):
        yield _built(f"set-up at scale {scale:g}", [Geometric(f"1/{scale}") for _ in range(5)], limit)
    eight = [PiecewiseGeometric(EIGHT.rates, EIGHT.breaks) for _ in range(5)]
    yield _built("set-up, eight pieces near 1e6", eight, 150.0)


def _built(case: str, noises: list[IntegerNoise], limit: float) -> Row:
    times = []
    for noise in noises:
        begin = time.perf_counter()
        tables = build(noise)
        times.append((time.perf_counter() - begin) * 1e3)
    took = median(times)
    return Row(
        f"{case} ({tables.nbytes / 1024:,.0f} KiB)", f"{took:.1f} ms", f"<= {limit:g} ms", limit / took, 1.0
    )


_MEASURE = """
import re, numpy as np
from pathlib import Path
from dovetail.noise import Geometric

def status(name):
    return int(re.search(name + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

noise, wide, out = Geometric("1/3"), Geometric("1e-6"), np.ones(4_000_000, np.int64)
noise.sample(), wide.sample()
Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
before = status("VmRSS")
for _ in range(30):
    noise.sample(out=out)
    wide.sample(out=out)
print(status("VmHWM") - before)
"""


def _memory() -> Row:
    """Draw 120 million values at two scales into one array, in a process of its own, and watch its peak."""
    found = subprocess.run([sys.executable, "-c", _MEASURE], check=True, capture_output=True, text=True)
    peak = max(int(found.stdout) / 1024, 0.1)
    return Row("120 million with out=, memory beside it", f"{peak:.1f} MiB", "<= 64 MiB", 64 / peak, 1.0)


if __name__ == "__main__":
    sampler_for(Geometric("1/3"))
    sys.exit(0 if show(TITLE, rows()) else 1)
