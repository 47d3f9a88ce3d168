"""The answer of `contributions`: how much of the data a bound keeps, and which bounds lose least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING, Any

from dovetail.check import Real, choice, error_bar_level, integer
from dovetail.errors import InvalidParameter
from dovetail.errors.remedies import Give
from dovetail.errors.values import percent
from dovetail.noise import Geometric
from dovetail.privacy import Budget

from .answer import Answer
from .number_formats import counted
from .ranges import RangeEstimate

if TYPE_CHECKING:
    import pyarrow

    from dovetail.noise import IntegerNoise

_PRICES = (Budget.pure("0.1"), Budget.pure(1))
_LEVEL = "Give a number such as 0.95."


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContributionsAnswer(Answer):
    """How many persons have so many rows, and rows in so many cells; asking it for more costs nothing.

    Everything is relative to the public maximum of the question: persons who have more count as if they had
    that many, because how many rows they have is not known.
    """

    def kept(
        self, *, max_rows: int | None = None, max_cells: int | None = None, level: Real = 0.95
    ) -> RangeEstimate:
        """Return the share of rows that `max_rows` would keep, or of persons' cells that `max_cells` would.

        Its interval holds the true share, up to the public maximum, with probability `level`.
        """
        at = error_bar_level("level", level, _LEVEL)
        if (max_rows is None) == (max_cells is None):
            raise InvalidParameter("max_rows", max_rows, "given alone, or a bound on cells in its place")
        if max_cells is None:
            return self._part("rows").kept(integer("max_rows", max_rows, low=1), at)
        return self._part("cells").kept(integer("max_cells", max_cells, low=1), at)

    def suggest_bounds(self, spend: Budget | None = None, *, cells: int = 1) -> SuggestedBounds:
        """Return the bounds under which counts of so many `cells` are least off, at the price of `spend`.

        An answer is off by its noise, which grows with the bound, and by the rows that are left out. Of both
        the sum is made small: the half-width at 0.95, and a cell's even share of what is left out. Counts of
        rows are weighed for `max_rows`, counts of persons for `max_cells`. It costs nothing.
        """
        price = Budget.pure(1) if spend is None else spend
        if not isinstance(price, Budget):
            raise InvalidParameter("spend", spend, "a budget: the price of a later answer", Give("spend"))
        many = integer("cells", cells, low=1)
        bounds = [part.weighed(price, many) for part in self._parts()]
        return SuggestedBounds(price, many, *bounds)

    def table_of(self, what: str = "rows") -> pyarrow.Table:
        """Return the persons by their number of "rows" or "cells", with error bars at `level`."""
        import pyarrow

        part = self._part(choice("what", what, ("rows", "cells")))
        own = slice(part.start, part.start + part.most)
        values, bars = self.values()[own], self.bars(self.level)[own]
        return pyarrow.table(
            {
                what: list(range(1, part.most + 1)),
                "value": [int(value) for value in values],
                "low": [int(bar.low) for bar in bars],
                "high": [int(bar.high) for bar in bars],
            }
        )

    def remarks(self) -> tuple[str, ...]:
        """Return what must be said beside these numbers, and what some bounds would keep."""
        rows, *more = self._parts()
        said = [f"Rows kept by a bound: {rows.in_words(self.level)}."]
        said += [f"Cells kept by a bound: {each.in_words(self.level)}." for each in more]
        best = [
            f"{rows.weighed(price, 1).best:,} at epsilon {float(price.epsilon_limit):g}" for price in _PRICES
        ]
        said.append(f"Best bound for one count of rows, with noise and omitted rows: {', '.join(best)}.")
        return (*self.query.measure.remarks(self.cells, self.noises, 1 - self.level), *said)

    def plot(self, ax: Any = None) -> Any:
        """Draw the persons by their number of rows with error bars and return Matplotlib's axes.

        Without `ax`, the noise and the rows left out under each bound stand beside it, for epsilon 0.1.
        """
        from dovetail.plots.sheet import sheet
        from dovetail.plots.steps import draw_counts

        from .display import heading

        if ax is None:
            ax, beside = sheet(12, 3.8).subplots(1, 2)
            self.suggest_bounds(_PRICES[0]).plot(beside)

        table = self.table_of("rows")
        columns = [table.column(name).to_pylist() for name in ("rows", "value", "low", "high")]
        across = f"rows per person ({columns[0][-1]} or more together)"
        return draw_counts(*columns, title=heading(self), across=across, scale="persons", ax=ax)

    def _parts(self) -> list[_TallyPart]:
        made, start = [], 0
        for noise, component in zip(self.noises, self.query.measure.components(), strict=True):
            end = start + component.parts
            made.append(_TallyPart(component.name, start, self.cells[0][start:end], noise))
            start = end
        return made

    def _part(self, name: str) -> _TallyPart:
        known = {part.name: part for part in self._parts()}
        if name not in known:
            raise InvalidParameter("columns", (), "named in contributions(...): no cells were counted")
        return known[name]


@dataclass(frozen=True, slots=True)
class Weighed:
    """What each bound from 1 up does to a count: the noise it needs and the rows it leaves out."""

    name: str
    noise: tuple[int, ...]
    left_out: tuple[float, ...]

    @property
    def best(self) -> int:
        """The bound whose noise and rows left out are least in sum."""
        sums = [noise + lost for noise, lost in zip(self.noise, self.left_out, strict=True)]
        return 1 + sums.index(min(sums))


@dataclass(frozen=True, slots=True)
class SuggestedBounds:
    """Bounds that lose least at a price, and what every bound would do; `plot` shows why."""

    spend: Budget
    cells: int
    rows: Weighed
    of_cells: Weighed | None = None

    @property
    def max_rows(self) -> int:
        """The number of rows per person to use."""
        return self.rows.best

    @property
    def max_cells(self) -> int | None:
        """The number of cells per person to use, where cells were counted."""
        return None if self.of_cells is None else self.of_cells.best

    def __str__(self) -> str:
        lines = [_said(self.rows, "counts of rows")]
        if self.of_cells is not None:
            lines.append(_said(self.of_cells, "counts of persons"))
        return "\n".join([*lines, f"with {self.spend}, for {counted(self.cells, 'cell')}"])

    __repr__ = __str__

    def plot(self, ax: Any = None) -> Any:
        """Draw noise, rows left out and their sum for every bound on the rows; return Matplotlib's axes."""
        from dovetail.plots.steps import draw_trade

        weighed = self.rows
        return draw_trade(
            range(1, len(weighed.noise) + 1),
            weighed.noise,
            weighed.left_out,
            chosen=weighed.best,
            title=f"max_rows with {self.spend}",
            across="rows used per person (max_rows)",
            ax=ax,
        )


@dataclass(frozen=True, slots=True)
class _TallyPart:
    """The persons who have 1, 2, ... rows (or cells), as released."""

    name: str
    start: int
    persons: tuple[int, ...]
    noise: IntegerNoise

    @property
    def most(self) -> int:
        return len(self.persons)

    def total(self, amount: Callable[[int], int]) -> int:
        """Return the sum over persons of what a person with so many rows counts."""
        return sum(amount(number) * many for number, many in enumerate(self.persons, start=1))

    def kept(self, bound: int, level: Fraction) -> RangeEstimate:
        """Return the share that a bound keeps.

        What is kept and what is left out each lie within the exact law of their sum of noises, with half of
        the chance to miss each; the share grows with the one and falls with the other.
        """
        kept, lost = _at_most(bound), _beyond(bound)
        inside, outside = self.total(kept), self.total(lost)
        around = [self._reach(each, (1 - level) / 2) for each in (kept, lost)]
        low = _share(max(inside - around[0], 0), max(outside + around[1], 0))
        high = _share(max(inside + around[0], 0), max(outside - around[1], 0))
        value = min(max(_share(max(inside, 0), max(outside, 0)), low), high)
        return RangeEstimate(value, low, high, level)

    def _reach(self, amount: Callable[[int], int], chance: Fraction) -> int:
        from dovetail.workloads.noise_sums import NoiseSum, Term

        terms = [Term(float(amount(number)), self.noise) for number in range(1, self.most + 1)]
        return ceil(NoiseSum(terms).two_sided(chance))

    def in_words(self, level: Fraction) -> str:
        """Say what some bounds keep: 1, 2, 5, 10, 20, ..."""
        steps = [step * 10**power for power in range(4) for step in (1, 2, 5)]
        shares = {bound: self.kept(bound, level).value for bound in steps if bound < self.most}
        each = [f"{percent(Fraction(round(share, 3)))} at {bound:,}" for bound, share in shares.items()]
        return ", ".join(each) or "all at 1"

    def weighed(self, spend: Budget, cells: int) -> Weighed:
        noises, losses = [], []
        for bound in range(1, self.most + 1):
            # Rows stretch the noise; cells of a person are paid for one by one. For both it is this rate.
            rate = spend.epsilon_limit / bound
            noises.append(int(Geometric(rate).error_bound(Fraction(1, 20), 1)))
            losses.append(max(self.total(_beyond(bound)), 0) / cells)
        return Weighed(self.name, tuple(noises), tuple(losses))


def _at_most(bound: int) -> Callable[[int], int]:
    return lambda number: min(number, bound)


def _beyond(bound: int) -> Callable[[int], int]:
    return lambda number: max(number - bound, 0)


def _share(inside: float, outside: float) -> float:
    return inside / (inside + outside) if inside + outside > 0 else 1.0


def _said(weighed: Weighed, what: str) -> str:
    bound = weighed.best
    noise, lost = weighed.noise[bound - 1], weighed.left_out[bound - 1]
    return f"max_{weighed.name}={bound}: {what} have noise of ±{noise:,} and are about {lost:,.0f} too small"
