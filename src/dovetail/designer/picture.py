"""The picture of a design: arrays for the plot, nothing drawn here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dovetail.plots.design import design as draw
from dovetail.privacy import privacy_loss

if TYPE_CHECKING:
    from .designs import Design

_POINTS = 60


def picture(design: Design) -> Any:
    """Return the Matplotlib figure of a design beside the standard noises."""
    noises = {"chosen": design.noise, **{other.name: other.noise for other in design.alternatives}}
    top = int(max(noise.quantile_abs(0.99) for noise in noises.values())) + 1
    values = np.arange(-top, top + 1)
    sizes = np.arange(0, top + 1)
    totals = {
        name: privacy_loss(noise, sensitivity=design.task.shifts).compose(design.queries)
        for name, noise in noises.items()
    }
    floor = float(design.task.delta or 1e-9) / 100
    reach = max(total.epsilon_at(floor) for total in totals.values())
    epsilons = np.linspace(0, reach, _POINTS)
    return draw(
        values=values,
        pmfs={name: np.asarray(noise.pmf(values)) for name, noise in noises.items()},
        breaks=getattr(design.noise, "breaks", ()),
        sizes=sizes,
        misses={name: 1 - np.asarray(noise.within(sizes)) for name, noise in noises.items()},
        epsilons=epsilons,
        deltas={name: [total.delta(float(e)) for e in epsilons] for name, total in totals.items()},
        least_delta=floor,
        target=design.point,
    )
