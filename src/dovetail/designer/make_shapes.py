"""Make the shapes at unit scale that searches begin with: `python -m dovetail.designer.make_shapes`.

Noise f(x) ~ exp(-psi(x/scale)) that is wide against the shift loses ±psi'(x/scale)/scale. For uses that are
accounted for at a Rényi order, what counts is E cosh(t·psi'), where t is the order over the scale. For each t
and each number of pieces, the shape of variance 1 with the least such mean is found: t = 0 is the limit of
many uses, where the best possible shape is the Gaussian, and the larger t the nearer it comes to one rate.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .goal import MOST_PIECES
from .piecewise_floats import complex_steps, slopes

TILTS = (0.0, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0, 11.0, 16.0, 23.0, 32.0)
FILE = Path(__file__).with_name("shapes.json")
_DIGITS = 6

Array = NDArray[Any]


def main() -> None:
    """Write the file."""
    lines = [
        f' "{pieces}": [\n' + ",\n".join(f"  {json.dumps(shape)}" for shape in shapes(pieces)) + "\n ]"
        for pieces in range(1, MOST_PIECES + 1)
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def shapes(pieces: int) -> list[dict[str, Any]]:
    """Return the best shape of so many pieces for each tilt; each search begins at the last one's end."""
    point = _start(pieces)
    found = []
    for tilt in TILTS:
        point = best(pieces, tilt, point)
        _, rates, breaks = _figures(point, pieces, tilt)
        found.append({"tilt": tilt, "rates": _short(rates), "breaks": _short(breaks)})
    return found


def _short(numbers: Array) -> list[float]:
    return [float(f"{number:.{_DIGITS}g}") for number in numbers]


def _start(pieces: int) -> Array:
    """Return evenly spaced breaks with the slopes of the normal density between them."""
    edges = np.linspace(0, 3.2, pieces + 1)
    rates = np.append((edges[:-1] + edges[1:])[:-1] / 2, (edges[-2] + 3.6) / 2)
    return np.asarray(np.log(np.concatenate([np.diff(rates, prepend=0.0), np.diff(edges)[:-1]])))


def best(pieces: int, tilt: float, start: Array) -> Array:
    """Return the logs of increments of rates and breaks that minimise the mean at a tilt."""
    from scipy.optimize import minimize

    def value(point: Array) -> tuple[float, Array]:
        values = _figures(complex_steps(point), pieces, tilt)[0]
        return float(values[0].real), slopes(values)

    bounds = [(number - 8, number + 5) for number in start]
    options = {"maxiter": 4000, "maxfun": 6000, "ftol": 1e-14, "gtol": 1e-9, "maxcor": 30}
    return np.asarray(minimize(value, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x)


def _figures(point: Array, pieces: int, tilt: float) -> tuple[Array, Array, Array]:
    """Return ln E cosh(tilt·psi') (of 0: ln E psi'²), and rates and breaks at variance 1."""
    rates = np.cumsum(np.exp(point[..., :pieces]), axis=-1)
    zero = np.zeros_like(rates[..., :1])
    starts = np.concatenate([zero, np.cumsum(np.exp(point[..., pieces:]), axis=-1)], axis=-1)
    length = np.diff(starts, axis=-1)
    tops = np.exp(-np.concatenate([zero, np.cumsum(rates[..., :-1] * length, axis=-1)], axis=-1))
    left = np.concatenate([np.exp(-rates[..., :-1] * length), zero], axis=-1)
    length = np.concatenate([length, zero], axis=-1)
    mass = (1 - left) / rates
    first = (1 - left) / rates**2 - left * length / rates
    second = 2 * (1 - left) / rates**3 - left * (length**2 / rates + 2 * length / rates**2)
    total = (tops * mass).sum(axis=-1)
    variance = (tops * (starts**2 * mass + 2 * starts * first + second)).sum(axis=-1) / total
    chances, size = tops * mass / total[..., None], np.sqrt(variance)[..., None]
    unit = rates * size
    if tilt == 0:
        return np.log((chances * unit**2).sum(axis=-1)), unit, starts[..., 1:] / size
    top = np.max((tilt * unit).real, axis=-1, keepdims=True)
    grown = (np.exp(tilt * unit - top) + np.exp(-tilt * unit - top)) / 2
    value = np.log((chances * grown).sum(axis=-1)) + top[..., 0]
    # About the same size at every tilt, so that one tolerance fits all.
    return value / np.log(np.cosh(tilt)), unit, starts[..., 1:] / size


if __name__ == "__main__":
    main()
