"""Say when an answer was given and whether it is about the rows that are there now."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas
    import pyarrow

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)


class Given(Protocol):
    """What tells where an answer comes from; `Answer` says what each means."""

    @property
    def answered_at(self) -> datetime: ...
    @property
    def stored(self) -> bool: ...
    @property
    def stale(self) -> bool: ...
    @property
    def versioned(self) -> bool: ...
    @property
    def bounded(self) -> str | None: ...


def day(at: datetime) -> str:
    """Return a day for reading, whatever the locale.

    >>> day(datetime(2026, 1, 31, 23, 5))
    '31 January 2026'
    """
    return f"{at.day} {_MONTHS[at.month - 1]} {at.year}"


def mark(answer: Given) -> str:
    """Return what stands first, in every form of an answer about other rows than those of now."""
    if not answer.stale:
        return ""
    return f"stored {day(answer.answered_at)}; {changed(answer)}"


def changed(answer: Given) -> str:
    """Return what is known about the data of an answer that is stale."""
    return "the data have changed since" if answer.versioned else "the data may have changed since"


def headed(answer: Given, text: str) -> str:
    """Return a text after the mark of its answer, if it has one."""
    return f"{first}\n{text}" if (first := mark(answer)) else text


def mark_html(answer: Given) -> str:
    """Return the mark for a notebook."""
    return f"<p><strong>{first}</strong></p>" if (first := mark(answer)) else ""


def free(answer: Given) -> str:
    """Return why a stored answer costs nothing, and what it is about."""
    then = "" if answer.versioned else ", about the rows at that time: the data have no version"
    return f"given before, on {answer.answered_at:%Y-%m-%d %H:%M} UTC{then}"


def facts(answer: Given) -> dict[str, Any]:
    """Return what programs read beside the numbers."""
    return {
        "note": mark(answer) or None,
        "stale": answer.stale,
        "stored": answer.stored,
        "answered_at": answer.answered_at.isoformat(),
        "bounded": answer.bounded,
    }


def columns(answer: Given) -> dict[str, str]:
    """Return what every row of a CSV says beside its numbers.

    A stale answer has one more column, and so has one that leaves out rows by design.
    """
    marked = {"stale": first} if (first := mark(answer)) else {}
    told = {"stored": str(answer.stored), "answered_at": answer.answered_at.isoformat()}
    return marked | told | ({} if answer.bounded is None else {"bounded": answer.bounded})


def tabled(answer: Given, listed: dict[str, Any]) -> pyarrow.Table:
    """Return columns as a table; a stale answer has one more column that says so in every row."""
    import pyarrow

    first = mark(answer)
    if first:
        listed = listed | {"stale": [first] * len(next(iter(listed.values())))}
    told = {f"dovetail.{name}": str(value) for name, value in facts(answer).items() if value is not None}
    return pyarrow.table(listed).replace_schema_metadata(told)


def framed(answer: Given, table: pyarrow.Table) -> pandas.DataFrame:
    """Return a table as a pandas DataFrame that remembers when its answer was given."""
    made: pandas.DataFrame = table.to_pandas()
    made.attrs.update(facts(answer))
    return made
