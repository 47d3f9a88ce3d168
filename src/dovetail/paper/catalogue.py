"""Every item, in the order of the paper."""

from __future__ import annotations

from . import (
    composition,
    densities,
    losses,
    marginals,
    metrics,
    online,
    queries,
    simulation,
    surfaces,
    table1,
    theory,
    utility,
)
from .item import Item

ITEMS: tuple[Item, ...] = (
    *theory.ITEMS,
    *densities.FIGURES,
    *surfaces.FIGURES,
    table1.TABLE,
    simulation.SIMULATION,
    *metrics.FIGURES,
    *queries.ITEMS,
    *utility.ITEMS,
    *losses.ITEMS,
    *composition.ITEMS,
    *marginals.ITEMS,
    online.ONLINE,
)
