"""Response curves as whole numbers out of 2^64, so that a test is one exact comparison of random bits.

A table lists S at consecutive places: it begins with 2^64, which is certainty, never rises, and ends with a
value of at least 2^-40, which then holds for ever. Whoever prices a curve prices its table, not its formula.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1, inf, log, log1p, sqrt

from flint import arb

from dovetail.errors import InvalidParameter
from dovetail.exact import ball, precision, refined
from dovetail.exact.bisection import least_whole
from dovetail.noise import IntegerNoise

WHOLE = 1 << 64
FLOOR = 1 << 24
MOST_ENTRIES = 1 << 18
_FACTOR_BITS = 128
# A table aims a little below its cost, so that the cost holds after every rounding.
_MARGIN = 1e-9

Table = tuple[int, ...]


def exponential(rate: Fraction) -> Table:
    """Return min(1, exp(-rate·t)) for t >= 0; no step is steeper than `rate`, exactly.

    >>> exponential(Fraction(10))[:2] == (2**64, -(-(2**64) * 4539992976248485154 // 10**23))
    True
    """
    _long_enough("rate", rate, float(rate))
    with precision(_FACTOR_BITS + 64):
        scaled = (-ball(rate)).exp() * (1 << _FACTOR_BITS)
        factor = _rounded_up(scaled)
    table = [WHOLE]
    while table[-1] > FLOOR:
        table.append(max(-(-table[-1] * factor >> _FACTOR_BITS), FLOOR))
    return tuple(table)


def even_renyi(cost: Fraction, order: Fraction) -> Table:
    """Return the steepest table on which every step costs at most `cost` in Rényi divergence of `order`."""
    target, power = float(cost) * (1 - _MARGIN), float(order) - 1
    # Far out, and where the cost is small, a step falls by about the square root of 2·cost/order.
    _long_enough("cost", cost, sqrt(2 * target / float(order)))
    table = [WHOLE]
    fall = target
    while table[-1] > FLOOR:
        if len(table) > MOST_ENTRIES:
            raise InvalidParameter("cost", cost, f"larger: the curve passes {MOST_ENTRIES} entries")
        chance = table[-1] / WHOLE
        fall = _steepest(chance, target, power, fall)
        # Rounding up makes the step cheaper.
        below = int(Fraction(chance * exp(-fall)) * WHOLE) + 1
        table.append(max(min(below, table[-1] - 1), FLOOR))
    return tuple(table)


def tails(noise: IntegerNoise) -> tuple[Table, int]:
    """Return P(Y >= t), and the last place where the table is 2^64: the test of the textbooks.

    Such a curve is certain only far below its threshold, so it promises little; it is here to be compared.
    """
    if _tail(noise, MOST_ENTRIES // 2) > FLOOR:
        raise InvalidParameter("noise", noise, "narrower: its response curve would be too long")
    reach = max(least_whole(1, lambda t: t > 0 and _tail(noise, t) <= FLOOR), 1)
    above = [_tail(noise, t) for t in range(1, reach + 1)]
    below = [WHOLE - value for value in reversed(above)]
    table = [WHOLE]
    for value in below + above:
        table.append(max(min(value, table[-1]), FLOOR))
    return tuple(table), -reach


def _tail(noise: IntegerNoise, k: int) -> int:
    """Return 2^64·P(Y >= k) for k >= 1, rounded up."""
    value = refined(lambda: noise.tail_ball(k, 128) * WHOLE, negligible=0)
    with precision(192):
        return max(_rounded_up(value), 1)


def _rounded_up(value: arb) -> int:
    """Return a whole number that is certainly not below the value, at the working precision."""
    whole = value.upper().ceil().unique_fmpz()
    assert whole is not None
    return int(whole)


def _long_enough(name: str, given: Fraction, slope: float) -> None:
    least = 40 * log(2) / MOST_ENTRIES
    if not slope >= least:
        allowed = f"at least {least:.2g}: smaller ones need a table of over {MOST_ENTRIES} entries"
        raise InvalidParameter(name, given, allowed, "Allow fewer updates or spend more.")


def _steepest(chance: float, cost: float, power: float, guess: float) -> float:
    """Return the largest fall x, nearly, for which a step from `chance` to chance·exp(-x) costs `cost`.

    The cost grows with x. Bracketed false position (Illinois); it ends on the side that costs no more.
    """
    low, high = 0.0, max(guess, cost)
    under, over = -cost, _cost(chance, high, power) - cost
    while over < 0:
        low, under, high = high, over, 2 * high
        over = _cost(chance, high, power) - cost
    for _ in range(100):
        if high - low <= 1e-13 * high or under == 0:
            break
        middle = high - over * (high - low) / (over - under) if over < inf else (low + high) / 2
        if not low < middle < high:
            middle = (low + high) / 2
        excess = _cost(chance, middle, power) - cost
        if excess <= 0:
            low, under, over = middle, excess, over / 2
        else:
            high, over, under = middle, excess, under / 2
    return low


def _cost(chance: float, fall: float, power: float) -> float:
    """Return the Rényi cost of a firing if every test has this pair of chances, as in `FiringMoments`."""
    lost = -chance * expm1(-fall)
    kept = 1 - chance + lost
    exponent = log1p(-chance) + power * log1p(-lost / kept) if chance < 1 else -inf
    return (log(chance) + power * fall - log(-expm1(exponent))) / power
