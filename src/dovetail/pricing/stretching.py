"""Make a noise wide enough for how far one neighbour moves a released integer."""

from __future__ import annotations

from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Move

from .sensitivity import units


def component_noises(question: CheckedQuery, noise: IntegerNoise) -> tuple[IntegerNoise, ...]:
    """Return the noise of each component: the given one, stretched to the component's sensitivity."""
    return tuple(stretched(noise, unit) for unit in units(question))


def stretched(noise: IntegerNoise, unit: int) -> IntegerNoise:
    """Return the noise for a sensitivity of `unit`."""
    wide = noise if unit == 1 else noise.stretched(unit)
    assert isinstance(wide, IntegerNoise)
    return wide


def scaled_noises(question: CheckedQuery, noise: IntegerNoise, sensitivity: int) -> tuple[IntegerNoise, ...]:
    """Return a given noise for each component; one designed for a sensitivity fits questions of that only."""
    if sensitivity == 1:
        return component_noises(question, noise)
    if units(question) != (sensitivity,):
        raise InvalidParameter(
            "noise",
            f"a design for sensitivity {sensitivity}",
            f"for sensitivity {' and '.join(map(str, units(question)))}, that of this question",
            "A design for sensitivity 1 fits every question.",
        )
    return (noise,)


def covering_noises(
    noise: IntegerNoise, question: CheckedQuery, listed: tuple[Move, ...]
) -> tuple[IntegerNoise, ...]:
    """Return the noise of each component, stretched until it costs no more than the noise itself at 1."""
    from dovetail.privacy.covering import covering_noise

    furthest = [1] * len(units(question))
    for shift in (shift for move in listed for shift in move):
        furthest[shift.component] = max(furthest[shift.component], shift.by)
    return tuple(covering_noise(noise, by) for by in furthest)
