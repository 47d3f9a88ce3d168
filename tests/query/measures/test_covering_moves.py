"""Which moves cover all that one neighbour can do, for components of any kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dovetail.errors import InvalidParameter
from dovetail.query.measures import COUNTED, Component, Reach
from dovetail.query.measures.sensitivity import Contribution, covering_moves
from dovetail.query.neighbours import Neighbours


@pytest.mark.parametrize("parts", [(1, 2), (1, 3), (3, 1), (3, 3)])
@pytest.mark.parametrize("kind", ["add-remove", "replace"])
def test_one_component_of_several_parts_is_enough_to_need_rates_that_grow(
    parts: tuple[int, int], kind: Neighbours
) -> None:
    components = [Component(str(many), COUNTED, many) for many in parts]
    of = Contribution(kind, all_cells=1, rows=2, cells=1)
    with pytest.raises(InvalidParameter, match="grow outward"):
        covering_moves(components, lambda leave, come: [(leave, leave)], of)
    assert covering_moves(components, lambda leave, come: [(leave, leave)], replace(of, grows=True))


def test_a_replaced_person_moves_two_cells_of_counts_and_one_of_signed_sums_by_all_rows() -> None:
    """Where rates grow outward: rows that leave and come in one cell cancel in a count and add in a sum."""
    of = Contribution("replace", all_cells=4, rows=3, cells=2, grows=True)
    for reaches, shifts in (
        ([COUNTED], [[3, 3]]),
        ([Reach(5, 0)], [[15, 15]]),
        ([Reach(5, 5)], [[30]]),
        ([Reach(5, 1)], [[30]]),
        ([COUNTED, Reach(5, 2)], [[3, 3], [30]]),
    ):
        components = [Component(str(place), reach) for place, reach in enumerate(reaches)]
        (move,) = covering_moves(components, lambda leave, come: [], of)
        found = [[shift.by for shift in move if shift.component == place] for place in range(len(reaches))]
        assert found == shifts


def test_a_replaced_row_moves_one_part_by_both_or_two_parts_by_one_each() -> None:
    """A row that comes adds to what the one that goes takes away, where both lie in the same part."""
    component = Component("sums", Reach(5, 5), 3)
    of = Contribution("replace", all_cells=1, rows=1)
    found = covering_moves([component], lambda leave, come: [(5 * leave + 5 * come,)], of)
    assert {tuple(sorted(shift.by for shift in move)) for move in found} == {(10,), (5, 5)}
