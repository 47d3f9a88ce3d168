"""A researcher's own mechanism beside Dovetail's: the same exact accounting from its probabilities.

The mechanism here is k-ary randomised response: tell the truth with probability p, else another value.

    python examples/own_mechanism.py
"""

from __future__ import annotations

from math import exp

import dovetail as dv

VALUES, EPSILON, DELTA = 5, 1.0, "1e-6"


def randomised_response(truth: int) -> list[float]:
    """Return the probability of each value that a person with this one may report."""
    others = 1 / (exp(EPSILON) + VALUES - 1)
    return [1 - (VALUES - 1) * others if value == truth else others for value in range(VALUES)]


def main() -> None:
    """Print the privacy of the own mechanism beside noise of the same worst case."""
    candidates = {
        "randomised response": dv.PrivacyLoss.from_pmfs(randomised_response(0), randomised_response(1)),
        "geometric": dv.privacy_loss(dv.Geometric(1)),
        "mixture 0.2, 1, 5": dv.privacy_loss(dv.GeometricMixture("0.2", 1, 5)),
    }
    print(f"{'mechanism':<22}{'worst case':>12}{'zeta':>8}{f'epsilon at {DELTA}, 100 uses':>32}")
    for name, loss in candidates.items():
        hundred = loss.compose(100).epsilon_at(DELTA)
        print(f"{name:<22}{loss.epsilon:>12.3f}{loss.zeta:>8.3f}{hundred:>32.2f}")


if __name__ == "__main__":
    main()
