"""Several noises side by side at equal privacy, in the sense that is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from math import ceil, inf, isnan, log, nan
from typing import Any

from dovetail import check
from dovetail.check import Real
from dovetail.errors import InvalidParameter
from dovetail.errors.remedies import Give
from dovetail.exact.bisection import bracket
from dovetail.exact.decimals import finite, short
from dovetail.exact.figures import upper_figure
from dovetail.noise import (
    DiscreteGaussian,
    Noise,
    PiecewiseGeometric,
    PiecewiseLaplace,
    RoundedLaplace,
    StaircaseNoise,
    TruncatedGeometric,
    TruncatedLaplace,
)
from dovetail.privacy import PrivacyLoss, privacy_loss
from dovetail.progress import working

from .goal import loss_limit

_FIX = Give("at")
_FIGURES = ("epsilon", "zeta", "mean_abs", "variance", "within_95", "entropy")
_UNMET = "* no scale of this noise has this guarantee, to 1e-6; compare it with care"
_DIGITS = 9
_CLOSE = 1e-9
# How near to the level a row must come to count as matched.
_MET = 1e-6
_WIDEST = 1e5
# Smaller ones are not told apart.
_LEAST_DELTA = 1e-300


@dataclass(frozen=True)
class Row:
    """One noise of a comparison; `matched` is False where no scale brings it to the level, to 1e-6.

    A mechanism that is known by its privacy loss alone has no noise; nothing is known of its errors (nan).
    `chance_of_more` is P(L > epsilon) of all queries together where they are compared at (epsilon, delta):
    it is never below delta.
    """

    name: str
    noise: Noise | None
    matched: bool
    zeta: float
    epsilon: float
    mean_abs: float
    variance: float
    within_95: float
    entropy: float
    chance_of_more: float | None = None


@dataclass(frozen=True)
class Comparison:
    """Noises scaled to equal privacy; `at` says in which sense."""

    at: str
    rows: tuple[Row, ...]

    @property
    def note(self) -> str | None:
        """What the mark beside a row says; None where every row is at the level."""
        return None if all(row.matched for row in self.rows) else _UNMET

    def __str__(self) -> str:
        heads = ("", "zeta", "worst epsilon", "mean error", "variance", "95 % within", "larger loss")
        table: list[tuple[str, ...]] = [heads]
        for row in self.rows:
            costs = (upper_figure(cost, 5) for cost in (row.zeta, row.epsilon))
            errors = (row.mean_abs, row.variance, row.within_95)
            known = ("-" if isnan(error) else f"{error:.5g}" for error in errors)
            more = () if row.chance_of_more is None else (upper_figure(row.chance_of_more, 2),)
            table.append((row.name + ("" if row.matched else " *"), *costs, *known, *more))
        shown = max(map(len, table[1:]))
        table[0] = heads[:shown]
        widths = [max(len(line[i]) for line in table) for i in range(shown)]
        lines = [f"At equal {self.at}"]
        lines += [
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in table
        ]
        return "\n".join(lines if self.note is None else [*lines, self.note])

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form; null means without bound."""
        return {
            "at": self.at,
            "rows": [
                {
                    "asked": row.name,
                    "noise": None if row.noise is None else row.noise.to_dict(),
                    "matched": row.matched,
                }
                | {name: _known(getattr(row, name)) for name in _FIGURES}
                | ({} if row.chance_of_more is None else {"chance_of_more": row.chance_of_more})
                for row in self.rows
            ],
        }

    def plot(self) -> Any:
        """Draw the chance of each error, and zeta beside the worst case; return the Matplotlib figure."""
        import numpy as np

        from dovetail.plots.design import comparison

        # One very wide noise should not press the others into a corner.
        drawn = {row.name: row.noise for row in self.rows if row.noise is not None}
        reaches = sorted(noise.quantile_abs(0.999) for noise in drawn.values()) or [1.0]
        top = int(min(reaches[-1], 3 * reaches[len(reaches) // 2])) + 1
        sizes = np.arange(top + 1)
        names = {
            row.name: row.name if row.matched else f"{row.name} (not at this level)" for row in self.rows
        }
        curves = {names[name]: 1 - np.asarray(noise.within(sizes)) for name, noise in drawn.items()}
        costs = {names[row.name]: (row.zeta, row.epsilon) for row in self.rows}
        return comparison(sizes, curves, costs, f"At equal {self.at}")


def compare(
    noises: Mapping[str, Noise | PrivacyLoss], *, at: str | tuple[Real, Real, int] = "zeta"
) -> Comparison:
    """Scale noises to equal privacy for counts and put their errors side by side.

    With "zeta" or "epsilon" the first noise stays as it is and sets the level; with (epsilon, delta, queries)
    every noise is scaled until that many queries cost just this. A `PrivacyLoss` of a mechanism of your own
    is shown beside them as it is: it cannot be scaled.

    >>> from dovetail.noise import Geometric, GeometricMixture
    >>> rows = compare({"mixture": GeometricMixture(0.2, 1, 5), "geometric": Geometric(1)}, at="zeta").rows
    >>> [round(row.mean_abs, 2) for row in rows]
    [2.48, 2.99]
    """
    if not isinstance(noises, Mapping) or not noises:
        raise InvalidParameter("noises", noises, "names with noises", "Give each noise a name.")
    for name, noise in noises.items():
        if not isinstance(noise, Noise | PrivacyLoss):
            raise InvalidParameter(
                f"noises[{name!r}]", noise, "a noise or a privacy loss", "For example geometric noise."
            )
    sense = _sense(at, next(iter(noises.values())))
    with working("Scaling the noises"):
        return Comparison(sense.name, tuple(_row(name, noise, sense) for name, noise in noises.items()))


@dataclass(frozen=True)
class _Sense:
    """What is made equal: a cost that falls with the scale, its level, and its name."""

    name: str
    cost: Callable[[PrivacyLoss], float]
    level: float

    def met(self, loss: PrivacyLoss) -> bool:
        """Tell whether the level is met to 1e-6."""
        return abs(self.cost(loss) - self.level) <= _MET * (abs(self.level) or 1.0)

    def more(self, _: PrivacyLoss) -> float | None:
        """Return P(L > epsilon) where an epsilon is named beside a delta."""
        return None


@dataclass(frozen=True)
class _AtDelta(_Sense):
    epsilon: Fraction
    delta: Fraction
    queries: int

    def met(self, loss: PrivacyLoss) -> bool:
        # Near the worst case delta falls so steeply that no short rate meets it; epsilon is met there.
        if super().met(loss):
            return True
        epsilon = float(self.epsilon)
        return abs(loss.compose(self.queries).epsilon_at(self.delta) - epsilon) <= _MET * epsilon

    def more(self, loss: PrivacyLoss) -> float | None:
        return loss.compose(self.queries).above(self.epsilon)


def _sense(at: Any, first: Noise | PrivacyLoss) -> _Sense:
    if isinstance(at, str):
        check.choice("at", at, ("zeta", "epsilon"), _FIX)
        cost: Callable[[PrivacyLoss], float] = (
            (lambda loss: loss.zeta) if at == "zeta" else (lambda loss: loss.epsilon)
        )
        level = cost(_loss(first))
        if level == inf:
            raise InvalidParameter(
                "noises", first, f"such that the first one's {at} is finite", "Put another first."
            )
        return _Sense(f"{at} {upper_figure(level)}", cost, level)
    if not isinstance(at, tuple | list) or len(at) != 3:
        raise InvalidParameter("at", at, "a sense of equal privacy", _FIX)
    epsilon = loss_limit("at[0]", at[0])
    delta = check.within("at[1]", check.probability("at[1]", at[1]), _LEAST_DELTA, 1)
    queries = check.integer("at[2]", at[2], 1, 10**9)
    name = f"epsilon {float(epsilon):g}, delta {float(delta):g} for {queries} queries"

    def excess(loss: PrivacyLoss) -> float:
        return log(max(loss.compose(queries).delta(epsilon), _LEAST_DELTA)) - log(delta)

    return _AtDelta(name, excess, 0.0, epsilon, delta, queries)


def _row(name: str, noise: Noise | PrivacyLoss, sense: _Sense) -> Row:
    if isinstance(noise, PrivacyLoss):
        return Row(
            name, None, sense.met(noise), noise.zeta, noise.epsilon, nan, nan, nan, nan, sense.more(noise)
        )
    matched = _matched(noise, sense.cost, sense.level)
    shown = noise if matched is None else matched
    loss = privacy_loss(shown)
    return Row(
        name,
        shown,
        matched is not None and sense.met(loss),
        loss.zeta,
        loss.epsilon,
        shown.mean_abs(),
        shown.variance(),
        shown.quantile_abs(0.95),
        shown.entropy(),
        sense.more(loss),
    )


def _loss(given: Noise | PrivacyLoss) -> PrivacyLoss:
    return given if isinstance(given, PrivacyLoss) else privacy_loss(given)


def _known(figure: float) -> float | None:
    return None if isnan(figure) else finite(figure)


def _matched(noise: Noise, cost: Callable[[PrivacyLoss], float], level: float) -> Noise | None:
    """Return the narrowest noise of this shape that costs at most the level, or None if none does."""

    def excess(scale: float) -> float:
        return cost(privacy_loss(scaled(noise, scale))) - level

    if abs(cost(privacy_loss(noise)) - level) <= 1e-9:
        return noise
    narrow = wide = 1.0
    while excess(narrow) <= 0 and narrow > 1e-3:
        narrow /= 2
    while excess(wide) > 0:
        wide *= 2
        if wide > _WIDEST:
            return None
    stretched = scaled(
        noise, bracket(narrow, wide, lambda scale: excess(scale) <= 0, close=_CLOSE, by_ratio=True)[1]
    )
    return _steepened(stretched, lambda other: cost(privacy_loss(other)) <= level)


def _steepened(noise: Noise, fits: Callable[[Noise], bool]) -> Noise:
    """Use up what whole break-points have left of the level: steeper rates with the breaks where they are."""
    if not isinstance(noise, PiecewiseGeometric) or not noise.breaks:
        return noise

    def wider(share: float) -> PiecewiseGeometric:
        return PiecewiseGeometric([_short(rate / Fraction(share)) for rate in noise.rates], noise.breaks)

    least = next(share for share in (0.5**power for power in range(1, 60)) if not fits(wider(share)))
    return wider(bracket(least, 1.0, lambda share: fits(wider(share)), close=_CLOSE, by_ratio=True)[1])


@singledispatch
def scaled(noise: Noise, scale: float) -> Noise:
    """Return a noise of the same shape, `scale` times as wide, with short numbers."""
    raise InvalidParameter("noise", noise, "a noise that can be scaled", "Compare named noises.")


@scaled.register
def _(noise: PiecewiseGeometric, scale: float) -> PiecewiseGeometric:
    points: list[int] = []
    for point in noise.breaks:
        points.append(max(round(point * scale), points[-1] + 1 if points else 1))
    return PiecewiseGeometric([_short(rate / Fraction(scale)) for rate in noise.rates], points)


@scaled.register
def _(noise: PiecewiseLaplace, scale: float) -> PiecewiseLaplace:
    width = Fraction(scale)
    return PiecewiseLaplace(
        [_short(rate / width) for rate in noise.rates], [_short(point * width) for point in noise.breaks]
    )


@scaled.register
def _(noise: RoundedLaplace, scale: float) -> RoundedLaplace:
    return RoundedLaplace(scaled(noise.source, scale))  # type: ignore[arg-type]


@scaled.register
def _(noise: DiscreteGaussian, scale: float) -> DiscreteGaussian:
    return DiscreteGaussian(_short(noise.sigma * Fraction(scale), up=True))


@scaled.register
def _(noise: StaircaseNoise, scale: float) -> StaircaseNoise:
    return StaircaseNoise(_short(noise.epsilon / Fraction(scale)), noise.gamma, noise.sensitivity)


@scaled.register
def _(noise: TruncatedGeometric, scale: float) -> TruncatedGeometric:
    return TruncatedGeometric(_short(noise.epsilon / Fraction(scale)), max(1, ceil(noise.bound * scale)))


@scaled.register
def _(noise: TruncatedLaplace, scale: float) -> TruncatedLaplace:
    width = Fraction(scale)
    return TruncatedLaplace(_short(noise.epsilon / width), _short(noise.bound * width, up=True))


def _short(value: Fraction, *, up: bool = False) -> Fraction:
    """Round to a few digits: rates down and widths up, to the private side."""
    return short(value, _DIGITS, up=up)
