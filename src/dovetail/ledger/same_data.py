"""Ask once where nobody can know whether two sources are the same data, so that no second budget is silent.

A name that has a budget and is opened on other rows, and new rows with the columns of a file that has one,
are the usual next month. Names, places and columns are compared, never rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from dovetail.engines import Source, connect
from dovetail.engines.identity import overlap
from dovetail.errors import BudgetMismatch, DovetailError
from dovetail.errors.remedies import Give, ShareBudget

from .ledger import Ledger
from .location import beside

_MOST_BESIDE = 100
_MOST_COMPARED = 20


@dataclass(frozen=True, slots=True)
class SameDataAnswer:
    """What a user said: which vintages these rows are, and whether they are the same data as before."""

    vintages: tuple[str, ...] = ()
    same: bool | None = None


def check_known(ledger: Ledger, name: str, identity: tuple[str, ...], said: SameDataAnswer) -> None:
    """Refuse other rows under a name that has a budget, unless it was said that they belong to it."""
    held = ledger.sources()
    known = held.get(name, ())
    # Rows that some dataset holds are recognised; whether under this name, the registry says.
    if not known or any(overlap(one, other) for each in held.values() for one in each for other in identity):
        return
    if said.vintages or said.same:
        return
    raise BudgetMismatch(
        f"{name!r} has a budget already (in {ledger.place}), begun for {known[0]}. Are these the same data, "
        "such as another month?",
        ShareBudget(),
        "A month can also be named as a vintage.",
        Give("vintage"),
        "If they are other data, choose another name.",
    )


def check_apart(
    ledger: Ledger, source: Source, identity: tuple[str, ...], columns: Iterable[str], said: SameDataAnswer
) -> None:
    """Refuse a new budget for rows that have the columns of data with a budget, unless it was said why."""
    if said.same is False or source.shipped:
        return
    wanted = {column.casefold() for column in columns}
    for name, other, place in islice(_others(ledger, source, identity), _MOST_COMPARED):
        if _columns(other, source) == wanted:
            raise BudgetMismatch(
                f"{_shown(other)} has the same columns and a budget already, as {name!r} in {place}. "
                f"Are the rows of {source.name!r} the same data, such as another month?",
                ShareBudget(name, place),
                "If they are other data, they get a budget of their own, and the two budgets add up.",
                Give("same_data:no"),
            )


def _others(ledger: Ledger, source: Source, identity: tuple[str, ...]) -> Iterator[tuple[str, Source, str]]:
    """Yield data with a budget in this ledger or in one beside these data: name, source and ledger."""
    yield from _held(ledger, source, identity)
    for place in beside(*identity)[:_MOST_BESIDE]:
        if str(place) == ledger.place:
            continue
        try:
            with Ledger.open(place) as book:
                yield from list(_held(book, source, identity))
        except DovetailError:
            # Another's ledger that cannot be read says nothing about these data.
            continue


def _held(ledger: Ledger, source: Source, identity: tuple[str, ...]) -> Iterator[tuple[str, Source, str]]:
    databases = {name.partition("#")[0] for name in identity}
    for name, places in ledger.sources().items():
        for place in places:
            other = _readable(place, source, databases)
            if other is not None and not any(overlap(place, own) for own in identity):
                yield name, other, ledger.place


def _readable(place: str, source: Source, databases: set[str]) -> Source | None:
    """Return what a name on record leads to, where it can be looked at: a file, a table beside this one."""
    inner = place.partition("#")[2]
    if isinstance(source.data, str) and inner and place.partition("#")[0] in databases:
        return replace(source, table=inner)
    path = Path(place.partition("#")[0] if inner else place)
    if "://" in place or not path.exists():
        return None
    return Source(path, path.stem, table=inner or None)


def _columns(source: Source, like: Source) -> set[str] | None:
    """Return the names of the columns; None where the source cannot be opened.

    It is read by its own schema or, without one, by that of the data that are asked about: both months may be
    in an encoding that has to be declared.
    """
    try:
        known = source.with_schema()
        engine = connect(known if known.schema is not None else replace(known, schema=like.schema))
    except DovetailError:
        return None
    try:
        return {column.casefold() for column in engine.columns()}
    finally:
        engine.close()


def _shown(source: Source) -> str:
    return source.data.name if isinstance(source.data, Path) else str(source.table)
