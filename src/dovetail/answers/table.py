"""The answer to a SELECT: one table of noisy columns, ordered and cut after the noise."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

from dovetail.check import Real, error_bar_level
from dovetail.errors import InvalidParameter
from dovetail.noise import IntegerNoise
from dovetail.privacy import Charge, Remaining
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.measures import Bar, Measure
from dovetail.query.partitions import Axis
from dovetail.query.sql.formula import Aggregate, aggregates_in, read_formula
from dovetail.query.sql.order import ResultColumn

from .answer import Answer
from .contribution_bounds import bounded
from .csv_format import csv_text
from .display import MOST_ROWS, amount, in_figures, notes
from .formula_values import aggregate_values, bars_of, read_from, value_of
from .json_format import FORMAT as ANSWER_FORMAT
from .json_format import answer_fields, read_document
from .number_formats import column_keys, column_of, drawn_at, label, plain_value, told_if_known, written_key
from .provenance import facts, framed, headed, mark_html, tabled
from .text_tables import TextTable

if TYPE_CHECKING:
    import pandas
    import pyarrow


FORMAT = "dovetail.table/2"


@dataclass(frozen=True, slots=True, eq=False)
class TableAnswer:
    """Noisy columns side by side; all methods are post-processing and cost nothing.

    `answers` holds what was paid for, over all public groups; `places` says which of their cells are shown,
    in order. Where HAVING or LIMIT chose groups by noisy values, a large value is partly large by luck: the
    error bars of a column made of what decided hold for all groups at once, so also for the chosen ones.
    """

    text: str
    columns: tuple[ResultColumn, ...]
    answers: tuple[Answer, ...]
    places: tuple[int, ...]
    chosen_by: frozenset[int]

    @property
    def query(self) -> tuple[CheckedQuery, ...]:
        """The questions that were paid for together."""
        return tuple(answer.query for answer in self.answers)

    @property
    def charge(self) -> Charge:
        """What all of them cost together."""
        return self.answers[0].charge

    @property
    def remaining(self) -> Remaining:
        """What the budget could still pay after this answer."""
        return self.answers[0].remaining

    @property
    def noise(self) -> IntegerNoise:
        """The noise of the first aggregate; `answers` has that of the others."""
        return self.answers[0].noise

    @property
    def answered_at(self) -> datetime:
        """When the noise was drawn."""
        return self.answers[0].answered_at

    @property
    def stored(self) -> bool:
        """Whether the answer was given before and was free this time."""
        return self.answers[0].stored

    @property
    def stale(self) -> bool:
        """Whether the data have changed since the answer was given."""
        return self.answers[0].stale

    @property
    def versioned(self) -> bool:
        """Whether anybody knows which state of the data the answer is about."""
        return self.answers[0].versioned

    @property
    def level(self) -> Fraction:
        """The probability that error bars are shown at."""
        return self.answers[0].level

    @property
    def bounded(self) -> str | None:
        """What is left out by contribution bounds; error bars don't cover it. None if there are no bounds."""
        return bounded(*self.query)

    @property
    def grouped(self) -> bool:
        """Whether there was a GROUP BY."""
        return self.answers[0].query.grouped

    @property
    def value(self) -> Any:
        """The number of a lone aggregate (a list after GROUP BY); of several, a mapping by name."""
        by_name: dict[str, Any] = {}
        for column in self.valued:
            constant = self.constant(column)
            listed = [None if each is None else plain_value(constant(each)) for each in self.values(column)]
            # LIMIT 0 leaves nothing to show.
            by_name[column.name] = listed if self.grouped or not listed else listed[0]
        return next(iter(by_name.values())) if len(by_name) == 1 else by_name

    @property
    def valued(self) -> list[ResultColumn]:
        """The columns that hold noisy values, in order."""
        return [column for column in self.columns if column.key is None]

    @property
    def table(self) -> pyarrow.Table:
        """The columns as selected, each value with its error bar at the level that was asked for."""
        return self.interval(self.level)

    def interval(self, level: Real = 0.95, *, simultaneous: bool = False) -> pyarrow.Table:
        """Return the table with error bars of another level; with `simultaneous` all of them hold at once."""
        made: dict[str, Any] = {}
        for column in self.columns:
            if column.key is not None:
                made[column.name] = self.keys(column)
                continue
            bars = self.bars(column, level, simultaneous=simultaneous)
            ends: list[list[Any]] = [[bar and getattr(bar, end) for bar in bars] for end in ("low", "high")]
            constant, listed = self.constant(column), [self.values(column), *ends]
            for title, numbers in zip(column.titles(), listed, strict=True):
                made[title] = column_of([None if each is None else constant(each) for each in numbers])
        return tabled(self, made)

    def values(self, column: ResultColumn) -> list[Fraction | None]:
        """Return the exact values of a column, in the order shown; None where it divides by 0."""
        aggregates = aggregate_values([column.noisy], self.answers)
        return [value_of(column.noisy, aggregates, place) for place in self.places]

    def bars(
        self, column: ResultColumn, level: Real = 0.95, *, simultaneous: bool = False
    ) -> list[Bar | None]:
        """Return the exact error bars of a column, in the order shown; None where nothing bounds a number."""
        chance = 1 - error_bar_level("level", level, "Give a number such as 0.95.")
        chosen = any(each.answer in self.chosen_by for each in aggregates_in(column.noisy))
        # Of numbers that err together, one that decides tells of the others, too.
        chosen |= bool(self.chosen_by) and not all(answer.own_noise for answer in self.answers)
        # All bars hold together if no column misses: each may use its share of the chance.
        share = chance / len({each.noisy for each in self.valued}) if simultaneous else chance
        return bars_of(column.noisy, self.answers, self.places, share, simultaneous or chosen)

    def _aggregates(self) -> list[Aggregate]:
        """Return the noisy numbers that the columns are made of, each once."""
        return list(dict.fromkeys(each for column in self.valued for each in aggregates_in(column.noisy)))

    def noises(self, column: ResultColumn) -> list[IntegerNoise]:
        """Return the noise of each aggregate that a column is made of."""
        return [read_from(self.answers[each.answer], each).noise for each in aggregates_in(column.noisy)]

    def keys(self, column: ResultColumn) -> list[Any]:
        """Return the keys of a column, in the order shown."""
        assert column.key is not None
        question = self.answers[0].query
        axis, labels = question.axes[column.key], question.cell_keys()
        return column_keys(axis, (labels[place][column.key] for place in self.places))

    def constant(self, column: ResultColumn) -> Callable[[Fraction], Fraction | date]:
        """Return what makes days and times of the numbers of a column that stand for them."""
        measure = self.measure(column)
        return (lambda number: number) if measure is None else measure.constant

    def measure(self, column: ResultColumn) -> Measure | None:
        """Return what a column measures, None where it is computed."""
        wanted = column.noisy
        if not isinstance(wanted, Aggregate):
            return None
        return read_from(self.answers[wanted.answer], wanted).query.measure

    def remarks(self) -> tuple[str, ...]:
        """Return what must be said beside these numbers, each once."""
        told = (read_from(self.answers[each.answer], each) for each in self._aggregates())
        return tuple(dict.fromkeys(remark for each in told for remark in each.remarks()))

    def to_csv(self) -> str:
        """Return the columns as CSV, each noisy value followed by its low and high end."""
        titles = [title for column in self.columns for title in column.titles()]
        rows = [
            [text for cell in row.values() for text in (cell.values() if isinstance(cell, dict) else [cell])]
            for row in self.rows()
        ]
        return csv_text([titles, *rows], self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas DataFrame; its `attrs` say when the answer was given."""
        return framed(self, self.table)

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per row: keys, and of a noisy column value, low and high, as decimals."""
        rows: list[dict[str, Any]] = [{} for _ in self.places]
        for column in self.columns:
            if column.key is not None:
                cells: list[Any] = [written_key(key) for key in self.keys(column)]
            else:
                measure = self.measure(column)
                pairs = zip(self.values(column), self.bars(column, self.level), strict=True)
                cells = [told_if_known(measure, value, bar) for value, bar in pairs]
            for row, cell in zip(rows, cells, strict=True):
                row[column.name] = cell
        return rows

    def to_json(self) -> str:
        """Return the answer as JSON text of the format "dovetail.table/2"."""
        whole = [answer.to_dict() for answer in self.answers]
        own = ("query", "noises", "step", "released", "adjusted")
        made = {
            "schema": FORMAT,
            **facts(self),
            "sql": self.text,
            "columns": [
                {
                    "name": each.name,
                    "spelling": each.spelling,
                    "key": each.key,
                    "answer": each.query,
                    "formula": None if each.formula is None else each.formula.to_dict(),
                }
                for each in self.columns
            ],
            "rows": self.rows(),
            "places": list(self.places),
            "chosen_by": sorted(self.chosen_by),
            "asked": [{name: each[name] for name in own if name in each} for each in whole],
        }
        left_out = {"schema", "rows", "noise", "remarks", *own}
        made |= {name: value for name, value in whole[0].items() if name not in left_out}
        made["remarks"] = list(self.remarks())
        return json.dumps(made, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> TableAnswer:
        """Read what `to_json` wrote."""
        data = read_document(text, (FORMAT,))
        try:
            shared = data | {"schema": ANSWER_FORMAT, "rows": []}
            answers = tuple(Answer(**answer_fields(shared | each)) for each in data["asked"])
            axes = [answer.query.partition for answer in answers]
            columns = tuple(_read_column(each, axes) for each in data["columns"])
            return cls(data["sql"], columns, answers, tuple(data["places"]), frozenset(data["chosen_by"]))
        except (AttributeError, LookupError, TypeError) as error:
            raise InvalidParameter("text", data, f"a whole answer of the format {FORMAT}") from error

    def plot(self, ax: Any = None) -> Any:
        """Draw the first noisy column with its error bars and return Matplotlib's axes."""
        from dovetail.errors.values import percent
        from dovetail.plots.bars import draw_bars

        from .display import amount, axis_words

        column = self.valued[0]
        bars = self.bars(column, self.level)
        labels = self.answers[0].query.cell_keys()
        names = [", ".join(map(label, labels[place])) or column.name for place in self.places]
        shown, values = self.constant(column), self.values(column)
        known = [(value, bar) for value, bar in zip(values, bars, strict=True) if value is not None and bar]
        return draw_bars(
            [name for name, value, bar in zip(names, values, bars, strict=True) if value is not None and bar],
            [drawn_at(shown(value)) for value, _ in known],
            [(drawn_at(shown(bar.low)), drawn_at(shown(bar.high))) for _, bar in known],
            amounts=[amount(value, bar, shown) for value, bar in known],
            title=headed(self, column.name),
            scale=axis_words(self, f"error bars at {percent(self.level)}"),
            times=any(isinstance(shown(value), date) for value, _ in known[:1]),
            ax=ax,
        )

    def to_html(self) -> str:
        """Return the whole table as HTML."""
        return self._html(None)

    def to_markdown(self) -> str:
        """Return the whole table in Markdown, with what must be said beside the numbers below it."""
        return headed(self, "\n".join([*_tabulated(self, None).markdown(), "", *_after(self, None)]))

    def _html(self, most: int | None) -> str:
        after = "<br>".join(map(escape, _after(self, most)))
        return f"{mark_html(self)}{_tabulated(self, most).html()}<p>{after}</p>"

    def __str__(self) -> str:
        return headed(self, "\n".join([*_tabulated(self).text(), *_after(self)]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._html(MOST_ROWS)


def _read_column(data: Mapping[str, Any], axes: Sequence[tuple[Axis, ...]]) -> ResultColumn:
    formula = data.get("formula")
    read = None if formula is None else read_formula(formula, axes)
    return ResultColumn(data["name"], data["spelling"], data["key"], data["answer"], read)


def _tabulated(answer: TableAnswer, most: int | None = MOST_ROWS) -> TextTable:
    """Return the columns as selected, each value with its error bar."""
    head = tuple(column.name for column in answer.columns)
    rows = tuple(zip(*cells(answer, most), strict=True))
    return TextTable(head, rows, tuple(column.key is None for column in answer.columns))


def cells(answer: TableAnswer, most: int | None) -> list[list[str]]:
    """Return the texts of each column, of the first `most` rows only."""
    shown = []
    for column in answer.columns:
        if column.key is not None:
            texts = [label(key) for key in answer.keys(column)]
        else:
            pairs = zip(answer.values(column), answer.bars(column, answer.level), strict=True)
            texts = [_amount(value, bar, answer.constant(column)) for value, bar in pairs]
        shown.append(texts[:most])
    return shown


def _amount(value: Fraction | None, bar: Bar | None, constant: Callable[[Fraction], Fraction | date]) -> str:
    if value is None:
        return "unknown"
    return f"{in_figures(constant(value))} (anything)" if bar is None else amount(value, bar, constant)


def _after(answer: TableAnswer, most: int | None = MOST_ROWS) -> list[str]:
    more = 0 if most is None else len(answer.places) - most
    lines = [f"... and {more} more rows"] if more > 0 else []
    if answer.chosen_by:
        lines.append("rows were chosen by noisy values: their error bars hold for all groups at once")
    said = notes(answer.answers[0], whole=True, bounded=answer.bounded).split("\n")
    return [*lines, *dict.fromkeys([*answer.remarks(), *said])]
