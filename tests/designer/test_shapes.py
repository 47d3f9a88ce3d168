"""The shapes at unit scale are what the command makes, have variance 1, and are the best of their kind."""

from __future__ import annotations

from math import cosh, exp, log

import numpy as np
import pytest
from scipy.integrate import quad

from dovetail.designer import make_shapes
from dovetail.designer.piecewise_floats import complex_steps, slopes
from dovetail.designer.shapes import UnitShape, unit_shapes

# Fisher information times variance of the best convex potential of n pieces, found independently.
PUBLISHED = {1: 2.0, 2: 1.168, 3: 1.071, 4: 1.040, 5: 1.026, 6: 1.018, 7: 1.013, 8: 1.010}


def mean_of(shape: UnitShape, function) -> float:
    """Integrate f(x, slope at x) over the density, piece by piece."""
    edges = [0.0, *shape.breaks, shape.breaks[-1] + 60 if len(shape.breaks) else 60.0]

    def weight(x: float) -> float:
        return exp(-float(shape.potential(np.array([x]))[0]))

    parts = [
        (quad(lambda x, rate=rate: weight(x) * function(x, rate), low, high)[0], quad(weight, low, high)[0])
        for low, high, rate in zip(edges, edges[1:], shape.rates, strict=False)
    ]
    return sum(part for part, _ in parts) / sum(part for _, part in parts)


@pytest.mark.parametrize("pieces", [1, 2, 5, 8, 16])
def test_the_kept_shapes_have_variance_1(pieces: int) -> None:
    for shape in unit_shapes(pieces)[:: 5 if pieces > 2 else 3]:
        assert len(shape.rates) == pieces == len(shape.breaks) + 1
        assert np.all(np.diff(shape.rates) > 0)
        assert mean_of(shape, lambda x, rate: x * x) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("pieces", sorted(PUBLISHED))
def test_without_a_tilt_they_have_the_published_information(pieces: int) -> None:
    assert mean_of(unit_shapes(pieces)[0], lambda x, rate: rate**2) == pytest.approx(
        PUBLISHED[pieces], abs=6e-4
    )


@pytest.mark.parametrize("pieces", [2, 3, 6])
def test_the_command_makes_what_is_kept(pieces: int) -> None:
    for made, kept in zip(make_shapes.shapes(pieces), unit_shapes(pieces), strict=True):
        assert made["tilt"] == kept.tilt
        assert made["rates"] == pytest.approx(kept.rates.tolist(), rel=2e-3)
        assert made["breaks"] == pytest.approx(kept.breaks.tolist(), rel=2e-3)


@pytest.mark.parametrize("pieces", [4, 16])
@pytest.mark.parametrize("number", [0, 5, 9, 15])
def test_no_change_of_a_kept_shape_lowers_its_mean(pieces: int, number: int) -> None:
    shape = unit_shapes(pieces)[number]
    point = np.log(np.concatenate([np.diff(shape.rates, prepend=0.0), np.diff(shape.breaks, prepend=0.0)]))
    value, *_ = make_shapes._figures(complex_steps(point), pieces, shape.tilt)
    assert np.abs(slopes(value)).max() < 1e-4
    mean = mean_of(shape, lambda x, rate: cosh(shape.tilt * rate) if shape.tilt else rate**2)
    unit = log(cosh(shape.tilt)) if shape.tilt else 1.0
    assert float(value[0].real) == pytest.approx(log(mean) / unit, abs=2e-5)


def test_tilts_lead_from_the_gaussian_to_one_rate() -> None:
    steepest = [float(shape.rates[-1] / shape.rates[0]) for shape in unit_shapes(8)]
    assert steepest == sorted(steepest, reverse=True)
    assert steepest[-1] < 1.3
