"""Say what an answer leaves out by design, where only so much of each person is used."""

from __future__ import annotations

from dovetail.query.checked_query import CheckedQuery

from .number_formats import counted


def bounded(*questions: CheckedQuery) -> str | None:
    """Return what is used of a person and what that does to the numbers; None where every row is used.

    >>> from dovetail.query.field import Field
    >>> from dovetail.query.measures import Rows
    >>> from dovetail.query.neighbours import Persons
    >>> print(bounded(CheckedQuery(Rows(), persons=Persons(Field("id", "text"), 4, 2))).replace("; ", "\\n"))
    at most 4 rows per person are used
    counts of rows are at most the true ones
    rows without id are left out
    """
    persons = questions[0].persons
    if persons is None:
        return None
    parts = (
        [] if all(each.measure.counts_persons for each in questions) else [counted(persons.max_rows, "row")]
    )
    # Rows bound cells, too: so many rows lie in no more cells.
    most = persons.max_cells < persons.max_rows or not parts
    if any(each.cells > persons.max_cells for each in questions) and most:
        parts.append(counted(persons.max_cells, "cell"))
    said = [f"at most {' and '.join(parts)} per person are used"] if parts else []
    effects = dict.fromkeys(each.measure.bounded_effect() for each in questions) if parts else {}
    return "; ".join([*said, *effects, f"rows without {persons.unit.name} are left out"])
