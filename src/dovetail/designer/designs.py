"""Which noise meets my goal with the least cost, or my budget with the least error?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import exp, inf
from typing import TYPE_CHECKING, Any

from dovetail.check import Real
from dovetail.exact.balls import times_up
from dovetail.exact.decimals import finite
from dovetail.exact.figures import upper_figure
from dovetail.noise import IntegerNoise, PiecewiseGeometric, StaircaseNoise
from dovetail.privacy import PrivacyLoss, privacy_loss
from dovetail.progress import working

from .calibration import NoiseShape, fitted, one_piece
from .certify import Certified, certify
from .goal import Goal, Task, read_task
from .staircases import staircases

if TYPE_CHECKING:
    from .alternatives import Alternative

# Fewer pieces are kept where more of them gain less than this share.
_WORTH = 1e-4
# Steps are drawn by rejection and harder to explain: they must gain more.
_WORTH_STEPS = 0.01
_BARS = (0.5, 0.95, 0.99)
_WIDTH = 30
_POINTS = 60
_LARGEST_POWER = 700


@dataclass(frozen=True)
class Utility:
    """What an analyst gets: moments of the error, its 95 % bar, and the probability of every goal."""

    variance: float
    mean_abs: float
    within_95: float
    reached: tuple[tuple[Goal, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Design:
    """A noise that was chosen, with what it costs and what it gives.

    `loss` is the privacy loss of one use, `total` that of all queries together; both are upper bounds.
    """

    noise: IntegerNoise
    loss: PrivacyLoss
    total: PrivacyLoss
    task: Task

    @cached_property
    def utility(self) -> Utility:
        """What an analyst gets; computed when first asked for."""
        noise, goals = self.noise, self.task.goals
        reached = tuple((goal, float(noise.within(goal.within)) ** goal.cells) for goal in goals)
        return Utility(noise.variance(), noise.mean_abs(), noise.quantile_abs(0.95), reached)

    @property
    def point(self) -> tuple[float, float] | None:
        """The epsilon and delta that were asked for or found, where there is a delta."""
        task = self.task
        if task.epsilon is not None and task.delta:
            return float(task.epsilon), float(task.delta)
        if task.minimise[0] == "epsilon" and task.minimise[1]:
            return self.total.epsilon_at(task.minimise[1]), float(task.minimise[1])
        return None

    @property
    def queries(self) -> int:
        """How many queries the total covers."""
        return self.task.queries

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form; null means without bound."""
        together = {
            "epsilon": finite(self.total.epsilon),
            "zeta_at_most": finite(times_up(self.loss.zeta, self.queries)),
        }
        if self.point is not None:
            epsilon, delta = self.point
            together |= {"epsilon_at_delta": epsilon, "delta": delta}
            together["chance_of_more"] = self.total.above(epsilon)
        return {
            "noise": self.noise.to_dict(),
            "queries": self.queries,
            "one": {"epsilon": finite(self.loss.epsilon), "zeta": finite(self.loss.zeta)},
            "all": together,
            "variance": self.utility.variance,
            "mean_abs": self.utility.mean_abs,
            "within_95": self.utility.within_95,
            "reached": [{"goal": str(goal), "probability": chance} for goal, chance in self.utility.reached],
            "why": self.why,
            "alternatives": [
                {
                    "name": other.name,
                    "noise": other.noise.to_dict(),
                    "measure": other.measure,
                    "value": finite(other.value),
                    "chosen": finite(other.chosen),
                }
                for other in self.alternatives
            ],
        }

    @cached_property
    def alternatives(self) -> tuple[Alternative, ...]:
        """The standard noises at the same price, or with the same accuracy; computed when first asked for."""
        from .alternatives import standard_noises

        return standard_noises(self.noise, self.task)

    @property
    def why(self) -> str:
        """The reason for the choice in one sentence."""
        if isinstance(self.noise, StaircaseNoise):
            shape = "Steps"
        elif self.task.is_pure:
            several = len(self.task.shifts) > 1 and max(self.task.shifts) > 1
            return "For a worst-case budget the geometric noise is the best " + (
                "of those considered where several numbers move." if several else "there is."
            )
        else:
            pieces = len(getattr(self.noise, "rates", ()))
            if pieces == 1:
                return "No shape of more pieces does better here than the geometric noise."
            shape = f"{pieces} pieces"
        reasons: list[str] = []
        for other in sorted(self.alternatives, key=lambda other: other.chosen < other.value, reverse=True):
            gain = 1 - other.chosen / other.value if other.value else 0.0
            if gain >= 0 and not reasons:
                reasons.append(
                    f"{shape} bring {other.measure} {gain:.1%} below that of the {other.name} noise"
                )
            elif gain < 0:
                reasons.append(
                    f"the {other.name}'s, which has no worst-case guarantee, would be {-gain:.1%} lower still"
                )
        return "; ".join(reasons) + "."

    def explain(self) -> str:
        """Say in plain words what an analyst sees and what a person in the data is promised."""
        return explanation(self)

    def plot(self) -> Any:
        """Draw the noise beside the standard one, the chance of each error, and delta(epsilon)."""
        return picture(self)

    def __repr__(self) -> str:
        total, point = self.total, self.point
        worst = f"epsilon {upper_figure(total.epsilon)}" if total.epsilon < inf else "no bound on epsilon"
        promised = (
            "" if point is None else f"epsilon {upper_figure(point[0])} at delta {upper_figure(point[1])}, "
        )
        return (
            f"<design for {self.queries} queries: {self.noise!r}, 95 % within ±{self.utility.within_95:g}; "
            f"all together {promised}{worst} in the worst case>"
        )


def design(
    *,
    epsilon: Real | None = None,
    delta: Real | None = None,
    zeta: Real | None = None,
    goals: Sequence[Goal] = (),
    within: Real | None = None,
    probability: Real = 0.95,
    cells: int = 1,
    queries: int = 1,
    minimise: str | tuple[str, Real] | None = None,
    max_epsilon: Real | None = None,
    pieces: int = 8,
    break_point: int | None = None,
    sensitivity: int | tuple[int, ...] = 1,
    steps: bool = True,
) -> Design:
    """Choose the noise with the least error for a budget, or with the least cost for an accuracy.

    A budget is `epsilon`, or `epsilon` with `delta`, or `zeta`, for all `queries` together. An accuracy is
    `within` with `probability` (and `cells` answers at once), or several `goals`. Given both, the error is
    minimised among noises that keep both. `break_point` fixes the first break. `steps` allows a staircase
    for one sensitivity above 1; without it the noise also fits cells that share the sensitivity. The same
    arguments always give the same answer on one machine; on another processor, whose floats round otherwise,
    a noise may be found that is as good to within half a per cent.

    >>> design(epsilon=0.5).noise
    PiecewiseGeometric(rates=('0.5',))
    >>> chosen = design(epsilon=1, delta=1e-6, queries=10, pieces=2)
    >>> len(chosen.noise.rates), chosen.utility.variance < 180, chosen.total.epsilon_at(1e-6) <= 1
    (2, True, True)
    """
    return _designed(
        read_task(
            epsilon=epsilon,
            delta=delta,
            zeta=zeta,
            goals=goals,
            within=within,
            probability=probability,
            cells=cells,
            queries=queries,
            minimise=minimise,
            max_epsilon=max_epsilon,
            pieces=pieces,
            break_point=break_point,
            sensitivity=sensitivity,
            steps=steps,
        )
    )


@lru_cache(maxsize=128)
def _designed(task: Task) -> Design:
    with working("Searching for the noise"):
        best = _least_quantile(task) if task.minimise[0] == "quantile" else _best(task)
    if best is None:
        from .unreachable import unreachable

        raise unreachable(task, lambda other: _best(other))
    checked = best if best.task == task else certify(best.noise, task)
    assert checked is not None
    return Design(checked.noise, checked.loss, checked.total, task)


@lru_cache(maxsize=128)
def _best(task: Task) -> Certified | None:
    """Return the best of all certified candidates."""
    best = certify(plain(task), task) if task.has_budget else None
    for shape in _shapes(task):
        candidate = fitted(shape, task)
        if candidate is not None and (best is None or candidate.value < best.value * (1 - _WORTH)):
            best = candidate
    for stairs in staircases(task):
        if best is None or stairs.value < best.value * (1 - _WORTH_STEPS):
            best = stairs
    return best if best is not None or not task.has_budget else _most_accurate(task)


def _shapes(task: Task) -> Iterator[NoiseShape]:
    """Give shapes worth fitting, the likeliest first; one piece needs no search."""
    yield one_piece(task)
    if task.pieces > 1 and not task.is_pure:
        from .candidates import Finder

        yield from Finder(task).shapes()


def _most_accurate(task: Task) -> Certified | None:
    """Return the noise that misses one of the goals least, if it meets all: for goals at the very edge."""
    for goal in task.goals:
        best = _best(replace(task, goals=(), minimise=("outside", Fraction(goal.within))))
        checked = None if best is None else certify(best.noise, task)
        if checked is not None:
            return checked
    return None


def plain(task: Task) -> PiecewiseGeometric:
    """Return the geometric noise that spends the budget as a worst case."""
    budget = task.zeta if task.zeta is not None else task.epsilon
    assert budget is not None
    limits = [budget] if task.max_epsilon is None else [budget, task.max_epsilon]
    return PiecewiseGeometric((min(limits) / (task.queries * sum(task.shifts)),))


def _least_quantile(task: Task) -> Certified | None:
    """Return the noise with the least error bar: bring down the chance of a larger error, step by step."""
    level = task.minimise[1] or Fraction(0)
    best = _best(replace(task, minimise=("variance", None)))
    while best is not None and (bar := int(best.noise.quantile_abs(level))) > 0:
        better = _best(replace(task, minimise=("outside", Fraction(bar - 1))))
        if better is None or better.noise.quantile_abs(level) >= bar:
            # Among noises of this bar, the one that misses it least.
            last = _best(replace(task, minimise=("outside", Fraction(bar))))
            return best if last is None or last.noise.quantile_abs(level) > bar else last
        best = better
    return best


def explanation(design: Design) -> str:
    """Return what an analyst sees, what a person in the data is promised, and why this noise."""
    task = design.task
    lines = [f"The noise: {design.noise!r}", "", "What an analyst sees"]
    lines += _accuracy(design)
    lines += ["", "What a person in the data is promised"]
    lines += _promise(design, task)
    lines += ["", "Why this noise", f"  {design.why}"]
    for other in design.alternatives:
        bar = "#" * max(1, round(_WIDTH * min(other.value / max(other.chosen, 1e-300), 2) / 2))
        lines.append(f"  {other.name:<10} {other.value:>10.5g}  {bar}")
    if design.alternatives:
        lines.append(f"  {'chosen':<10} {design.alternatives[0].chosen:>10.5g}  {'#' * (_WIDTH // 2)}")
        lines.append(f"  ({design.alternatives[0].measure})")
    return "\n".join(lines)


def _accuracy(design: Design) -> list[str]:
    noise = design.noise
    bars = ", ".join(f"±{noise.quantile_abs(level):.0f} in {level:.0%}" for level in _BARS)
    lines = [
        f"  Every answer is the true number plus noise: within {bars} of all answers.",
        f"  The mean error is {noise.mean_abs():.3g}, the standard deviation {noise.std():.3g}.",
    ]
    lines += [f"  Asked: {goal}. Reached: {reached:.4f}." for goal, reached in design.utility.reached]
    return lines


def _promise(design: Design, task: Task) -> list[str]:
    total, queries = design.total, task.queries
    answers = f"all {queries} answers together" if queries > 1 else "the answer"
    lines = []
    if design.point is not None:
        epsilon, delta = design.point
        shown, small = upper_figure(epsilon), upper_figure(delta)
        more = upper_figure(total.above(epsilon), 2)
        lines += [
            f"  Anything {answers} may show is at most {_factor(epsilon)} times as likely with",
            f"  their row in the data as without it, plus {small} (epsilon {shown}, delta {small}).",
            f"  The odds change by more than that factor with probability {more}.",
        ]
    if total.epsilon < inf:
        worst, factor = upper_figure(total.epsilon), _factor(total.epsilon)
        lines.append(f"  In the worst case, with no exception: epsilon {worst}, a factor {factor}.")
    alone = f" ({upper_figure(design.loss.zeta)} for one answer)" if queries > 1 else ""
    if upper_figure(total.zeta) != upper_figure(total.epsilon):
        lines.append(f"  On average over the noise: zeta {upper_figure(total.zeta)}{alone}.")
    return lines


def _factor(epsilon: float) -> str:
    """Return exp(epsilon) in three digits, rounded up, or in words where no float is as large."""
    return upper_figure(exp(epsilon), 3) if epsilon < _LARGEST_POWER else f"exp({upper_figure(epsilon)})"


def picture(design: Design) -> Any:
    """Return the Matplotlib figure of a design beside the standard noises."""
    import numpy as np

    from dovetail.plots.design import design as draw

    noises = {"chosen": design.noise, **{other.name: other.noise for other in design.alternatives}}
    top = int(max(noise.quantile_abs(0.99) for noise in noises.values())) + 1
    values = np.arange(-top, top + 1)
    sizes = np.arange(0, top + 1)
    totals = {
        name: privacy_loss(noise, sensitivity=design.task.shifts).compose(design.queries)
        for name, noise in noises.items()
    }
    floor = float(design.task.delta or 1e-9) / 100
    reach = max(total.epsilon_at(floor) for total in totals.values())
    epsilons = np.linspace(0, reach, _POINTS)
    return draw(
        values=values,
        pmfs={name: np.asarray(noise.pmf(values)) for name, noise in noises.items()},
        breaks=getattr(design.noise, "breaks", ()),
        sizes=sizes,
        misses={name: 1 - np.asarray(noise.within(sizes)) for name, noise in noises.items()},
        epsilons=epsilons,
        deltas={name: [total.delta(float(e)) for e in epsilons] for name, total in totals.items()},
        least_delta=floor,
        target=design.point,
    )
