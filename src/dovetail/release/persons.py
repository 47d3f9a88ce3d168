"""How a person's rows can be spread over cells, and which ways are the worst.

m rows of a person are used, in at most c cells. With noise whose rates grow outward, several cells that move
never cost more than one cell that moves by their sum (see "several cells" in the guarantees). So there:

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
"""

from __future__ import annotations

from itertools import islice, product

from dovetail.errors import InvalidParameter
from dovetail.privacy import partitions

from .question import Distinct, Question
from .sensitivity import (
    MOST_WAYS,
    Move,
    Neighbours,
    Reach,
    Shift,
    reaches,
    replaced,
    spread,
    undominated,
    used_rows,
)


def person_moves(question: Question, neighbours: Neighbours, grows: bool) -> tuple[Move, ...]:
    """Return the moves that cover every pair of neighbours that differ in one person.

    >>> from dovetail.release.field import Field
    >>> from dovetail.release.question import Persons, Rows
    >>> visits = Question(Rows(), persons=Persons(Field("person", "text"), max_rows=5, max_cells=2))
    >>> person_moves(visits, "add-remove", grows=True)
    ((Shift(component=0, by=5),),)
    """
    assert question.persons is not None
    rows, cells = used_rows(question), min(question.persons.max_cells, question.cells)
    if isinstance(question.measure, Distinct):
        # A person is one in each of their cells; one who takes their place may be in as many others.
        touched = cells if neighbours == "add-remove" else min(2 * cells, question.cells)
        return ((Shift(0, 1),) * touched,)
    one_place = cells == 1 or rows == 1
    if neighbours == "add-remove":
        ways = [(rows,)] if grows or one_place else _ways(question, rows, cells)
        return undominated([spread(question, [(part, 0) for part in way]) for way in ways])
    if one_place:
        return replaced(question, rows)
    return (_merged(question, rows),) if grows else _replaced_anyhow(question, rows, cells)


def _merged(question: Question, rows: int) -> Move:
    """Return the move of a replaced person that covers all others, for rates that grow outward."""
    shifts: list[Shift] = []
    for component, reach in enumerate(reaches(question)):
        whole = Shift(component, rows * reach.up)
        shifts += [whole, whole] if reach.down <= 0 else [Shift(component, 2 * rows * reach.up)]
    return tuple(shifts)


def _replaced_anyhow(question: Question, rows: int, cells: int) -> tuple[Move, ...]:
    """Return the moves of a replaced person for noise of any shape."""
    found = [Reach(reach.up, max(reach.down, 0)) for reach in reaches(question)]
    both = list(islice(partitions(2 * rows, min(2 * cells, question.cells), 2 * rows), MOST_WAYS + 1))
    if len(both) > MOST_WAYS or not any(reach.down for reach in found):
        ways = _ways(question, rows, cells)
        both = [old + new for old, new in product(ways, ways) if len(old) + len(new) <= question.cells]
        found = [Reach(reach.up + reach.down, 0) for reach in found]
    return undominated(
        [
            tuple(
                Shift(component, reach.up * min(many, rows) + reach.down * max(many - rows, 0))
                for component, reach in enumerate(found)
                for many in way
            )
            for way in both
        ]
    )


def _ways(question: Question, rows: int, cells: int) -> list[tuple[int, ...]]:
    """Return the ways to spread rows over cells, refused where they are too many to price."""
    found = list(islice(partitions(rows, cells, rows), MOST_WAYS + 1))
    if len(found) > MOST_WAYS:
        assert question.persons is not None
        raise InvalidParameter(
            "noise",
            f"for max_rows={question.persons.max_rows} and max_cells={question.persons.max_cells}",
            "one whose rates grow outward, where a person's rows can be spread in so many ways",
            "Use Geometric, a mixture with outer >= inner, or lower max_rows or max_cells.",
        )
    return found
