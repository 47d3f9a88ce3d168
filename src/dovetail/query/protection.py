"""Whom a session protects: single rows, or persons of whom so many rows are used."""

from __future__ import annotations

from dovetail.check import integer
from dovetail.errors import InvalidParameter
from dovetail.errors.remedies import Give, SeeContributions

from .neighbours import Persons
from .schema import Table


def persons(table: Table, unit: str | None, max_rows: int | None, max_cells: int | None) -> Persons | None:
    """Return whose rows they are and how many of one person are used, None where each row stands alone.

    Bounds that are not chosen yet are 0: then only what persons contribute can be asked.
    """
    if unit is None:
        for name, value in (("max_rows", max_rows), ("max_cells", max_cells)):
            if value is not None:
                raise InvalidParameter(name, value, "given together with a unit", Give("unit"))
        return None
    field = table.field(unit)
    if field.derivation is not None:
        raise InvalidParameter("unit", unit, "a column of the data, not one that is derived")
    if field.kind not in ("integer", "text"):
        raise InvalidParameter(
            "unit",
            unit,
            f"a column of whole numbers or texts; its type is {field.kind}",
            "Declare its type in the schema.",
        )
    fix = "Of a person with more rows, this many are used; more means more noise."
    if max_rows is None:
        if max_cells is not None:
            raise InvalidParameter("max_rows", None, "given together with max_cells", Give("max_rows"), fix)
        return Persons(field, 0, 0)
    rows = integer("max_rows", max_rows, low=1, high=10**6, fix=fix)
    cells = rows if max_cells is None else integer("max_cells", max_cells, low=1, high=10**6)
    return Persons(field, rows, cells)


def check_chosen(persons: Persons | None) -> None:
    """Refuse to use rows of persons before it was said how many."""
    if persons is not None and not persons.max_rows:
        raise InvalidParameter(
            "max_rows",
            None,
            "given together with a unit",
            Give("max_rows"),
            "Of a person with more rows, this many are used; more means more noise.",
            SeeContributions(),
        )
