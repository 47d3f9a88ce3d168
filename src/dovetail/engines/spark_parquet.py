"""Open Parquet files in Spark so that no time in them can stop it.

Spark turns times in milliseconds into microseconds as it reads, and fails on one that does not fit. So such a
column arrives as the whole number that is stored, and SQL turns back what it can.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dovetail.errors import DataError, shown

# All files at any depth, as elsewhere; a folder called key=value is no column.
_OPTIONS = {"recursiveFileLookup": "true", "mergeSchema": "true"}
_TIME, _MILLISECONDS = "TIMESTAMP(", "TIMESTAMP(MILLIS"


def parquet_frame(session: Any, path: str) -> tuple[Any, set[str]]:
    """Return the files as a Spark table, and the names of the columns that hold milliseconds."""
    from pyspark.sql.types import LongType, StructField, StructType

    frame = session.read.options(**_OPTIONS).parquet(path)
    if not any(field.dataType.typeName().startswith("timestamp") for field in frame.schema):
        return frame, set()
    narrow = _milliseconds(_times(session, frame.inputFiles()))
    if not narrow:
        return frame, narrow
    fields = [StructField(f.name, LongType() if f.name in narrow else f.dataType) for f in frame.schema]
    return session.read.options(**_OPTIONS).schema(StructType(fields)).parquet(path), narrow


def check_times(frame: Any) -> None:
    """Refuse a table of the user's whose times come from Parquet files in milliseconds.

    Whether they do is said by the files' metadata, whatever the rows are.
    """
    times = {field.name for field in frame.schema if field.dataType.typeName().startswith("timestamp")}
    if not times:
        return
    for name, narrow in _times(frame.sparkSession, _parquet_files(frame)):
        if narrow and name in times:
            raise DataError(
                f"Column {shown(name)} comes from Parquet files that hold milliseconds, and Spark would fail "
                "on one that does not fit into microseconds.",
                "Give the path of the files as the table, or write them in microseconds.",
            )


def _parquet_files(frame: Any) -> list[str]:
    return [file for file in frame.inputFiles() if file.endswith(".parquet")]


def _milliseconds(times: Iterable[tuple[str, bool]]) -> set[str]:
    """Return the names that hold milliseconds, which must be so in every file."""
    narrow_by_name: dict[str, bool] = {}
    for name, narrow in times:
        if narrow_by_name.setdefault(name, narrow) != narrow:
            raise DataError(
                f"Column {shown(name)} holds milliseconds in one file and another unit of time in another.",
                "Write it in the same unit in every file.",
            )
    return {name for name, narrow in narrow_by_name.items() if narrow}


def _times(session: Any, files: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each column of times in each file, from its metadata, and whether they are in milliseconds."""
    java, settings = session._jvm, session._jsc.hadoopConfiguration()
    for file in files:
        path = java.org.apache.hadoop.fs.Path(java.java.net.URI(file))
        opened = java.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, settings)
        reader = java.org.apache.parquet.hadoop.ParquetFileReader.open(opened)
        try:
            for field in reader.getFooter().getFileMetaData().getSchema().getFields():
                written = str(field.getLogicalTypeAnnotation())
                if written.startswith(_TIME):
                    yield str(field.getName()), written.startswith(_MILLISECONDS)
        finally:
            reader.close()
