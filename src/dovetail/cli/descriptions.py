"""Say in words what a budget protects."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.query.neighbours import Persons


_ROW = {"add-remove": "whether one row is in the data", "replace": "what one row contains"}
_PERSON = {
    "add-remove": "whether one person ({unit}) is in the data, with all their rows",
    "replace": "what all rows of one person ({unit}) contain",
}


def protected_in_words(neighbours: str, persons: Persons | None) -> str:
    """Return what a budget protects.

    >>> protected_in_words("replace", None)
    'what one row contains'
    """
    if persons is None:
        return _ROW[neighbours]
    return _PERSON[neighbours].format(unit=persons.unit.name)
