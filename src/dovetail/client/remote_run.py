"""An online run of a service: paid once, then asked counts as often as one likes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dovetail.errors import InvalidParameter
from dovetail.query.queries import Count, Histogram, Query
from dovetail.query.query_json import to_dict

from .connection import ServiceConnection, new_request

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from dovetail.query.condition import Condition

_OPTIONS = ("ways", "bins", "base", "updates", "spend", "promise", "most_cells")


@dataclass(frozen=True, slots=True, repr=False)
class RemoteRunDesign:
    """What a run would be and cost, as the service tells it."""

    told: Mapping[str, Any]

    def __repr__(self) -> str:
        return str(self.told["text"])


@dataclass(frozen=True, slots=True, repr=False)
class RemoteRunAnswer:
    """Counts of a run: each row has keys, value, low, high (None where unchecked) and origin.

    `origin` says where a number comes from: base, checked, measured or unchecked.
    """

    told: Mapping[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One dictionary per cell."""
        return list(self.told["rows"])

    @property
    def value(self) -> Any:
        """The count, or the list of them where columns were named."""
        return self._each("value")

    @property
    def origin(self) -> Any:
        """Where the count comes from, or the list of it."""
        return self._each("origin")

    def interval(self) -> Any:
        """Return (low, high) at the run's own level, or the list of them."""
        bars = [(row["low"], row["high"]) for row in self.rows]
        return bars if self.rows[0]["keys"] else bars[0]

    @property
    def table(self) -> pyarrow.Table:
        """The cells with their values, intervals and origins."""
        import pyarrow

        names = ("value", "low", "high", "origin")
        return pyarrow.Table.from_pylist(
            [row["keys"] | {name: row[name] for name in names} for row in self.rows]
        )

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas DataFrame."""
        return self.table.to_pandas()

    def to_json(self) -> str:
        """Return the answer as the service sent it."""
        return json.dumps(self.told, ensure_ascii=False)

    def _each(self, name: str) -> Any:
        values = [row[name] for row in self.rows]
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


def request(columns: tuple[str, ...], queries: int, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a service is told of a run."""
    unknown = sorted(set(run) - set(_OPTIONS))
    if unknown:
        raise InvalidParameter(unknown[0], run[unknown[0]], f"left out; a run has {', '.join(_OPTIONS)}")
    sent = {name: _plain(value) for name, value in run.items() if value is not None}
    return {"columns": list(columns), "queries": queries} | sent


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return value if isinstance(value, bool | int | float | str | list | tuple | dict) else str(value)


def _line(row: Mapping[str, Any]) -> str:
    name = ", ".join(str(key) for key in row["keys"].values())
    known = "" if row["low"] is None else f" [{row['low']:g}, {row['high']:g}]"
    return f"{name}  {row['value']:,}{known}  {row['origin']}".strip()
