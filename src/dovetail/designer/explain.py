"""A design in plain words, in one screen."""

from __future__ import annotations

from math import exp, inf
from typing import TYPE_CHECKING

from .goal import Task

if TYPE_CHECKING:
    from .designs import Design

_BARS = (0.5, 0.95, 0.99)
_WIDTH = 30


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
        lines.append(f"  Whatever {answers} may show is with their row in the data at most")
        lines.append(
            f"  {exp(min(epsilon, 700)):.3g} times as likely as without it, plus {delta:g}"
            f" (epsilon {epsilon:.4g}, delta {delta:g})."
        )
        lines.append(
            f"  The odds change by more than that factor with probability {total.above(epsilon):.2g}."
        )
    if total.epsilon < inf:
        factor = exp(min(total.epsilon, 700))
        lines.append(
            f"  In the worst case, with no exception: epsilon {total.epsilon:.4g}, a factor {factor:.3g}."
        )
    alone = f" ({design.loss.zeta:.4g} for one answer)" if queries > 1 else ""
    lines.append(f"  On average over the noise: zeta {total.zeta:.4g}{alone}.")
    return lines
