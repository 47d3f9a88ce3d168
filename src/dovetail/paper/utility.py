"""Figure 11: a million noisy answers on Adult."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from . import drawing
from .adult import Adult, Ints, load, random_queries
from .agreement import cdf_chance, mean_chance
from .claims import Measured
from .clamped import REACH, Floats, clamped, noise_shares
from .item import Drawing, Item, ItemResult, StepInputs, table
from .mechanisms import FIVE, SIX, Mechanism

_BOUND = FIVE.break_point
# The paper drew a million; what it says of the largest error holds for that many.
_PAPER_DRAWS = 1_000_000
_BINS = np.unique(np.geomspace(1, 32_562, 30).astype(int))


def _mechanisms() -> tuple[Mechanism, ...]:
    return (*FIVE.mixtures(), *FIVE.standards(FIVE.published, "published"))


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """One mechanism's errors over the queries: exact law, and what was drawn."""

    mechanism: Mechanism
    exact_cdf: Floats
    sampled_cdf: Floats
    largest: int
    draws: int
    exact_relative: Floats
    """At each true count that occurs."""
    sampled_relative: Floats
    """In each bin of true counts; NaN where no query fell."""
    mean_relative: Measured
    """The mean over the queries."""

    def within(self, error: int) -> Measured:
        """Return P(|error| <= error)."""
        chance = cdf_chance(self.sampled_cdf, self.exact_cdf, self.draws)
        return Measured(float(self.exact_cdf[error]), float(self.sampled_cdf[error]), chance)

    def maximum(self) -> Measured:
        """Return the median of the largest error among a million, the largest seen, and its chance."""
        median = int(np.searchsorted(self._largest_cdf(_PAPER_DRAWS), 0.5))
        here = self._largest_cdf(self.draws)
        at_most, below = here[self.largest], here[self.largest - 1]
        return Measured(median, self.largest, float(min(1.0, 2 * min(at_most, 1 - below))))

    def _largest_cdf(self, draws: int) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.exp(draws * np.log1p(-np.maximum(1 - self.exact_cdf, 0))))


def _answer(mechanism: Mechanism, counts: Ints, values: Ints, shares: Floats) -> _Answers:
    noise = np.asarray(mechanism.noise.sample(counts.size))
    errors = np.abs(np.maximum(noise, -counts))
    sampled = np.bincount(errors, minlength=REACH + 1)[: REACH + 1].cumsum() / counts.size
    beyond = np.where(errors > _BOUND, errors, 0) / counts
    place = np.digitize(counts, _BINS)
    with np.errstate(invalid="ignore"):
        binned = np.bincount(place, weights=beyond, minlength=len(_BINS) + 1) / np.bincount(
            place, minlength=len(_BINS) + 1
        )
    law = noise_shares(mechanism.noise)
    laws = np.array([_error_shares(law, int(n)) for n in values])
    sizes = np.arange(REACH + 1) * (np.arange(REACH + 1) > _BOUND)
    relative = laws @ sizes / values
    joint = (sizes[None, :] / values[:, None]).ravel(), (shares[:, None] * laws).ravel()
    mean = float(beyond.mean())
    return _Answers(
        mechanism,
        _mixed_cdf(mechanism, values, shares),
        sampled,
        int(errors.max()),
        counts.size,
        relative,
        binned[1:],
        Measured(float(relative @ shares), mean, mean_chance(mean, [joint], counts.size)),
    )


def _error_shares(law: Floats, count: int) -> Floats:
    # A count beyond the reach of the noise is never clamped: its error is that of one at the reach.
    return clamped(law, min(count, REACH)).shares


def _mixed_cdf(mechanism: Mechanism, values: Ints, shares: Floats) -> Floats:
    """Return P(|error| <= e) over random queries: a count of at most e can only err upward by more."""
    errors = np.arange(REACH + 1)
    low = np.array([shares[values <= e].sum() for e in errors])
    both, up = mechanism.noise.within(errors), mechanism.noise.cdf(errors)
    return np.asarray((1 - low) * both + low * up)


def _make(run: StepInputs) -> ItemResult:
    adult = load()
    counts = adult.counts[random_queries(adult, run.seed, "utility", run.sizes.noisy)].astype(np.int64)
    values, shares = adult.count_distribution()
    found = []
    for number, mechanism in enumerate(_mechanisms()):
        found.append(_answer(mechanism, counts, values, shares))
        run.advance((number + 1) / 5)
    cdf_rows = [(a.mechanism.name, e, a.exact_cdf[e], a.sampled_cdf[e]) for a in found for e in range(61)]
    relative_rows = [
        (a.mechanism.name, int(_BINS[i]), a.sampled_relative[i]) for a in found for i in range(len(_BINS))
    ]
    return ItemResult(
        (
            table("fig11_cdf", "mechanism error exact sampled", cdf_rows),
            table("fig11_relative", "mechanism true_count_from sampled", relative_rows),
        ),
        (Drawing("fig11", _caption(counts.size), _draw(found, values, shares, adult)),),
        _claims(found, values),
    )


def _caption(draws: int) -> str:
    return (
        f"{draws:,} random queries on Adult answered by each of four mechanisms, negative answers set to "
        "zero. Left: CDF of the absolute error. Middle: CDF, over queries, of the mean relative error "
        "beyond the break-point. Right: that error by true count. Lines: exact; marks: drawn. Mixtures "
        "and standards have about equal ζ; their worst-case ε is 1 against 0.328."
    )


def _claims(found: list[_Answers], values: Ints) -> dict[str, Measured]:
    mixture, laplace_mixture, standard, laplace = found
    below_four = [each.within(3).exact for each in found]
    lower = (mixture.exact_relative < standard.exact_relative) & (
        laplace_mixture.exact_relative < laplace.exact_relative
    )
    at_ten = float(mixture.exact_relative[values == 10][0])
    other = clamped(noise_shares(SIX.geometric_mixture().noise), 10).beyond(SIX.break_point)
    return {
        "fig11-below-ten": mixture.within(9),
        "fig11-max-mixture": mixture.maximum(),
        "fig11-max-standard": standard.maximum(),
        "fig11-below-four": Measured(max(below_four) - min(below_four)),
        "fig11-lower-error": standard.mean_relative.over(mixture.mean_relative),
        "fig11-geometric-better": laplace_mixture.mean_relative.over(mixture.mean_relative),
        "fig11-every-count": Measured(float(lower.mean())),
        "fig11-like-simulation": Measured(at_ten / other),
    }


def _draw(found: list[_Answers], values: Ints, shares: Floats, adult: Adult) -> Any:
    figure, (left, middle, right) = drawing.axes(1, 3, width=13.0, height=4.2)
    binned = np.array([shares[(values >= low) & (values < high)].sum() for low, high in _bins(adult)])
    for each in found:
        family = each.mechanism.family
        line = {"linestyle": each.mechanism.linestyle, "linewidth": drawing.line_width(family)}
        style = {"color": drawing.COLOURS[family], **line}
        mark = drawing.line_style(family, linestyle="none", markersize=4)
        left.plot(each.exact_cdf[:26], **style, label=each.mechanism.name)
        left.plot(each.sampled_cdf[:26], **mark)
        order = np.argsort(each.exact_relative)
        middle.plot(each.exact_relative[order], np.cumsum(shares[order]), **style)
        seen = np.isfinite(each.sampled_relative) & (each.sampled_relative > 0)
        by_error = np.argsort(each.sampled_relative[seen])
        middle.plot(each.sampled_relative[seen][by_error], np.cumsum(binned[seen][by_error]), **mark)
        right.plot(values, each.exact_relative, **style)
        centres = [np.sqrt(low * (high - 1)) for low, high in _bins(adult)]
        right.plot(np.array(centres)[seen], each.sampled_relative[seen], **mark)
    left.set_xlabel("|true − noisy| (persons)")
    left.set_ylabel("P(|error| ≤ x)")
    left.legend(fontsize=7.5, loc="lower right")
    middle.set_xscale("log")
    middle.set_xlabel("mean relative error beyond 5")
    middle.set_ylabel("share of queries")
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xlabel("true count (persons)")
    right.set_ylabel("mean relative error beyond 5")
    return figure


def _bins(adult: Adult) -> list[tuple[int, int]]:
    edges = [*_BINS.tolist(), adult.records + 1]
    return list(pairwise(edges))


ITEMS = (Item("fig11", "Fig. 11: noisy queries on Adult", _make, uses=("noisy", "seed")),)
