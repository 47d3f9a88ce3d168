"""Hand a table in memory to an engine as Arrow, without letting its rows decide the types."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dovetail.errors import DataError, InvalidParameter

# Up to here every whole number is a float, so a column of whole numbers with a gap reads as before.
_WHOLE = 2**53


def arrow_table(data: Any) -> tuple[Any, set[str]]:
    """Return the table as Arrow, and the names of its columns that declare no type.

    pandas guesses most types from the values: one missing value turns whole numbers into floats, one word
    turns them into objects. So only its nullable types and those of Arrow declare a column; all else is read
    like text, and the schema says what it is.

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
    if root == "polars" and type(data).__name__ == "LazyFrame":
        raise InvalidParameter(
            "source",
            "LazyFrame",
            "rows, not a plan that makes them",
            "Collect it into a frame first, or write it to a Parquet file and give the path.",
        )
    if root == "polars" and hasattr(data, "columns"):
        return _from_polars(data), set()
    raise InvalidParameter(
        "source",
        type(data).__name__,
        "a path, a pandas, Polars, Arrow or Ibis table, a DuckDB connection or a source",
    )


def is_ibis(data: Any) -> bool:
    """Tell whether data are a table of Ibis."""
    return type(data).__module__.startswith("ibis.")


def inner_table(data: Any) -> Any:
    """Return the table that an Ibis table in memory was made of; all else as it is."""
    operation = data.op() if is_ibis(data) and hasattr(data, "op") else None
    inner = getattr(getattr(operation, "data", None), "obj", None)
    names = getattr(inner, "column_names", getattr(inner, "columns", None))
    return inner if names is not None and list(names) == list(data.columns) else data


def _from_polars(frame: Any) -> Any:
    """Return a frame without its columns of Python objects, which have no form in Arrow.

    Nor have whole numbers of 128 bits, which one huge value makes of a column: those beyond 64 are missing.
    """
    import polars

    wide = [name for name, type_ in frame.schema.items() if str(type_) in ("Int128", "UInt128")]
    plain = frame.drop([name for name, type_ in frame.schema.items() if type_ == polars.Object])
    return plain.with_columns(polars.col(name).cast(polars.Int64, strict=False) for name in wide).to_arrow()


def _from_pandas(frame: Any) -> tuple[Any, set[str]]:
    import pyarrow

    names = list(frame.columns)
    if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        raise DataError("The columns of a pandas table must have texts as names, each once.")
    columns = {name: _column(frame[name]) for name in names}
    return pyarrow.table(columns), {name for name in names if not _declares(frame[name].dtype)}


def _declares(type_: Any) -> bool:
    """Tell whether a pandas type stays what it is whatever the values are."""
    import pandas

    if isinstance(type_, pandas.StringDtype):
        return type_.na_value is pandas.NA
    nullable = pandas.core.dtypes.dtypes.BaseMaskedDtype
    return isinstance(type_, nullable | pandas.ArrowDtype)


def _column(series: Any) -> Any:
    """Return a column as Arrow; what Arrow cannot take as it is goes value by value through its text."""
    import pandas
    import pyarrow

    type_ = series.dtype
    if isinstance(type_, pandas.CategoricalDtype):
        codes = series.cat.codes.to_numpy()
        return _texts(series.cat.categories).take(pyarrow.array(codes, mask=codes < 0))
    if not _declares(type_) and not isinstance(type_, pandas.StringDtype) and type_.kind not in "iufbM":
        return _texts(series)
    try:
        if type_.kind == "f" and not _declares(type_):
            # Narrow floats have other texts than the same numbers in a column of objects.
            return pyarrow.Array.from_pandas(series.astype("float64"))
        return pyarrow.Array.from_pandas(series)
    except (pyarrow.ArrowException, ValueError, TypeError, OverflowError):
        return _texts(series)


def _texts(series: Any) -> Any:
    import pyarrow

    texts = [None if _is_missing(value) else _text_of(value) for value in series]
    return pyarrow.array(texts, pyarrow.large_string())


def _is_missing(value: Any) -> bool:
    """Tell whether pandas takes a value for missing; one that cannot even be looked at is."""
    import pandas

    try:
        return bool(pandas.api.types.is_scalar(value) and pandas.isna(value))
    except Exception:  # noqa: BLE001
        return True


def _text_of(value: Any) -> str | None:
    """Return the text of any object; None where it has none.

    >>> _text_of(40.0), _text_of(True), _text_of(10**5000), _text_of("\\ud800")
    ('40', 'true', None, None)
    """
    from numpy import floating

    try:
        if isinstance(value, datetime):
            value = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
            text = str(value)
            return text.rstrip("0") if "." in text else text
        text = str(float(value)) if isinstance(value, floating) else str(value)
        if text in ("True", "False") and not isinstance(value, str):
            return text.lower()
        if hasattr(value, "is_integer") and value.is_integer() and abs(value) < _WHOLE:
            return str(int(value))
        text.encode()
    except Exception:  # noqa: BLE001
        # An object of anyone's making may fail in any way.
        return None
    return None if isinstance(value, bytes | bytearray | memoryview) else text
