"""How large is the error at equal privacy, in each sense of equal: `python -m benchmarks.equal_privacy`.

The noise of others is what they offer: the geometric (discrete Laplace) of OpenDP, diffprivlib and PyDP,
and the discrete Gaussian. All figures are computed, none is drawn.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import dovetail as dv

from .report import Row, show

TITLE = "Error at equal privacy"
MIXTURE = dv.GeometricMixture("0.2", 1, 5)


def rows() -> Iterator[Row]:
    """Compute and give one row after another."""
    yield from _equal_zeta()
    yield from _equal_worst_case()
    for queries in (1, 10, 100):
        yield from _equal_delta(queries)


def _equal_zeta() -> Iterator[Row]:
    """Compare the paper's mixture with geometric noise of the same average; its worst case is larger."""
    zeta = dv.privacy_loss(MIXTURE).zeta
    plain = dv.Geometric(zeta)
    ours, theirs = 1 - float(MIXTURE.within(5)), 1 - float(plain.within(5))
    case = f"zeta {zeta:.3f} (worst case 1 against {zeta:.3f}): outside ±5, geometric"
    yield Row(case, f"{ours:.1%}", f"{theirs:.1%}", theirs / ours)
    yield _variances(f"zeta {zeta:.3f}: variance, geometric", MIXTURE.variance(), plain.variance())


def _equal_worst_case() -> Iterator[Row]:
    chosen, plain = dv.design(epsilon=1), dv.Geometric(1)
    case = "worst case 1, one query: variance, geometric"
    yield _variances(case, chosen.utility.variance, plain.variance(), 0.999)


def _equal_delta(queries: int) -> Iterator[Row]:
    # As many pieces as prices take.
    chosen = dv.design(epsilon=1, delta="1e-6", queries=queries, pieces=16)
    rivals = {other.name: other.value for other in chosen.alternatives}
    for name in ("geometric", "Gaussian"):
        case = f"(1, 1e-6) after {queries} queries: variance, {name}"
        theirs = rivals.get(name, chosen.utility.variance)
        yield _variances(case, chosen.utility.variance, theirs, 0.995)


def _variances(case: str, ours: float, theirs: float, target: float | None = None) -> Row:
    return Row(case, f"{ours:,.4g}", f"{theirs:,.4g}", theirs / ours, target)


if __name__ == "__main__":
    sys.exit(0 if show(TITLE, rows()) else 1)
