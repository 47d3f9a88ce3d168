"""What an analyst gets: noisy numbers with their error bars, and what they cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dovetail.check import Real, error_bar_level
from dovetail.errors import InvalidParameter, InvalidQuery
from dovetail.errors.remedies import Give
from dovetail.exact.decimals import decimal_text
from dovetail.noise import IntegerNoise
from dovetail.privacy import Charge, Remaining
from dovetail.query.checked_query import CheckedQuery
from dovetail.query.field import Constant
from dovetail.query.measures import Bar
from dovetail.query.partitions import Cell, listed_axes

from .contribution_bounds import bounded
from .intervals import bars, values
from .json_format import FIRST, FORMAT, answer_fields, read_document
from .noisy_numbers import USUAL_LEVEL, Arithmetic, NoisyNumber, ReleasedNumber, opaque
from .number_formats import (
    ENDS,
    column_keys,
    column_of,
    drawn_at,
    label,
    noise_in_decimals,
    plain_value,
    told,
    written_key,
)
from .plan import Plan
from .provenance import facts, framed, headed, tabled
from .threshold import Threshold

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from .text_tables import TextTable


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Arithmetic):
    """A noisy answer; all its methods are post-processing and cost nothing.

    `remaining` is what the budget could still pay after it.
    `cells` holds the released integers: per cell one, or two for a mean (the centred sum and the count).
    `noises` holds the noise of each of them, on its lattice: a sum's is stretched to its sensitivity.
    `stored` is true if the answer was given before and was free this time, `stale` if the data have changed
    since; data that are not `versioned` may have changed. `vintages` are the rows it is about, where they
    have labels. `plan` numbers the plan that paid, and then `charge` is zero, because the plan was charged
    when it was opened: `paid_by` has its price.
    `level` is the probability that was asked for with `within`, else 0.95: what error bars are shown at.
    `together` is how many questions were asked at once: `charge` is what all of them cost, exactly.
    With keys="discover", `threshold` is the least noisy count that is shown, with the delta that it cost, and
    `found` are the cells that reached it; rarer keys are left out by design. `reference` is what the ledger
    calls the request to its analyst; None where another's stored answer was given.
    """

    dataset: str
    query: CheckedQuery
    noises: tuple[IntegerNoise, ...]
    cells: tuple[tuple[int, ...], ...]
    charge: Charge
    neighbours: str
    answered_at: datetime
    remaining: Remaining
    stored: bool = False
    clamp: bool = False
    plan: int | None = None
    adjusted: tuple[int, ...] | None = None
    level: Fraction = USUAL_LEVEL
    paid_by: Plan | None = None
    together: int = 1
    found: tuple[Cell, ...] | None = None
    threshold: Threshold | None = None
    stale: bool = False
    versioned: bool = True
    vintages: tuple[str, ...] = ()
    reference: str | None = None

    @property
    def keys(self) -> list[tuple[Constant | None, ...]]:
        """The keys of every cell, in order."""
        return self.query.cell_keys() if self.found is None else list(map(self.query.named, self.found))

    @property
    def bounded(self) -> str | None:
        """What is left out by contribution bounds; error bars don't cover it. None if there are no bounds."""
        return bounded(self.query)

    @property
    def noise(self) -> IntegerNoise:
        """The noise of the released integers; of a mean, the noise of its sum."""
        return self.noises[0]

    @property
    def value(self) -> Any:
        """The noisy number, or the list of them where the answer is a table."""
        shown = [plain_value(self.query.measure.constant(value)) for value in self.values()]
        return shown if self.query.grouped else shown[0]

    @property
    def number(self) -> NoisyNumber:
        """The noisy number of an answer that is not a table; the answer itself also calculates."""
        if self.query.grouped:
            raise InvalidQuery(
                "This answer is a table, not one number.", "Name the cell: answer[key], or several keys."
            )
        return self._cell(0)

    def __getitem__(self, key: Any) -> NoisyNumber:
        """Return the noisy number of a cell: by its key, or by the keys of all columns in their order."""
        keys = self.keys
        wanted = key if isinstance(key, tuple) else (key,)
        places = [place for place, each in enumerate(keys) if _same(each, wanted)]
        if not places:
            columns = ", ".join(axis.field.name for axis in self.query.named_by) or "no columns"
            some = ", ".join(" and ".join(map(label, each)) for each in keys[:4])
            raise InvalidParameter("key", key, f"one key of each of {columns}, such as {some}")
        return self._cell(places[0])

    def items(self) -> list[tuple[Any, NoisyNumber]]:
        """Return the keys of every cell with its noisy number; one column has plain keys."""
        alone = len(self.query.named_by) == 1
        return [(each[0] if alone else each, self._cell(place)) for place, each in enumerate(self.keys)]

    __iter__ = None

    def _as_number(self) -> NoisyNumber:
        return self.number

    def _cell(self, place: int) -> NoisyNumber:
        """Return one cell as a number to calculate with."""
        origin = (self.dataset, self.answered_at, hash((self.query, self.cells)))
        shown: dict[str, Any] = {"level": self.level, "bounded": self.bounded}
        if not self._plainly_released:

            def interval(level: Fraction) -> Bar:
                return self.bars(level)[place]

            return NoisyNumber({opaque(origin, place, self.values()[place], interval): Fraction(1)}, **shown)
        step = self.query.step
        one = ReleasedNumber(origin, place, self.cells[place][0] * step, self.noises[0], step)
        return NoisyNumber({one: Fraction(1)}, clamp=self.clamp, **shown)

    @property
    def own_noise(self) -> bool:
        """Whether every cell is the true one with noise of its own, as `noises` tells, and errs by it alone.

        Then the law of a sum of cells is known, and cells err independently.
        """
        return self.adjusted is None and self.found is None

    @property
    def _plainly_released(self) -> bool:
        """Whether every number is a released integer times the step, whatever it turned out to be."""
        return self.own_noise and self.query.measure.one_integer()

    @property
    def table(self) -> pyarrow.Table:
        """The cells with their values and error bars at `level`."""
        return self._tabled(self.level, False)

    def interval(self, level: Real = 0.95, *, simultaneous: bool = False) -> Any:
        """Return (low, high), or a table of them.

        Each interval covers the true number with probability `level` over the noise; with `simultaneous`
        all of them do at once. A mean's interval inverts the joint law of its sum and count.
        """
        if self.query.grouped:
            return self._tabled(level, simultaneous)
        bar = self.bars(level, simultaneous=simultaneous)[0]
        low, high = map(self.query.measure.constant, (bar.low, bar.high))
        return plain_value(low), plain_value(high)

    def bars(self, level: Real = 0.95, *, simultaneous: bool = False) -> list[Bar]:
        """Return the exact interval of every cell, in order."""
        at = error_bar_level("level", level, "Give a number such as 0.95.")
        if simultaneous and self.threshold is not None:
            raise InvalidQuery(
                "How many keys there are is secret, so no interval can hold for all of them at once.",
                "Ask again with the keys found here.",
                Give("keys"),
            )
        return bars(self.query, self.noises, self.cells, at, simultaneous, self.clamp)

    def consistent(self) -> Answer:
        """Return the nearest non-negative counts with the same total (post-processing).

        The error bars stay those of the noise around the original answer.
        """
        from .consistency import nearest_counts

        if not self.query.measure.counts or not self.query.axes:
            raise InvalidQuery(
                "Only a histogram can be made consistent; a single count can be clamped.", Give("clamp")
            )
        return replace(self, adjusted=tuple(nearest_counts([cell[0] for cell in self.cells])), clamp=True)

    def values(self) -> list[Fraction]:
        """Return the exact value of every cell, in order."""
        if self.adjusted is not None:
            return [Fraction(count) for count in self.adjusted]
        return values(self.query, self.noises, self.cells, self.clamp)

    @property
    def size(self) -> int:
        """How many noisy numbers there are."""
        return len(self.cells) * self.query.measure.numbers()

    def excerpt(self, most: int | None = None) -> list[tuple[tuple[Constant | None, ...], Fraction, Bar]]:
        """Return the keys, the value and the interval of the first `most` cells, or of all."""
        return list(zip(self.keys, self.values(), self.bars(self.level), strict=True))[:most]

    def remarks(self) -> tuple[str, ...]:
        """Return what must be said beside these numbers, such as that there may be no row at all."""
        return self.query.measure.remarks(self.cells, self.noises, 1 - self.level)

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per cell: keys, value, low and high, exact decimals as text."""
        names = [axis.field.name for axis in self.query.named_by]
        measure = self.query.measure
        return [
            {"keys": dict(zip(names, map(written_key, keys), strict=True)), **told(measure, value, bar)}
            for keys, value, bar in zip(self.keys, self.values(), self.bars(self.level), strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form; every number that does not simply count things is a decimal as text."""
        noises = list(map(noise_in_decimals, self.noises))
        return {
            "schema": FORMAT,
            **facts(self),
            "dataset": self.dataset,
            "vintages": list(self.vintages),
            "versioned": self.versioned,
            "query": self.query.to_dict(),
            "neighbours": self.neighbours,
            "rows": self.rows(),
            "level": decimal_text(self.level),
            "remarks": list(self.remarks()),
            "noise": noises[0],
            "noises": noises,
            "step": decimal_text(self.query.step),
            "released": [list(map(str, cell)) for cell in self.cells],
            "adjusted": None if self.adjusted is None else list(map(str, self.adjusted)),
            "threshold": None if self.threshold is None else self.threshold.to_dict(),
            "charge": self.charge.to_dict(),
            "together": self.together,
            "plan": self.plan,
            "paid_by": None if self.paid_by is None else self.paid_by.to_dict(),
            "remaining": self.remaining.to_dict(),
            "clamped": self.clamp,
        }

    def to_json(self) -> str:
        """Return the answer as JSON text of the format "dovetail.answer/2"; `json_schema` describes it."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote; the answer has all its methods again.

        Texts of the format "dovetail.answer/1" are read where they contain the released integers.
        """
        return cls(**answer_fields(read_document(text, (FORMAT, FIRST))))

    def to_csv(self) -> str:
        """Return CSV: the columns, value, low and high at `level`, then when the answer was given."""
        from .csv_format import csv_text

        names = [axis.field.name for axis in self.query.named_by]
        rows = [[*row["keys"].values(), *(row[end] for end in ENDS)] for row in self.rows()]
        return csv_text([[*names, *ENDS], *rows], self)

    def to_pandas(self) -> pandas.DataFrame:
        """Return the table as a pandas DataFrame; its `attrs` say when the answer was given."""
        return framed(self, self.table)

    def plot(self, ax: Any = None) -> Any:
        """Draw the values with their error bars and return Matplotlib's axes."""
        from dovetail.errors.values import percent
        from dovetail.plots.bars import draw_bars

        from .display import amount, axis_words, heading

        shown, values, bars = self.query.measure.constant, self.values(), self.bars(self.level)
        amounts = [amount(value, bar, shown) for value, bar in zip(values, bars, strict=True)]
        scale = axis_words(self, f"{self.query.measure.scale()}, error bars at {percent(self.level)}")
        if self._two_way() is not None:
            from dovetail.plots.grid import draw_grid

            down, across = listed_axes(self.query.named_by)
            return draw_grid(
                [label(key) for key in down.labels],
                [label(key) for key in across.labels],
                [drawn_at(shown(value)) for value in values],
                amounts=amounts,
                title=headed(self, heading(self)),
                names=(down.field.name, across.field.name),
                scale=scale,
                ax=ax,
            )
        return draw_bars(
            [", ".join(map(label, keys)) or "answer" for keys in self.keys],
            [drawn_at(shown(value)) for value in values],
            [(drawn_at(shown(bar.low)), drawn_at(shown(bar.high))) for bar in bars],
            amounts=amounts,
            title=headed(self, heading(self)),
            scale=scale,
            times=any(isinstance(shown(value), date) for value in values[:1]),
            ax=ax,
        )

    def _tabled(self, level: Real, simultaneous: bool) -> pyarrow.Table:
        columns: dict[str, Any] = {}
        keys = self.keys
        for number, axis in enumerate(self.query.named_by):
            columns[axis.field.name] = column_keys(axis, (row[number] for row in keys))
        bars = self.bars(level, simultaneous=simultaneous)
        shown = self.query.measure.constant
        columns["value"] = column_of([shown(value) for value in self.values()])
        columns["low"] = column_of([shown(bar.low) for bar in bars])
        columns["high"] = column_of([shown(bar.high) for bar in bars])
        return tabled(self, columns)

    def to_html(self) -> str:
        """Return the whole answer as HTML: a two-way table where two columns make one, else a list."""
        from .display import as_html

        table = self._two_way()
        return as_html(self, None if table is None else table.html(), most=None)

    def to_markdown(self) -> str:
        """Return the whole answer as a Markdown table, with what must be said beside the numbers below it."""
        from .display import notes
        from .text_tables import tabulated

        table = self._two_way() or tabulated(self)
        return headed(self, "\n".join([*table.markdown(), "", notes(self)]))

    def _two_way(self) -> TextTable | None:
        from .text_tables import two_way

        return two_way(self)

    def __str__(self) -> str:
        from .display import as_text

        table = self._two_way()
        return as_text(self, None if table is None else table.text())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .display import as_html

        table = self._two_way()
        return as_html(self, None if table is None else table.html())


def _same(keys: tuple[Constant | None, ...], wanted: tuple[Any, ...]) -> bool:
    """Return whether keys are the wanted ones, or read like them."""
    return len(keys) == len(wanted) and all(
        one == other or label(one) == other for one, other in zip(keys, wanted, strict=True)
    )
