"""Whom a session protects: single rows, or persons of whom so many rows are used. It is a decision."""

from __future__ import annotations

import re
import warnings

from dovetail.check import choice, integer
from dovetail.errors import InvalidParameter, UndecidedUnit
from dovetail.errors.remedies import ChooseProtected, Give, LeaveOut, SeeContributions

from .neighbours import Persons
from .schema import Table

_SOMEBODY = {
    *("person", "patient", "customer", "client", "user", "member", "employee", "student", "pupil", "subject"),
    *("citizen", "resident", "respondent", "participant", "voter", "taxpayer", "passenger", "policyholder"),
    *("donor", "borrower", "tenant", "household", "beneficiary", "claimant", "applicant", "worker", "staff"),
}
_NUMBERED = {"id", "no", "nr", "num", "number", "key", "code", "uuid", "guid", "ref", "identifier"}
# Numbers that only persons have.
_PERSONAL = {"ssn", "mrn", "nino", "email", "passport", "username", "pid"}
_BARE = {"id", "uuid", "guid"}
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


def named_for_persons(column: str) -> bool:
    """Return whether a column's name says that it identifies persons.

    >>> [named_for_persons(name) for name in ("patient_id", "CustomerNo", "userid", "patient_age", "id")]
    [True, True, True, False, False]
    """
    words = [word.lower() for word in _WORD.findall(column)]
    if len(words) == 1:
        joined = any(words[0] == somebody + number for somebody in _SOMEBODY for number in _NUMBERED)
        return joined or words[0] in _SOMEBODY | _PERSONAL
    known = _SOMEBODY | _NUMBERED | _PERSONAL
    return bool(set(words) & (_SOMEBODY | _PERSONAL)) and set(words) <= known


def identifying(table: Table) -> list[str]:
    """Return the columns that are declared to identify persons, or are named so; those first."""
    declared = [column.name for column in table.schema.columns if column.kind == "id"]
    named = [name for name in table.stored if named_for_persons(name) and not _listed(table, name)]
    return list(dict.fromkeys([name for name in declared if name in table.stored] + named))


def bare_ids(table: Table) -> list[str]:
    """Return columns that number something, rows or persons."""
    return [name for name in table.stored if name.strip().casefold() in _BARE]


def check_decided(table: Table, decided: bool, data: str) -> None:
    """Refuse to begin a budget while nobody said whom it protects and the data seem to have persons."""
    if decided:
        return
    for column in identifying(table):
        raise InvalidParameter(
            "unit", None, f"decided for {data}: {column} seems to identify persons", ChooseProtected(column)
        )
    for column in bare_ids(table):
        warnings.warn(
            UndecidedUnit(
                f"Single rows of {data} are protected. If {column} identifies persons, those with several "
                "rows are not protected. You can change this until the first charge.",
                ChooseProtected(column),
            ),
            stacklevel=6,
        )


def _listed(table: Table, name: str) -> bool:
    column = table.schema.get(name)
    return column is not None and column.values is not None


def persons(
    table: Table, unit: str | None, max_rows: int | None, max_cells: int | None, protects: str | None = None
) -> Persons | None:
    """Return whose rows they are and how many of one person are used, None where each row stands alone.

    Bounds that are not chosen yet are 0: then only what persons contribute can be asked.
    """
    if protects is not None:
        choice("protects", protects, ("rows",))
        if unit is not None:
            raise InvalidParameter("protects", protects, "left out beside a unit", LeaveOut("protects"))
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
    fix = "At most this many rows per person are used; more rows mean more noise."
    if max_rows is None:
        if max_cells is not None:
            raise InvalidParameter(
                "max_rows", None, "given, too, where cells are limited", Give("max_rows"), fix
            )
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
            "At most this many rows per person are used; more rows mean more noise.",
            SeeContributions(),
        )
