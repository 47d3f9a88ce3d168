"""Synthetic rows as a table of Arrow, with what they are written into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dovetail.errors import InvalidParameter
from dovetail.query.column import Column
from dovetail.query.partitions import Bins, Keys
from dovetail.query.schema import Schema

from .number_formats import label

if TYPE_CHECKING:
    import pyarrow

LABEL = (
    "Synthetic rows, made from noisy tables. No row is a real one. Counts of these rows are biased and have "
    "no error bars: for counts, use the noisy tables themselves."
)
_KEY = "dovetail.synthetic"


def arrow_rows(
    axes: Sequence[Keys | Bins], places: NDArray[np.int64], facts: Mapping[str, Any] | None = None
) -> pyarrow.Table:
    """Return rows that are given by the places of their values; what they are stands in the metadata."""
    import pyarrow

    columns = {}
    for axis, numbers in zip(axes, places.T, strict=True):
        columns[axis.field.name] = pyarrow.array(_values(axis)).take(pyarrow.array(numbers))
    told = {f"dovetail.{name}": str(value) for name, value in (facts or {}).items() if value is not None}
    return pyarrow.table(columns).replace_schema_metadata({_KEY: LABEL, **told})


def schema_of(axes: Sequence[Keys | Bins]) -> Schema:
    """Return what is public of synthetic rows: the values that their columns can have.

    >>> from dovetail.query.field import Field
    >>> schema_of([Bins(Field("age", "integer"), (0, 18, 65))]).columns[0].values
    ('[0, 18)', '[18, 65)')
    """
    columns: list[Column] = []
    for axis in axes:
        kind = "text" if isinstance(axis, Bins) or axis.other is not None else axis.field.kind
        columns.append(
            Column(axis.field.name, kind, values=_values(axis), note=LABEL if not columns else None)
        )
    return Schema(columns)


def write_rows(rows: pyarrow.Table, axes: Sequence[Keys | Bins], place: str | Path) -> None:
    """Write rows to a Parquet file, and their schema beside it: people.parquet and people.toml."""
    import pyarrow.parquet

    path = checked_place(place)
    pyarrow.parquet.write_table(rows, path)
    schema_of(axes).write(path.with_suffix(".toml"))


def checked_place(place: str | Path) -> Path:
    """Return where rows are to be written, if that is a Parquet file in a folder that exists."""
    path = Path(place)
    if path.suffix.lower() != ".parquet" or not path.parent.is_dir():
        raise InvalidParameter(
            "to",
            str(place),
            "a file that ends in .parquet, in a folder that exists",
            "For example rows.parquet.",
        )
    return path


def _values(axis: Keys | Bins) -> list[Any]:
    """Return the values of a column as synthetic rows hold them: one type, and none for a missing value."""
    labels: list[Any] = list(axis.labels)
    if axis.other is not None and axis.field.kind != "text":
        return [None if each is None else label(each) for each in labels]
    return labels
