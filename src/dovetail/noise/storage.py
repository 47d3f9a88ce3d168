"""Noise as plain data, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dovetail.errors import InvalidParameter

from .gaussian import DiscreteGaussian
from .geometric import PiecewiseGeometric
from .laplace import PiecewiseLaplace, RoundedLaplace
from .staircase import StaircaseNoise
from .symmetric import Noise
from .truncated import TruncatedGeometric, TruncatedLaplace


def from_dict(data: Mapping[str, Any]) -> Noise:
    """Return the noise that `noise.to_dict()` described.

    >>> from dovetail.noise import GeometricMixture
    >>> noise = GeometricMixture(0.2, 1, 5)
    >>> from_dict(noise.to_dict()) == noise
    True
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in _READERS or set(data) != {"kind", *_READERS[kind][0]}:
        raise InvalidParameter("noise", data, f"a description with kind one of {', '.join(_READERS)}")
    names, make = _READERS[kind]
    return make(*(data[name] for name in names))


_PIECES = ("rates", "breaks")
_READERS: dict[str, tuple[tuple[str, ...], Callable[..., Noise]]] = {
    PiecewiseGeometric.kind: (_PIECES, PiecewiseGeometric),
    PiecewiseLaplace.kind: (_PIECES, PiecewiseLaplace),
    RoundedLaplace.kind: (_PIECES, lambda *pieces: RoundedLaplace(PiecewiseLaplace(*pieces))),
    DiscreteGaussian.kind: (("sigma",), DiscreteGaussian),
    StaircaseNoise.kind: (("epsilon", "gamma", "sensitivity"), StaircaseNoise),
    TruncatedGeometric.kind: (("epsilon", "bound"), TruncatedGeometric),
    TruncatedLaplace.kind: (("epsilon", "bound"), TruncatedLaplace),
}
