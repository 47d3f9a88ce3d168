"""Compare exact accounting with dp_accounting's PLD: `python -m benchmarks.accounting`.

Both find epsilon at delta = 1e-6 for 1,000 uses of the discrete Laplace, once at a rate on the peer's
grid and once at one that is not. What each is off by is judged by the exact binomial sum, so that the ratio
at equal accuracy can be read off.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import comb

import mpmath

from dovetail.noise import GeometricMixture, PiecewiseGeometric
from dovetail.privacy import PrivacyLoss, privacy_loss
from dovetail.privacy.composition import OneWay
from dovetail.privacy.dominating_pairs import shift_loss_of

from .report import Row, show, timed

TITLE = "Accounting: epsilon at delta = 1e-6 after many uses, and how far above the exact one"
RATES, USES, DELTA = ("0.1", "1/7"), 1000, "1e-6"


def median(task: Callable[[], object], repeats: int = 9) -> float:
    """Return the median time of a task in seconds, after one run to warm up."""
    task()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return sorted(times)[repeats // 2]


def truth(rate: str) -> float:
    """Return the exact epsilon from the binomial sum, in 40 digits."""
    exact = Fraction(rate)
    with mpmath.workdps(40):
        e, target = mpmath.mpf(exact.numerator) / exact.denominator, mpmath.mpf(DELTA)
        yes = 1 / (1 + mpmath.exp(-e))
        masses = [(2 * k - USES, comb(USES, k) * yes**k * (1 - yes) ** (USES - k)) for k in range(USES + 1)]
        low, high = mpmath.mpf(0), USES * e
        for _ in range(60):
            middle = (low + high) / 2
            beyond = mpmath.fsum(m * -mpmath.expm1(middle - x * e) for x, m in masses if x * e > middle)
            low, high = (middle, high) if beyond > target else (low, middle)
        return float(high)


def fresh(rates: tuple[str, ...], breaks: tuple[int, ...] = ()) -> PrivacyLoss:
    """Return the loss of a new noise at sensitivity 1, past every cache."""
    return PrivacyLoss(OneWay(((shift_loss_of(PiecewiseGeometric(rates, breaks), Fraction(1)), 1),)))


def ours(rate: str) -> float:
    """Go from the noise to epsilon with nothing kept between runs."""
    return fresh((rate,)).compose(USES).epsilon_at(DELTA)


def peer(rate: str, interval: float) -> float:
    """Do the same with the other library at a discretisation interval, by its tightest method."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dp_accounting.pld import privacy_loss_distribution as pld
    single = pld.from_discrete_laplace_mechanism(
        float(Fraction(rate)), value_discretization_interval=interval, use_connect_dots=True
    )
    return float(single.self_compose(USES).get_epsilon_for_delta(float(DELTA)))


def rows() -> Iterator[Row]:
    """Measure and give one row after another."""
    for rate in RATES:
        yield from _against_peer(rate)
    one = median(lambda: fresh(("0.2", "1"), (5,)), 200)
    yield Row("privacy_loss of a two-piece mixture, nothing kept", f"{one * 1e3:.3f} ms", "")
    noise = GeometricMixture("0.2", 1, 5)
    again = median(lambda: privacy_loss(noise), 200)
    yield Row("privacy_loss of a mixture seen before", f"{again * 1e3:.4f} ms", "")
    for name, rates, breaks in (("discrete Laplace", ("0.1",), ()), ("mixture", ("0.02", "0.1"), (50,))):
        million = median(lambda r=rates, b=breaks: fresh(r, b).compose(10**6).epsilon_at(DELTA), 3)
        yield Row(f"a million uses of the {name}", f"{million * 1e3:.1f} ms", "")


def _against_peer(rate: str) -> Iterator[Row]:
    """Compare time and excess over the exact epsilon at one rate, for three grids of the peer."""
    exact, found = truth(rate), ours(rate)
    for interval in (1e-2, 1e-3, 1e-4):
        value = peer(rate, interval)
        times = timed({"ours": lambda: ours(rate), "peer": lambda i=interval: peer(rate, i)}, rounds=5)
        yield Row(
            f"epsilon of {USES:,} uses at rate {rate}, dp_accounting at {interval:.0e}",
            f"{times['ours'] * 1e3:.2f} ms, {found - exact:.0e} above",
            f"{times['peer'] * 1e3:.1f} ms, {value - exact:.0e} above",
            times.ratio("peer", "ours"),
        )


if __name__ == "__main__":
    sys.exit(0 if show(TITLE, rows()) else 1)
