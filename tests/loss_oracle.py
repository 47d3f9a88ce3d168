"""Privacy losses by plain enumeration in high precision, sharing no code with the package."""

from __future__ import annotations

import itertools
from fractions import Fraction
from math import gcd, lcm

import mpmath
from hypothesis import strategies as st

from dovetail.noise import PiecewiseGeometric

DIGITS = 50

# Every fraction of 1/20 to 3 with a denominator of at most 40, which a strategy of fractions finds slowly.
rates = st.sampled_from(
    sorted(
        {Fraction(n, d) for d in range(1, 41) for n in range(-(-d // 20), 3 * d + 1)},
        key=lambda x: (x.denominator, x),
    )
)
simple_rates = st.integers(1, 60).map(lambda n: Fraction(n, 20))


@st.composite
def geometric_noises(draw, most_pieces=3, slope=rates):
    pieces = draw(st.integers(1, most_pieces))
    slopes = draw(st.lists(slope, min_size=pieces, max_size=pieces))
    gaps = draw(st.lists(st.integers(1, 6), min_size=pieces - 1, max_size=pieces - 1))
    return PiecewiseGeometric(slopes, tuple(itertools.accumulate(gaps)))


def number(value) -> mpmath.mpf:
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


def potential(noise: PiecewiseGeometric, k: int) -> Fraction:
    total, start = Fraction(0), 0
    for rate, end in zip(noise.rates, (*noise.breaks, None), strict=True):
        stop = abs(k) if end is None else min(abs(k), end)
        total += rate * max(stop - start, 0)
        start = end
        if end is None or abs(k) <= end:
            break
    return total


def loss_atoms(noise: PiecewiseGeometric, shift: int) -> dict[Fraction, mpmath.mpf]:
    """Return {exact loss: mass}: every point up to where both tails are geometric, then closed sums."""
    reach = (noise.breaks[-1] if noise.breaks else 0) + shift + 1
    outer = noise.rates[-1]
    weights: dict[Fraction, mpmath.mpf] = {}

    def add(loss: Fraction, weight: mpmath.mpf) -> None:
        weights[loss] = weights.get(loss, mpmath.mpf(0)) + weight

    for k in range(-reach, reach + 1):
        here, there = potential(noise, k), potential(noise, k - shift)
        add(there - here, mpmath.exp(-number(here)))
    tail = mpmath.exp(-number(potential(noise, reach + 1))) / (1 - mpmath.exp(-number(outer)))
    add(-outer * shift, tail)
    add(outer * shift, tail)
    total = mpmath.fsum(weights.values())
    return {loss: weight / total for loss, weight in weights.items()}


def convolve(one: dict, two: dict) -> dict:
    result: dict = {}
    for (x, p), (y, q) in itertools.product(one.items(), two.items()):
        result[x + y] = result.get(x + y, mpmath.mpf(0)) + p * q
    return result


def delta(atoms: dict, epsilon) -> mpmath.mpf:
    e = number(epsilon)
    return mpmath.fsum(m * -mpmath.expm1(e - number(x)) for x, m in atoms.items() if number(x) > e)


def composed_delta(atoms: dict, uses: int, epsilon) -> mpmath.mpf:
    """Return delta of so many uses by a sum over a circle in the complex plane, in as many digits as are set.

    With P(z) = sum of mass·z^place, delta is the mean over |z| = r > 1 of P(z)^uses times the sum of
    z^-n·(1 - exp(epsilon - loss)) over the places n above epsilon. At equidistant points the mean is off by
    what lies that many places further out. On the circle through the saddle point few points matter.
    """
    below = lcm(*(x.denominator for x in atoms))
    least = min(atoms)
    gap = Fraction(gcd(*(int((x - least) * below) for x in atoms)), below)
    places = {int((x - least) / gap): m for x, m in atoms.items()}
    first = max(int((Fraction(epsilon) - uses * least) // gap) + 1, 0)

    def tilted(order):
        weights = {n: m * mpmath.exp(order * n) for n, m in places.items()}
        total = mpmath.fsum(weights.values())
        middle = mpmath.fsum(n * w for n, w in weights.items()) / total
        return total, middle, mpmath.fsum((n - middle) ** 2 * w for n, w in weights.items()) / total

    low, high = mpmath.mpf(0), mpmath.mpf(200)
    for _ in range(80):
        order = (low + high) / 2
        low, high = (order, high) if uses * tilted(order)[1] < first else (low, order)
    order = low + 1 / mpmath.sqrt(uses * tilted(low)[2])
    total, _, spread = tilted(order)
    points = 1 << int(64 * mpmath.sqrt(uses * spread) + 64 * max(places)).bit_length()
    found, step = mpmath.mpf(0), number(gap)
    excess = mpmath.exp(number(Fraction(epsilon) - uses * least - first * gap))
    for k in range(points // 2 + 1):
        turn = {n: mpmath.expjpi(mpmath.mpf(2 * (k * n % points)) / points) for n in places}
        base = mpmath.fsum(m * mpmath.exp(order * n) / total * turn[n] for n, m in places.items())
        if uses * mpmath.log(abs(base)) < -100:
            # The places have no common divisor, so after many uses there is one peak and nothing else.
            break
        back = mpmath.exp(-order) * mpmath.expjpi(-mpmath.mpf(2 * k) / points)
        rest = 1 / (1 - back) - excess / (1 - mpmath.exp(-step) * back)
        aim = mpmath.expjpi(-mpmath.mpf(2 * (k * first % points)) / points)
        found += (1 if k in (0, points // 2) else 2) * (base**uses * rest * aim).real
    return found / points * mpmath.exp(-order * first) * total**uses


def zeta(atoms: dict) -> mpmath.mpf:
    return mpmath.log1p(mpmath.fsum(m * mpmath.expm1(abs(number(x))) for x, m in atoms.items()))


def renyi(atoms: dict, order) -> mpmath.mpf:
    a = number(order) - 1
    return mpmath.log(mpmath.fsum(m * mpmath.exp(a * number(x)) for x, m in atoms.items())) / a


def mean(atoms: dict) -> mpmath.mpf:
    return mpmath.fsum(m * number(x) for x, m in atoms.items())


def never_below_and_close(bound: float, truth, relative: float = 1e-9, absolute: float = 1e-12) -> bool:
    """Tell whether a bound is not below the truth and hardly above it."""
    exact = mpmath.mpf(bound)
    return exact >= truth - mpmath.mpf("1e-40") and exact <= truth * (1 + mpmath.mpf(relative)) + absolute
