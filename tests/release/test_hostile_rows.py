"""No row decides whether a question is answered, the shape of its answer, its error or a line of the log.

Every table is asked with and without one hostile row, in every kind of source and as every declared type.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

from dovetail.errors import DovetailError
from dovetail.release import Column, Count, Histogram, Linear, Mean, Schema, Source, Sum
from dovetail.release.engines import Engine, connect
from dovetail.release.select import cell_reader, held_cells, true_cells
from hostile_rows import arrow_columns

COLUMNS = arrow_columns()
FOUND = Histogram("x", keys="discover")
DAYS = Histogram("x", bins=["1960-01-01", "1980-01-01"])
QUESTIONS = {
    "integer": [Count("x <> 3 OR x IS NULL"), Sum("x", low=0, high=10, step=1), FOUND],
    "number": [Count("x > 0.5"), Mean("x", low=0, high=10, step="0.25")],
    "text": [Count("x < 'p'"), Histogram("x", keys=["ok", None]), Linear("x", {"ok": 1}, step=1), FOUND],
    "boolean": [Count("x"), FOUND],
    "date": [Count("x < '2020-01-01'"), FOUND],
    "timestamp": [Count("x IS NULL"), DAYS],
}


def asked(engine: Engine, query: Any, schema: Schema) -> Any:
    """Return the shape of the true answer, or the error."""
    try:
        question = query.checked(schema.table(engine.columns()))
        if not question.discovers:
            return len(true_cells(engine, question))
        read = cell_reader(question)
        for batch in held_cells(engine, question):
            for row in batch:
                read(row)
    except DovetailError as error:
        return type(error), str(error)
    return "discovered"


def given_away(make: Callable[[pyarrow.Table], Source], array: pyarrow.Array, log: Any) -> Iterator[str]:
    """Yield the questions that tell whether the hostile row, the second one, is there."""
    numbers = pyarrow.array(range(len(array)))
    rows = pyarrow.table({"x": array, "n": numbers})
    without = pyarrow.concat_tables([rows.slice(0, 1), rows.slice(2)])
    engines = [connect(make(each)) for each in (rows, without)]
    for kind, questions in QUESTIONS.items():
        for schema in (Schema([Column("x", kind)]), Schema()):
            for query in questions:
                both = [asked(engine, query, schema) for engine in engines]
                if both[0] != both[1] or "cannot be read" in str(both):
                    yield f"{schema} {query} {both}"
    if log.records:
        yield str(log.records)
    for engine in engines:
        engine.close()


def in_memory(table: pyarrow.Table) -> Source:
    return Source.of(table, name="rows")


def in_file(folder: Path, suffix: str, table: pyarrow.Table) -> Source:
    path = folder / f"{len(list(folder.iterdir()))}{suffix}"
    if suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    else:
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    return Source.of(path)


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("suffix", ["", ".arrow", ".parquet"])
def test_no_row_of_arrow_decides_anything(
    suffix: str, kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make = partial(in_file, tmp_path, suffix) if suffix else in_memory
    with caplog.at_level(logging.DEBUG):
        for array in COLUMNS[kind]:
            try:
                make(pyarrow.table({"x": array}))
            except (pyarrow.ArrowException, OSError):
                assert suffix == ".parquet", "only Parquet has no form for some types"
                continue
            assert not list(given_away(make, array, caplog)), array
