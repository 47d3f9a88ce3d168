"""What a run gives: answers in the usual form, with where each number comes from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dovetail.answers import Answer
from dovetail.answers.chart import cut
from dovetail.answers.display import amount
from dovetail.answers.number_formats import label, written_key, written_numbers
from dovetail.check import Real, error_bar_level
from dovetail.errors import InvalidQuery
from dovetail.errors.values import probability_text
from dovetail.exact.decimals import decimal_text
from dovetail.exact.figures import figure
from dovetail.query.measures import Bar

from .run import OnlineAnswer

_MOST_LINES = 60


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RunAnswer(Answer):
    """An answer of a run: `parts` tells of each number where it comes from and what is known of its error.

    Nothing more is charged for it. An unchecked number has no interval: to ask for one is refused, and the
    number is shown without.
    """

    parts: tuple[OnlineAnswer, ...] = ()
    left_out: str | None = None

    @property
    def bounded(self) -> str | None:
        """What the run leaves out of all its answers; their intervals don't cover it."""
        return self.left_out

    @property
    def origin(self) -> Any:
        """Where the number comes from: base, checked, measured or unchecked; a list for a histogram."""
        origins = [part.origin for part in self.parts]
        return origins if self.query.grouped else origins[0]

    @property
    def own_noise(self) -> bool:
        """Whether cells have noise of their own: not those of a run, which learns from all that it told."""
        return False

    def values(self) -> list[Fraction]:
        """Return the value of every cell, in order."""
        return [Fraction(part.value) for part in self.parts]

    def bars(self, level: Real = 0.95, *, simultaneous: bool = False) -> list[Bar]:
        """Return the interval of every cell, in order; `simultaneous` ones hold all at once.

        Checked numbers share one promise. All others have a share of the chance each.
        """
        if not simultaneous:
            return [_bar(part, level) for part in self.parts]
        chance = 1 - error_bar_level("level", level, "Give a number such as 0.95.")
        apart = sum(part.origin != "checked" for part in self.parts)
        shares = apart + (apart < len(self.parts))
        return [_bar(part, 1 - chance / shares) for part in self.parts]

    def rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per cell: keys, value, low, high (None where unchecked) and origin."""
        names = [axis.field.name for axis in self.query.named_by]
        lines = []
        for keys, part in zip(self.keys, self.parts, strict=True):
            value, known = Fraction(part.value), part.origin != "unchecked"
            bar = _bar(part, self.level) if known else Bar(value, value)
            told = written_numbers(value, bar, exact=False)
            row: dict[str, Any] = {"keys": dict(zip(names, map(written_key, keys), strict=True)), **told}
            lines.append(row | ({} if known else {"low": None, "high": None}) | {"origin": part.origin})
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form of the format "dovetail.online/2"; numbers are decimals as text."""
        return {
            "schema": "dovetail.online/2",
            "dataset": self.dataset,
            "query": self.query.to_dict(),
            "neighbours": self.neighbours,
            "rows": self.rows(),
            "level": decimal_text(self.level),
            "run": self.plan,
            "vintages": list(self.vintages),
            "answered_at": self.answered_at.isoformat(),
            "stored": self.stored,
            "bounded": self.bounded,
        }

    def __str__(self) -> str:
        lines = []
        for keys, part in list(zip(self.keys, self.parts, strict=True))[:_MOST_LINES]:
            value = Fraction(part.value)
            known = part.origin != "unchecked"
            text = amount(value, _bar(part, self.level)) if known else figure(value)
            name = cut(", ".join(map(label, keys)))
            lines.append(f"{name}  {text}  {part.origin}".strip())
        more = len(self.parts) - _MOST_LINES
        lines += [f"... and {more} more cells"] if more > 0 else []
        lines += [] if self.bounded is None else [self.bounded]
        used = "" if self.bounded is None else " for the rows used"
        lines.append(
            f"±{used} holds with probability {probability_text(self.level)}; "
            f"paid when run {self.plan} was opened"
        )
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def _bar(part: OnlineAnswer, level: Real) -> Bar:
    low, high = part.interval(level)
    return Bar(Fraction(low), Fraction(high))


def check_known(parts: tuple[OnlineAnswer, ...]) -> None:
    """Refuse to lay out numbers of whose errors nothing is known."""
    if any(part.origin == "unchecked" for part in parts):
        raise InvalidQuery(
            "The error of these numbers is unknown, so they are not shown as a table.",
            "Ask about fewer columns at once, or for the counts one by one.",
        )
