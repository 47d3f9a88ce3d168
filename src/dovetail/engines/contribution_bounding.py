"""Keep no more of a person's rows than a question may use, inside the engine.

What is kept is a function of that person's rows alone: nobody else's rows, no row order and no row number
decide it. So adding or removing a person moves an answer by no more than what is kept of them.

1. Rows without an id, rows outside of `where` and rows in no cell are left out. Each row is judged by itself,
   so this keeps the property; and since it comes first, a person's bound is used up by rows that count.
2. A row is reduced to what the question sees of it: the columns of its cell and its value on the lattice.
3. With `max_cells`, `max_cells` of a person's cells stay; then `max_rows` of the rows in them.

Both choices count off. Of the n things that a person has, put in the order of their content, number i stays
if (i·most + start) mod n < most. As i runs from 1 to n, the whole part of (i·most + start)/n grows by `most`
in all, and by one exactly where a thing stays; so exactly `most` stay of n > most, evenly spaced, and all of
fewer. Rows that look alike stand side by side, and which of them stays changes nothing.

`start` is a keyed hash of the person. Over the key it is even, so each thing stays with the same chance
most/n. For a whole number x it is (a·x + b) modulo a prime, a and b from the key: any two persons whose ids
differ modulo it have independent choices, and the variance of a sum depends on pairs only. For a text it is
the first 32 bits of MD5, which all engines have. No guarantee rests on the hash: the bound holds whatever
`start` is.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from sqlglot import exp, parse_one

from dovetail.query.checked_query import CheckedQuery

from .conditions import spelled
from .engine import Engine
from .lookup_joins import with_lookups
from .row_expressions import aggregates, cell_columns, in_some_cell, on_lattice

_WHO, _VALUE = "who", "amount"
# The largest prime below 2^30: products stay within 62 bits.
_PRIME = 1_073_741_789


def bounded_statement(engine: Engine, question: CheckedQuery, secret: bytes) -> Any:
    """Return the aggregation over what is kept of every person, as a sqlglot SELECT with its FROM."""
    assert question.persons is not None
    rows, cells, parts = _projected(engine, question)
    choice = _Choice(engine, question, secret, cells, parts)
    wanted = aggregates(engine, question.measure, exp.column(_VALUE))
    if question.measure.counts_persons:
        rows = _grouped([_WHO, *cells, *parts], [], rows)
        return _grouped([*cells, *parts], wanted, choice.limited_cells(rows))
    rows = choice.limited_cells(rows)
    if choice.content:
        return _grouped([*cells, *parts], wanted, choice.limited_rows(rows))
    # All rows of a person look alike: counting them is enough.
    (counted,) = wanted
    persons = _grouped([_WHO], [exp.alias_(counted, "n", copy=False)], rows)
    return _over(persons, [engine.wide_sum(_at_most(exp.column("n"), question.persons.max_rows))])


def tally_statement(engine: Engine, question: CheckedQuery) -> Any:
    """Return how many persons have so many rows in so many cells, counted up to the bounds of the question.

    Each group is the number of rows of a person, the number of cells that they lie in, and the persons.
    """
    assert question.persons is not None
    rows, cells, parts = _projected(engine, question)
    counted = [exp.alias_(exp.Count(this=exp.Star()), "n", copy=False)]
    apart = _grouped([_WHO, *cells, *parts], counted, rows)
    together = [exp.alias_(engine.wide_sum(exp.column("n")), "rows_of", copy=False)]
    together.append(exp.alias_(exp.Count(this=exp.Star()), "cells_of", copy=False))
    persons = _grouped([_WHO], together, apart)
    most = {"rows_of": question.persons.max_rows, "cells_of": question.persons.max_cells}
    limited = [
        exp.alias_(_at_most(exp.column(name), number), name, copy=False) for name, number in most.items()
    ]
    return _grouped(list(most), [exp.Count(this=exp.Star())], _over(persons, limited))


def _at_most(count: Any, most: int) -> Any:
    """Spell a count that stops growing at `most`."""
    limit = exp.Literal.number(most)
    fewer = exp.case().when(exp.GT(this=count, expression=limit), limit.copy(), copy=False)
    return exp.cast(fewer.else_(count.copy(), copy=False), "BIGINT")


def _projected(engine: Engine, question: CheckedQuery) -> tuple[Any, list[str], list[str]]:
    """Return the rows that count, reduced to person, cell, part and value, and the names of cell and part."""
    assert question.persons is not None
    unit = engine.value(question.persons.unit)
    columns = [exp.alias_(unit, _WHO, copy=False)]
    names: list[str] = []
    cells = 0
    filters = [_present(unit.copy())]
    if question.where is not None:
        filters.append(spelled(engine, question.where))
    for number, axis in enumerate(question.partition):
        for column in cell_columns(engine, axis):
            names.append(f"cell{len(names)}")
            columns.append(exp.alias_(column, names[-1], copy=False))
        if axis.other is None:
            filters.append(in_some_cell(engine, axis))
        if number < len(question.axes):
            cells = len(names)
    lattice = question.measure.lattice()
    if lattice is not None:
        value = exp.cast(on_lattice(engine, lattice), "BIGINT")
        columns.append(exp.alias_(value, _VALUE, copy=False))
    rows = exp.select(*columns, copy=False).from_(engine.relation, copy=False)
    rows = with_lookups(engine, rows, question).where(*filters, copy=False)
    if lattice is not None:
        within = _over(rows, [exp.column(name) for name in (_WHO, *names, _VALUE)])
        rows = within.where(_present(exp.column(_VALUE)), copy=False)
    return rows, names[:cells], names[cells:]


class _Choice:
    """Spell the two choices: of a person's cells, and of a person's rows."""

    def __init__(
        self, engine: Engine, question: CheckedQuery, secret: bytes, cells: list[str], parts: list[str]
    ) -> None:
        assert question.persons is not None
        self._engine, self._question, self._secret, self._cells = engine, question, secret, cells
        self._persons = question.persons
        self.content = [*cells, *parts, *([_VALUE] if question.measure.lattice() is not None else [])]

    def limited_cells(self, rows: Any) -> Any:
        """Keep the rows in `max_cells` cells of each person, where they could be in more."""
        most = self._persons.max_cells
        bound_by_rows = not self._question.measure.counts_persons and most >= self._persons.max_rows
        if bound_by_rows or self._question.cells <= most:
            return rows
        names = [_WHO, *self.content]
        ranked = _over(rows, [*map(exp.column, names), _placed(exp.DenseRank(), self._cells)])
        counted = _by_person(exp.Max(this=exp.column("place")), "places")
        return self._counted_off(
            _over(ranked, [*map(exp.column, names), exp.column("place"), counted]), "cell", most
        )

    def limited_rows(self, rows: Any) -> Any:
        """Keep `max_rows` rows of each person."""
        columns = [*map(exp.column, (_WHO, *self.content)), _placed(exp.RowNumber(), self.content)]
        counted = _by_person(exp.Count(this=exp.Star()), "places")
        return self._counted_off(_over(rows, [*columns, counted]), "row", self._persons.max_rows)

    def _counted_off(self, rows: Any, word: str, most: int) -> Any:
        """Keep `most` evenly spaced places of each person."""
        whole = self._persons.unit.kind == "integer"
        # All of fewer stay by the rule itself; saying so first spares most persons the digest of a text.
        few = "" if whole else f"places <= {most} OR "
        stays = parse_one(f"{few}(place * CAST({most} AS BIGINT) + start) % places < {most}")
        columns = {column.name: column for column in stays.find_all(exp.Column)}
        columns["start"].replace(self._numbered(word) if whole else self._digested(word))
        return _over(rows, [*map(exp.column, (_WHO, *self.content))]).where(stays, copy=False)

    def _numbered(self, word: str) -> Any:
        """Spell the start of a person known by a whole number."""
        key = self._key(word).digest()
        factor, shift = (int.from_bytes(part) % _PRIME for part in (key[:16], key[16:]))
        # The remainder of a number below 0 is one too.
        person = f"(CAST({_WHO} % {_PRIME} AS BIGINT) + {_PRIME})"
        return parse_one(f"({factor} * {person} + {shift}) % {_PRIME}")

    def _digested(self, word: str) -> Any:
        """Spell the start of a person known by a text."""
        key = exp.Literal.string(f"{self._key(word).hexdigest()[:32]}|")
        return self._engine.hashed(
            exp.DPipe(this=key, expression=exp.cast(exp.column(_WHO), "TEXT"), safe=True)
        )

    def _key(self, word: str) -> Any:
        return sha256(f"bounding {word} ".encode() + self._secret)


def _present(column: Any) -> Any:
    return exp.Not(this=exp.Is(this=column, expression=exp.Null()))


def _placed(function: Any, names: Sequence[str]) -> Any:
    """Spell a row's place in the order of the named columns, among the rows of its person."""
    ordered = [exp.Ordered(this=exp.column(name), nulls_first=False) for name in names]
    return _by_person(function, "place", exp.Order(expressions=ordered))


def _by_person(function: Any, name: str, order: Any = None) -> Any:
    window = exp.Window(this=function, partition_by=[exp.column(_WHO)], order=order)
    return exp.alias_(window, name, copy=False)


def _over(rows: Any, columns: Sequence[Any]) -> Any:
    """Select from what was selected; nothing is copied, as every part is used once."""
    return exp.select(*columns, copy=False).from_(rows.subquery("rows_", copy=False), copy=False)


def _grouped(names: Sequence[str], aggregates: Sequence[Any], rows: Any) -> Any:
    select = _over(rows, [*map(exp.column, names), *aggregates])
    return select.group_by(*map(exp.column, names), copy=False) if names else select
