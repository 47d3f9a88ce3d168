"""Compare exact accounting with dp_accounting's PLD: `python -m benchmarks.accounting`.

Both find epsilon at delta = 1e-6 for 1,000 uses of the discrete Laplace, once at a rate on the peer's
grid and once at one that is not. What each is off by is judged by the exact binomial sum, so that the ratio
at equal accuracy can be read off.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from fractions import Fraction
from math import comb

import mpmath

from dovetail.noise import GeometricMixture, PiecewiseGeometric
from dovetail.privacy import PrivacyLoss, privacy_loss
from dovetail.privacy.oneway import OneWay
from dovetail.privacy.pairs import shift_loss_of

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


def compare(rate: str) -> None:
    """Print both libraries' figures at one rate."""
    exact, found, seconds = truth(rate), ours(rate), median(lambda: ours(rate))
    print(f"epsilon at delta = {DELTA}, {USES} uses of the discrete Laplace at rate {rate}")
    print(f"  exact               {exact:.9f}")
    print(f"  dovetail            {found:.9f}   off by {found - exact:8.1e}   {seconds * 1e3:8.2f} ms")
    for interval in (1e-2, 1e-3, 1e-4):
        value, other = peer(rate, interval), median(lambda i=interval: peer(rate, i), 3)
        print(
            f"  dp_accounting {interval:.0e} {value:.9f}   off by {value - exact:8.1e}"
            f"   {other * 1e3:8.2f} ms   ratio {other / seconds:6.1f}x"
        )


def main() -> None:
    """Print the figures and the ratios."""
    for rate in RATES:
        compare(rate)
    one = median(lambda: fresh(("0.2", "1"), (5,)), 200)
    print(f"privacy_loss of a two-piece mixture, nothing kept   {one * 1e3:8.3f} ms")
    noise = GeometricMixture("0.2", 1, 5)
    again = median(lambda: privacy_loss(noise), 200)
    print(f"privacy_loss of a mixture seen before               {again * 1e3:8.3f} ms")
    for name, rates, breaks in (("discrete Laplace", ("0.1",), ()), ("mixture", ("0.02", "0.1"), (50,))):
        million = median(lambda r=rates, b=breaks: fresh(r, b).compose(10**6).epsilon_at(DELTA), 3)
        print(f"a million uses of the {name:<16}              {million * 1e3:8.1f} ms")


if __name__ == "__main__":
    main()
