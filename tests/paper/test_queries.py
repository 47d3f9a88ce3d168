"""The seeded draws of random queries."""

from __future__ import annotations

from dataclasses import replace

from dovetail.paper import drawing
from dovetail.paper.item import QUICK, ItemResult, StepInputs
from dovetail.paper.queries import ITEMS


def _drawn(seed: int) -> ItemResult:
    sizes = replace(QUICK, queries=20_000, per_neighbour=10)
    with drawing.style():
        return ITEMS[0].make(StepInputs(sizes, seed, {}, lambda share: None))


def test_a_seed_fixes_the_draws_and_leaves_the_exact_figures_alone() -> None:
    first, again, other = _drawn(5), _drawn(5), _drawn(6)
    assert first.tables == again.tables
    assert first.tables != other.tables
    for name, measured in first.measured.items():
        assert measured.exact == other.measured[name].exact
