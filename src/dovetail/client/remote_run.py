"""An online run of a service: paid once, then asked counts as often as one likes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dovetail.answers.display import amount
from dovetail.answers.number_formats import column_of, plain_number
from dovetail.exact.figures import figure
from dovetail.query.measures import Bar
from dovetail.query.queries import Count, Histogram, Query
from dovetail.query.query_json import to_dict

from .connection import ServiceConnection, new_request

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from dovetail.query.condition import Condition


@dataclass(frozen=True, slots=True, repr=False)
class RemoteRunDesign:
    """What a run would be and cost, as the service tells it."""

    told: Mapping[str, Any]

    def __repr__(self) -> str:
        return str(self.told["text"])


@dataclass(frozen=True, slots=True, repr=False)
class RemoteRunAnswer:
    """Counts of a run: each row has keys, value, low, high (None where unchecked) and origin.

    Numbers of a row are texts, as the service sent them. `origin` says where a number comes from: base,
    checked, measured or unchecked.
    """

    told: Mapping[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per cell."""
        return list(self.told["rows"])

    @property
    def value(self) -> Any:
        """The count, or the list of them where columns were named."""
        return self._each([_read(row["value"]) for row in self.rows])

    @property
    def origin(self) -> Any:
        """Where the count comes from, or the list of it."""
        return self._each([row["origin"] for row in self.rows])

    def interval(self) -> Any:
        """Return (low, high) at the run's own level, or the list of them."""
        return self._each([(_read(row["low"]), _read(row["high"])) for row in self.rows])

    @property
    def table(self) -> pyarrow.Table:
        """The cells with their values, intervals and origins."""
        import pyarrow

        columns: dict[str, list[Any]] = {
            name: [row["keys"][name] for row in self.rows] for name in self.rows[0]["keys"]
        }
        for name in ("value", "low", "high"):
            told = (row[name] for row in self.rows)
            columns[name] = column_of([None if text is None else Fraction(text) for text in told])
        return pyarrow.table(columns | {"origin": [row["origin"] for row in self.rows]})

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas DataFrame."""
        return self.table.to_pandas()

    def to_json(self) -> str:
        """Return the answer as the service sent it."""
        return json.dumps(self.told, ensure_ascii=False)

    def _each(self, values: list[Any]) -> Any:
        return values if self.rows[0]["keys"] else values[0]

    def __repr__(self) -> str:
        return "\n".join(map(_line, self.rows))


class RemoteRun:
    """A run that is paid for: ask counts and histograms of its columns, as many as you like."""

    def __init__(
        self, connection: ServiceConnection, told: Mapping[str, Any], check: Callable[[Query], Any]
    ) -> None:
        self._connection, self._check = connection, check
        self.id: str = told["id"]
        self._left: int = told["updates_left"]

    @property
    def updates_left(self) -> int:
        """How many updates were left when the run answered last."""
        return self._left

    def count(self, where: str | Condition | None = None, *, unchecked: bool = False) -> RemoteRunAnswer:
        """Answer how many rows satisfy `where`."""
        return self.batch([Count(where)], unchecked=unchecked)[0]

    def histogram(
        self, *columns: str, where: str | Condition | None = None, unchecked: bool = False
    ) -> RemoteRunAnswer:
        """Answer how many rows are in each cell of some columns of the run."""
        return self.batch([Histogram(*columns, where=where)], unchecked=unchecked)[0]

    def batch(self, queries: Iterable[Query], *, unchecked: bool = False) -> list[RemoteRunAnswer]:
        """Answer counts and histograms together."""
        listed = list(queries)
        for query in listed:
            self._check(query)
        body = {"question": [to_dict(query) for query in listed], "unchecked": unchecked}
        told = self._connection.post(f"/v1/runs/{self.id}/answers", body, once=new_request())
        self._left = told["updates_left"]
        return list(map(RemoteRunAnswer, told["answers"]))

    def __repr__(self) -> str:
        return f"<run {self.id}: {self._left} updates left>"


def _read(text: str | None) -> int | float | None:
    return None if text is None else plain_number(Fraction(text))


def _line(row: Mapping[str, Any]) -> str:
    name = ", ".join(str(key) for key in row["keys"].values())
    value = Fraction(row["value"])
    known = row["low"] is not None
    text = amount(value, Bar(Fraction(row["low"]), Fraction(row["high"]))) if known else figure(value)
    return f"{name}  {text}  {row['origin']}".strip()
