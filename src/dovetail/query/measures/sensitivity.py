"""How far one neighbour can move what a measure releases: the proof obligations behind every price.

A `Move` lists the released integers that one neighbour can shift at the same time, and by how much; the price
is the worst over all moves. Shifts are absolute: noise is symmetric. A shift that is larger, or that is added
to a move, never costs less, so a list of moves covers whatever lies below one of them.

A neighbour differs by one row or by one person, of whom m rows are used, in at most c cells. With noise whose
rates grow outward, several cells that move never cost more than one cell that moves by their sum (see
"several cells" in the guarantees). So there:

- added or removed: all m rows in one cell cover every other way.
- replaced, where rows that come only make up for rows that go (counts, sums of one sign): the cells in which
  more go than come are merged into one, the others into another; each moves by at most m rows.
- replaced, where rows that come can add to what goes (sums of both signs, means): all cells are merged into
  one, which moves by at most 2m rows.

For any other noise the ways to spread rows are listed. Where a rows of a cell leave and b come, it moves by
at most up·max(a, b) + down·min(a, b).

- Counts and sums of one sign have no `down`, so a cell lies below max(a, b) rows: below a way to spread the
  old rows if a >= b, else below one to spread the new ones.
- Otherwise the 2m rows are spread together. A cell with n of them has max(a, b) <= m, so it moves by at most
  up·min(n, m) + down·max(n - m, 0). Of more than `MOST_WAYS` ways, the cover above with up + down is taken
  instead, which is up to twice as dear.

A component of several parts has more places than the answer has cells: rows of one cell may lie in different
parts. What is said of cells above holds of its parts; several rows of one person are then only priced for
rates that grow outward.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import TypeAlias

from dovetail.errors import InvalidParameter
from dovetail.query.neighbours import Neighbours

# Beyond this many ways, a price would take too long.
MOST_WAYS = 64


@dataclass(frozen=True, slots=True)
class Shift:
    """One released integer moves by at most `by`."""

    component: int
    by: int


Move: TypeAlias = tuple[Shift, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """How far one row can move a component: `up` away from where it was, `down` to the other side.

    A row that takes another's place in the same cell moves it by up + down. For a count that is nothing: the
    row that comes makes up for the one that goes, so `down` is -1.
    """

    up: int
    down: int

    @classmethod
    def of_values(cls, low: int, high: int) -> Reach:
        """Return the reach of a sum of values from low to high, or of nothing: a row need not count.

        >>> Reach.of_values(-2, 3), Reach.of_values(1, 3)
        (Reach(up=3, down=2), Reach(up=3, down=0))
        """
        above, below = max(high, 0), max(-low, 0)
        return cls(max(above, below), min(above, below))


COUNTED = Reach(1, -1)


@dataclass(frozen=True, slots=True)
class Component:
    """Released integers that get the same noise: in each cell one, or one for each of `parts` parts of it.

    A row moves one part of a component, by at most its `reach`.
    """

    name: str
    reach: Reach
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Contribution:
    """How much of one neighbour a question uses: at most `rows` rows, in at most `cells` of its `all_cells`.

    `grows` says that the rates of the noise grow outward, which makes fewer ways the worst.
    """

    neighbours: Neighbours
    all_cells: int
    rows: int = 1
    cells: int = 1
    grows: bool = False


Joint: TypeAlias = Callable[[int, int], Sequence[tuple[int, ...]]]
"""How far the components of one cell move together where so many rows leave and so many come: a cover."""


def covering_moves(components: Sequence[Component], joint: Joint, of: Contribution) -> tuple[Move, ...]:
    """Return the moves that cover every pair of neighbours."""
    parted = any(component.parts > 1 for component in components)
    one_place = of.rows == 1 or (of.cells == 1 and not parted)
    if not (one_place or of.grows) and parted:
        raise _too_many_ways(of)
    if of.neighbours == "add-remove":
        ways = [(of.rows,)] if of.grows or one_place else _ways(of)
        return undominated([move for way in ways for move in _together(joint, way)])
    if one_place:
        return _replaced(components, joint, of)
    return (_merged(components, of.rows),) if of.grows else _replaced_anyhow(components, of)


def _together(joint: Joint, rows: Sequence[int]) -> list[Move]:
    """Return the moves of so many rows that leave each of several cells."""
    return [_move(zip(*choice, strict=True)) for choice in product(*(joint(many, 0) for many in rows))]


def _move(shifts: Sequence[Sequence[int]] | zip[tuple[int, ...]]) -> Move:
    """Return a move from the shifts of each component; zeros are left out."""
    return tuple(Shift(component, by) for component, each in enumerate(shifts) for by in each if by > 0)


def _replaced(components: Sequence[Component], joint: Joint, of: Contribution) -> tuple[Move, ...]:
    """Return the moves of up to `rows` rows of one cell that leave while as many come, all to one cell."""
    rows = of.rows
    if len(components) > 1 and rows > MOST_WAYS:
        # One move above all that would be listed: each component at its worst.
        reaches = [component.reach for component in components]
        within = [_move([(rows * (reach.up + max(reach.down, 0)),) for reach in reaches])]
    else:
        # How a mean's sum and count move together depends on how many come.
        come = range(rows + 1) if len(components) > 1 else (0, rows)
        within = [move for many in come for move in _within(components, joint, rows, many)]
    across = _together(joint, (rows, rows)) if of.all_cells > 1 else []
    return undominated(across + within)


def _within(components: Sequence[Component], joint: Joint, leave: int, come: int) -> list[Move]:
    """Return the moves of rows that leave and come in one cell, in the same part of it or in two."""
    moves = []
    for together in joint(leave, come):
        ways = (_places(*pair, leave, come) for pair in zip(components, together, strict=True))
        moves += [_move(choice) for choice in product(*ways)]
    return moves


def _places(component: Component, by: int, leave: int, come: int) -> list[tuple[int, ...]]:
    """Return how a component can move: one part by all, or two parts, one by those that leave."""
    if component.parts == 1:
        return [(by,)]
    apart = (component.reach.up * leave, component.reach.up * come)
    return [(by,), apart] if by > max(apart) else [apart]


def _merged(components: Sequence[Component], rows: int) -> Move:
    """Return the move of a replaced person that covers all others, for rates that grow outward."""
    reaches = [component.reach for component in components]
    return _move([(rows * reach.up,) * 2 if reach.down <= 0 else (2 * rows * reach.up,) for reach in reaches])


def _replaced_anyhow(components: Sequence[Component], of: Contribution) -> tuple[Move, ...]:
    """Return the moves of a replaced person for noise of any shape."""
    rows = of.rows
    reaches = [Reach(component.reach.up, max(component.reach.down, 0)) for component in components]
    both = _listed(2 * rows, min(2 * of.cells, of.all_cells))
    if len(both) > MOST_WAYS or not any(reach.down for reach in reaches):
        ways = _ways(of)
        both = [old + new for old, new in product(ways, ways) if len(old) + len(new) <= of.all_cells]
        reaches = [Reach(reach.up + reach.down, 0) for reach in reaches]
    return undominated(
        [
            _move(
                [
                    [reach.up * min(many, rows) + reach.down * max(many - rows, 0) for many in way]
                    for reach in reaches
                ]
            )
            for way in both
        ]
    )


def _ways(of: Contribution) -> list[tuple[int, ...]]:
    """Return the ways to spread rows over cells, refused where they are too many to price."""
    listed = _listed(of.rows, of.cells)
    if len(listed) > MOST_WAYS:
        raise _too_many_ways(of)
    return listed


def _listed(rows: int, cells: int) -> list[tuple[int, ...]]:
    """List the ways to spread rows over cells, up to one more than `MOST_WAYS`."""
    from dovetail.privacy import partitions

    return list(islice(partitions(rows, cells, rows), MOST_WAYS + 1))


def _too_many_ways(of: Contribution) -> InvalidParameter:
    return InvalidParameter(
        "noise",
        f"for {of.rows} rows of a person",
        "one whose rates grow outward, where a person's rows can be spread in so many ways",
        "Use geometric noise or a mixture whose outer rate is the larger one, or fewer rows or cells.",
    )


def undominated(listed: list[Move]) -> tuple[Move, ...]:
    """Leave out the moves that another one covers, shift by shift."""
    kept: list[Move] = []
    for move in sorted(set(listed), key=lambda move: (-len(move), -sum(shift.by for shift in move))):
        if not any(_covers(other, move) for other in kept):
            kept.append(move)
    return tuple(kept)


def _covers(one: Move, other: Move) -> bool:
    """Tell whether each component's shifts in `other` are at most those in `one`, largest against largest."""
    for component in {shift.component for shift in other}:
        mine, yours = (
            sorted((shift.by for shift in move if shift.component == component), reverse=True)
            for move in (one, other)
        )
        if len(mine) < len(yours) or any(a < b for a, b in zip(mine, yours, strict=False)):
            return False
    return True
