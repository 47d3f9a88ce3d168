"""Keep no more of a person's rows than a question may use, inside the engine.

What is kept is a function of that person's rows alone: nobody else's rows, no row order and no row number
decide it. So adding or removing a person moves an answer by no more than what is kept of them.

1. Rows without an id, rows outside of `where` and rows in no cell are left out. Each row is judged by itself,
   so this keeps the property; and since it comes first, a person's bound is used up by rows that count.
2. A row is reduced to what the question sees of it: the columns of its cell and its value on the lattice.
   Rows that are alike in this are numbered 1, 2, ...; which of them gets which number changes nothing.
3. With `max_cells`, a person's cells are put in the order of a keyed hash of person and cell; the first stay.
4. A person's rows are put in the order of a keyed hash of person, cell, value and number; the first
   `max_rows` stay. Equal hashes are told apart by the content itself.

Every engine hashes the same text: the key, a word, then each part after a bar; whole numbers, days and truth
values as SQL writes them, a text after its length and a colon, `-` for a missing value. MD5 is used because
all engines have it and agree on it. The choice needs to be even, not unforgeable: no guarantee rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from sqlglot import exp

from .cells import cell_columns, in_some_cell, needs_flag, on_lattice, spelled
from .engines import Engine
from .question import Average, Bins, Distinct, Question, Total, Weighted

_WHO, _VALUE, _TWIN = "who", "amount", "twin"


def bounded_statement(engine: Engine, question: Question, secret: bytes) -> Any:
    """Return the aggregation over what is kept of every person, as a sqlglot SELECT with its FROM."""
    assert question.persons is not None
    rows, cells = _projected(engine, question)
    choice = _Choice(engine, question, sha256(b"bounding" + secret).hexdigest(), cells)
    counted = exp.Count(this=exp.Star())
    if isinstance(question.measure, Distinct):
        rows = _grouped([_WHO, *cells], [], rows)
        return _grouped(cells, [counted], choice.limited_cells(rows))
    rows = choice.limited_cells(rows)
    if choice.content:
        return _grouped(cells, _aggregates(engine, question), choice.limited_rows(rows))
    # All rows of a person look alike: counting them is enough.
    persons = _grouped([_WHO], [exp.alias_(counted, "n", copy=False)], rows)
    most = exp.Literal.number(question.persons.max_rows)
    fewer = exp.case().when(exp.GT(this=exp.column("n"), expression=most), most.copy(), copy=False)
    kept = exp.cast(fewer.else_(exp.column("n"), copy=False), "BIGINT")
    return _over(persons, [engine.wide_sum(kept)])


def _projected(engine: Engine, question: Question) -> tuple[Any, list[str]]:
    """Return the rows that count, reduced to person, cell and value, and the names of the cell's columns."""
    assert question.persons is not None
    unit = engine.value(question.persons.unit)
    columns = [exp.alias_(unit, _WHO, copy=False)]
    names: list[str] = []
    filters = [_present(unit.copy())]
    if question.where is not None:
        filters.append(spelled(engine, question.where))
    for axis in question.axes:
        for column in cell_columns(engine, axis):
            names.append(f"cell{len(names)}")
            columns.append(exp.alias_(column, names[-1], copy=False))
        if axis.other is None:
            filters.append(in_some_cell(engine, axis))
    summed = isinstance(question.measure, Total | Average)
    if isinstance(question.measure, Total | Average):
        value = exp.cast(on_lattice(engine, question.measure.lattice), "BIGINT")
        columns.append(exp.alias_(value, _VALUE, copy=False))
    found = exp.select(*columns, copy=False).from_(engine.relation, copy=False).where(*filters, copy=False)
    if summed:
        within = _over(found, [exp.column(name) for name in (_WHO, *names, _VALUE)])
        found = within.where(_present(exp.column(_VALUE)), copy=False)
    return found, names


class _Choice:
    """Spell the two choices: a person's cells, and a person's rows."""

    def __init__(self, engine: Engine, question: Question, key: str, cells: list[str]) -> None:
        assert question.persons is not None
        self._engine, self._question, self._key, self._cells = engine, question, key, cells
        self._persons = question.persons
        kinds = []
        for axis in question.axes:
            kinds += ["integer" if isinstance(axis, Bins) else axis.field.kind]
            kinds += ["boolean"] * needs_flag(axis)
        self._kinds = dict(zip(cells, kinds, strict=True))
        summed = isinstance(question.measure, Total | Average)
        self.content = [*cells, *([_VALUE] if summed else [])]

    def limited_cells(self, rows: Any) -> Any:
        """Keep the rows in `max_cells` cells of each person, where they could be in more."""
        most = self._persons.max_cells
        bound_by_rows = not isinstance(self._question.measure, Distinct) and most >= self._persons.max_rows
        if isinstance(self._question.measure, Weighted) or bound_by_rows or self._question.cells <= most:
            return rows
        return self._first(rows, exp.DenseRank(), "cell", self._cells, most)

    def limited_rows(self, rows: Any) -> Any:
        """Keep `max_rows` rows of each person."""
        alike = [_WHO, *self.content]
        twins = _numbered(exp.RowNumber(), alike, [exp.column(_WHO)], _TWIN)
        numbered = _over(rows, [*map(exp.column, alike), twins])
        content = [*self.content, _TWIN]
        return self._first(numbered, exp.RowNumber(), "row", content, self._persons.max_rows)

    def _first(self, rows: Any, function: Any, word: str, names: Sequence[str], most: int) -> Any:
        """Keep of each person the rows whose place in the order of the hash is at most `most`."""
        columns = [_WHO, *self.content]
        ordered = [self._hashed(word, names), *map(exp.column, names)]
        place = _numbered(function, [_WHO], ordered, "place")
        placed = _over(rows, [*map(exp.column, columns), place])
        within = exp.LTE(this=exp.column("place"), expression=exp.Literal.number(most))
        return _over(placed, [*map(exp.column, columns)]).where(within, copy=False)

    def _hashed(self, word: str, names: Sequence[str]) -> Any:
        """Spell the keyed hash of a person and the named columns."""
        text = _written(exp.column(_WHO), self._persons.unit.kind)
        text = _joined(exp.Literal.string(f"{self._key}|{word}|"), text)
        for name in names:
            part = _written(exp.column(name), self._kinds.get(name, "integer"))
            if name in self._kinds:
                part = exp.Coalesce(this=part, expressions=[exp.Literal.string("-")])
            text = _joined(_joined(text, exp.Literal.string("|")), part)
        return self._engine.hashed(text)


def _present(column: Any) -> Any:
    return exp.Not(this=exp.Is(this=column, expression=exp.Null()))


def _written(column: Any, kind: str) -> Any:
    """Spell a value as the text that every engine writes alike."""
    text = exp.cast(column, "TEXT")
    if kind != "text":
        return text
    length = exp.cast(exp.Length(this=column.copy()), "TEXT")
    return _joined(_joined(length, exp.Literal.string(":")), text)


def _joined(left: Any, right: Any) -> Any:
    return exp.DPipe(this=left, expression=right, safe=True)


def _numbered(function: Any, by: Sequence[str], ordered: Sequence[Any], name: str) -> Any:
    order = exp.Order(expressions=[exp.Ordered(this=each, nulls_first=False) for each in ordered])
    window = exp.Window(this=function, partition_by=[exp.column(each) for each in by], order=order)
    return exp.alias_(window, name, copy=False)


def _over(rows: Any, columns: Sequence[Any]) -> Any:
    """Select from what was selected; nothing is copied, as every part is used once."""
    return exp.select(*columns, copy=False).from_(rows.subquery("rows_", copy=False), copy=False)


def _grouped(names: Sequence[str], aggregates: Sequence[Any], rows: Any) -> Any:
    select = _over(rows, [*map(exp.column, names), *aggregates])
    return select.group_by(*map(exp.column, names), copy=False) if names else select


def _aggregates(engine: Engine, question: Question) -> list[Any]:
    if not isinstance(question.measure, Total | Average):
        return [exp.Count(this=exp.Star())]
    total = engine.wide_sum(exp.column(_VALUE))
    return [total] if isinstance(question.measure, Total) else [total, exp.Count(this=exp.column(_VALUE))]
