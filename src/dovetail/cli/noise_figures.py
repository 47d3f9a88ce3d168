"""What one noise gives and costs, in every sense at once: accuracy, average, worst case, many answers."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from .terminal import number, privacy_cost

if TYPE_CHECKING:
    from dovetail.noise import Noise


@dataclass(frozen=True, slots=True)
class NoiseFigures:
    """The figures of one noise; the last three are those of all planned answers together."""

    within: float
    mean_error: float
    zeta: float
    epsilon: float
    planned: float
    chance_of_more: float
    planned_worst: float

    @classmethod
    def of(cls, noise: Noise, *, within: int, queries: int, delta: str) -> NoiseFigures:
        """Compute the figures of a noise.

        >>> from dovetail.noise import Geometric
        >>> NoiseFigures.of(Geometric(1), within=5, queries=2, delta="1e-6").planned_worst
        2.0
        """
        from dovetail.privacy import privacy_loss

        loss = privacy_loss(noise)
        total = loss.compose(queries)
        planned = total.epsilon_at(delta)
        return cls(
            float(noise.within(within)),
            noise.mean_abs(),
            loss.zeta,
            loss.epsilon,
            planned,
            total.above(planned),
            total.epsilon,
        )

    def shown(self) -> list[str]:
        """Return the figures for reading, in order."""
        within, mean_error, *costs = astuple(self)
        return [number(within), number(mean_error), *map(privacy_cost, costs)]


def change(own: float, standard: float) -> str:
    """Say how much less or more one price is than another.

    >>> change(8.135, 10.75), change(0.831, 0.5382)
    ('8.135 instead of 10.75: 24 % less', '0.831 instead of 0.5382: 54 % more')
    """
    share = own / standard - 1
    words = (
        "the same" if abs(share) < 0.0005 else f"{abs(share) * 100:.2g} % {'less' if share < 0 else 'more'}"
    )
    return f"{privacy_cost(own)} instead of {privacy_cost(standard)}: {words}"
