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

from itertools import islice, pairwise, product

from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise, PiecewiseGeometric
from dovetail.privacy import partitions
from dovetail.query.canonical import Question
from dovetail.query.measures import Distinct
from dovetail.query.neighbours import Neighbours

from .sensitivity import MOST_WAYS, Move, Reach, Shift, reaches, spread, undominated, used_rows


def person_moves(question: Question, neighbours: Neighbours, grows: bool) -> tuple[Move, ...]:
    """Return the moves that cover every pair of neighbours that differ in one person.

    >>> from dovetail.query.field import Field
    >>> from dovetail.query.neighbours import Persons
    >>> from dovetail.query.measures import Rows
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


def moves(question: Question, neighbours: Neighbours, grows: bool = False) -> tuple[Move, ...]:
    """Return the moves that cover every pair of neighbours.

    `grows` says that the rates of the noise grow outward, which makes fewer ways the worst.

    >>> moves(Question(Rows()), "replace")
    ((Shift(component=0, by=1),),)
    """
    if question.persons is not None:
        return person_moves(question, neighbours, grows)
    if neighbours == "add-remove":
        return (spread(question, [(1, 0)]),)
    return replaced(question, 1)


def replaced(question: Question, rows: int) -> tuple[Move, ...]:
    """Return the moves of up to `rows` rows of one cell that leave while as many come, all to one cell."""
    found = reaches(question)
    if len(found) > 1 and rows > MOST_WAYS:
        # One move above all that would be listed: each component at its worst.
        within = [tuple(Shift(at, rows * (r.up + max(r.down, 0))) for at, r in enumerate(found))]
    else:
        # How a mean's sum and count move together depends on how many come.
        come = range(rows + 1) if len(found) > 1 else (0, rows)
        within = [spread(question, [(rows, many)]) for many in come]
    across = [spread(question, [(rows, 0), (rows, 0)])] if question.cells > 1 else []
    return undominated(across + within)


def grows_outward(noise: IntegerNoise) -> bool:
    """Tell whether the rates of a noise grow outward: then one cell that takes all is the worst split.

    >>> grows_outward(PiecewiseGeometric([1, 2], [5])), grows_outward(PiecewiseGeometric([2, 1], [5]))
    (True, False)
    """
    return isinstance(noise, PiecewiseGeometric) and all(a <= b for a, b in pairwise(noise.rates))
