"""Noise as plain data, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dovetail.errors import InvalidParameter

from .geometric import PiecewiseGeometric
from .laplace import PiecewiseLaplace
from .rounded import RoundedLaplace
from .symmetric import Noise


def from_dict(data: Mapping[str, Any]) -> Noise:
    """Return the noise that `noise.to_dict()` described.

    >>> from dovetail.noise import GeometricMixture
    >>> noise = GeometricMixture(0.2, 1, 5)
    >>> from_dict(noise.to_dict()) == noise
    True
    """
    readers: dict[str, Callable[[Any, Any], Noise]] = {
        PiecewiseGeometric.kind: PiecewiseGeometric,
        PiecewiseLaplace.kind: PiecewiseLaplace,
        RoundedLaplace.kind: lambda rates, breaks: RoundedLaplace(PiecewiseLaplace(rates, breaks)),
    }
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in readers or set(data) != {"kind", "rates", "breaks"}:
        raise InvalidParameter("noise", data, f"a description with kind one of {', '.join(readers)}")
    return readers[kind](data["rates"], data["breaks"])
