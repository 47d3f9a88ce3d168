"""Hand a table in memory to an engine as Arrow, without letting its rows decide the types."""

from __future__ import annotations

from typing import Any

from dovetail.errors import DataError, InvalidParameter


def arrow_table(data: Any) -> tuple[Any, set[str]]:
    """Return the table as Arrow, and the names of its columns that declare no type.

    pandas' `object` columns may hold anything, so each value becomes text and the query says what it expects.

    >>> import pyarrow
    >>> arrow_table(pyarrow.table({"age": [40]}))[0].num_rows
    1
    """
    import pyarrow

    root = type(data).__module__.split(".")[0]
    if isinstance(data, pyarrow.Table | pyarrow.RecordBatch):
        return data, set()
    if root == "pandas" and hasattr(data, "columns"):
        return _from_pandas(data)
    if root == "polars" and hasattr(data, "columns"):
        return data.to_arrow(), set()
    raise InvalidParameter(
        "source",
        type(data).__name__,
        "a path, a pandas, Polars, Arrow or Ibis table, a DuckDB connection or a dovetail Source",
    )


def _from_pandas(frame: Any) -> tuple[Any, set[str]]:
    import pyarrow

    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise DataError("The columns of a pandas table must have texts as names, each once.")
    untyped = {name for name in names if frame[name].dtype == object}
    arrays = []
    for name in names:
        series = frame[name]
        if name in untyped:
            missing = series.isna()
            texts = [None if gone else str(value) for value, gone in zip(series, missing, strict=True)]
            arrays.append(pyarrow.array(texts, pyarrow.string()))
        else:
            arrays.append(pyarrow.Array.from_pandas(series))
    return pyarrow.table(dict(zip(names, arrays, strict=True))), untyped
