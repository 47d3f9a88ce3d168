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
_INSTANT = ",true)"


def parquet_frame(session: Any, path: str) -> tuple[Any, dict[str, bool]]:
    """Return the files as a Spark table, and which columns hold milliseconds and whether these are instants.

    An instant has to be read in the zone of the schema, as in any other unit.
    """
    from pyspark.sql.types import LongType, StructField, StructType

    frame = session.read.options(**_OPTIONS).parquet(path)
    if not any(field.dataType.typeName().startswith("timestamp") for field in frame.schema):
        return frame, {}
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
    for name, written in _times(frame.sparkSession, _parquet_files(frame)):
        if written.startswith(_MILLISECONDS) and name in times:
            raise DataError(
                f"Column {shown(name)} comes from Parquet files that hold milliseconds, and Spark would fail "
                "on one that does not fit into microseconds.",
                "Give the path of the files as the table, or write them in microseconds.",
            )


def _parquet_files(frame: Any) -> list[str]:
    return [file for file in frame.inputFiles() if file.endswith(".parquet")]


def _milliseconds(times: Iterable[tuple[str, str]]) -> dict[str, bool]:
    """Return the names that hold milliseconds, and whether as instants; both must be so in every file."""
    written_by_name: dict[str, str] = {}
    for name, written in times:
        first = written_by_name.setdefault(name, written)
        if _MILLISECONDS in (first + written) and first != written:
            raise DataError(
                f"Column {shown(name)} holds milliseconds in one file and another kind of time in another.",
                "Write it in the same unit in every file, with a zone in all of them or in none.",
            )
    narrow = {name: written for name, written in written_by_name.items() if written.startswith(_MILLISECONDS)}
    return {name: written.endswith(_INSTANT) for name, written in narrow.items()}


def _times(session: Any, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each column of times in each file with its type, such as TIMESTAMP(MILLIS,true)."""
    java, settings = session._jvm, session._jsc.hadoopConfiguration()
    for file in files:
        path = java.org.apache.hadoop.fs.Path(java.java.net.URI(file))
        opened = java.org.apache.parquet.hadoop.util.HadoopInputFile.fromPath(path, settings)
        reader = java.org.apache.parquet.hadoop.ParquetFileReader.open(opened)
        try:
            for field in reader.getFooter().getFileMetaData().getSchema().getFields():
                written = str(field.getLogicalTypeAnnotation())
                if written.startswith(_TIME):
                    yield str(field.getName()), written
        finally:
            reader.close()
