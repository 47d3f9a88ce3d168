"""What one release costs, in integers, so that a sum of charges is exact and never rounds down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, isinf
from typing import Any

from dovetail.check import Real, rational
from dovetail.errors import InvalidParameter

# One unit of epsilon, zeta and Rényi divergence; one unit of delta.
UNIT = Fraction(1, 10**9)
DELTA_UNIT = Fraction(1, 10**18)

# The same in words, for whoever reads a charge as JSON.
UNITS = {"epsilon": "1e-9", "zeta": "1e-9", "renyi": "1e-9", "delta": "1e-18"}

# The Rényi orders that are kept. About a factor of 1.4 apart: between two neighbours at most 1.5 % is lost.
ORDERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)

# libmpdec rounds exp and ln correctly, so a few operations at this precision err by less than `SLACK`.
ARITHMETIC = Context(prec=50, Emin=-999_999, Emax=999_999, traps=[])
SLACK = Decimal("1e-36")


@dataclass(frozen=True, slots=True)
class Charge:
    """What is promised of the privacy loss, but for a part of the outcomes of probability `delta`.

    That part is one of a decomposition: the release acts as one that keeps the figures with probability
    1 - delta, and otherwise as anything. It is not the chance that the loss exceeds epsilon.
    `epsilon`, `zeta` and `renyi` (one entry per order of `ORDERS`) count units of 1e-9, `delta` units of
    1e-18. None means without bound. Charges of releases chosen one after another add up entry by entry.
    """

    epsilon: int | None
    zeta: int | None
    renyi: tuple[int | None, ...]
    delta: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.renyi, tuple) or len(self.renyi) != len(ORDERS):
            raise InvalidParameter("renyi", self.renyi, f"a tuple of {len(ORDERS)} entries, one per order")
        figures = (self.epsilon, self.zeta, *self.renyi)
        _units("delta", self.delta)
        if not all(value is None or (type(value) is int and value >= 0) for value in figures):
            for name, value in (("epsilon", self.epsilon), ("zeta", self.zeta), *_named(self.renyi)):
                if value is not None:
                    _units(name, value)

    @classmethod
    def zero(cls) -> Charge:
        """Return the charge of a release that tells nothing.

        >>> Charge.zero() + Charge.zero() == Charge.zero()
        True
        """
        return cls(0, 0, (0,) * len(ORDERS))

    @classmethod
    def rounded_up(
        cls, *, epsilon: Real, zeta: Real, renyi: Callable[[int], Real] | None, delta: Real = 0
    ) -> Charge:
        """Return the charge of these upper bounds, each rounded up to a whole unit; inf is allowed.

        A float means the decimal that it prints as; a computed bound is best given as a Fraction.
        `renyi` gives the bound at an order; without it the randomised response of `epsilon` stands in,
        which is the worst that a pure guarantee allows.

        >>> Charge.rounded_up(epsilon=1, zeta="1/3", renyi=None).zeta
        333333334
        """
        pure, mean = _whole("epsilon", epsilon), _whole("zeta", zeta)
        curve = [_whole("renyi", renyi(order)) for order in ORDERS] if renyi else response_curve(pure)
        if pure is not None:  # every other figure is at most the worst case
            mean = pure if mean is None else min(mean, pure)
            curve = [pure if value is None else min(value, pure) for value in curve]
        whole = ceil(rational("delta", delta) / DELTA_UNIT)
        return cls(pure, mean, tuple(curve), whole)

    @classmethod
    def approximate(cls, epsilon: Real, delta: Real = 0) -> Charge:
        """Return the charge of any mechanism known only to be (epsilon, delta)-private.

        Such a mechanism is, except on an event of probability delta, a post-processing of randomised
        response with epsilon (Kairouz, Oh and Viswanath 2015), whose zeta is epsilon itself.

        >>> str(Charge.approximate("0.5", "1e-7"))
        'epsilon 0.5, zeta 0.5, delta 1e-7'
        """
        return cls.rounded_up(epsilon=epsilon, zeta=epsilon, renyi=None, delta=delta)

    def __add__(self, other: Charge) -> Charge:
        if not isinstance(other, Charge):
            return NotImplemented
        mine, yours = (self.epsilon, self.zeta, *self.renyi), (other.epsilon, other.zeta, *other.renyi)
        epsilon, zeta, *curve = (
            None if one is None or more is None else one + more for one, more in zip(mine, yours, strict=True)
        )
        return Charge(epsilon, zeta, tuple(curve), self.delta + other.delta)

    @classmethod
    def largest(cls, *charges: Charge) -> Charge:
        """Return, entry by entry, the largest of several charges: it covers whichever of them occurs.

        >>> Charge.largest(Charge.approximate(1), Charge.approximate(2)).epsilon
        2000000000
        """

        def top(values: tuple[int | None, ...]) -> int | None:
            known = [value for value in values if value is not None]
            return max(known, default=0) if len(known) == len(values) else None

        return cls(
            top(tuple(charge.epsilon for charge in charges)),
            top(tuple(charge.zeta for charge in charges)),
            tuple(top(values) for values in zip(*(charge.renyi for charge in charges), strict=True)),
            max(charge.delta for charge in charges),
        )

    def times(self, uses: int) -> Charge:
        """Return the charge of `uses` such releases, added up.

        >>> Charge.approximate(1).times(3).epsilon
        3000000000
        """
        if isinstance(uses, bool) or not isinstance(uses, int) or uses < 0:
            raise InvalidParameter("uses", uses, "a whole number of at least 0")

        def scaled(value: int | None) -> int | None:
            return 0 if uses == 0 else None if value is None else value * uses

        return Charge(
            scaled(self.epsilon), scaled(self.zeta), tuple(map(scaled, self.renyi)), self.delta * uses
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form in whole units; null means without bound.

        >>> Charge.from_dict(Charge.zero().to_dict()) == Charge.zero()
        True
        """
        return {
            "epsilon": self.epsilon,
            "zeta": self.zeta,
            "renyi": {str(order): value for order, value in zip(ORDERS, self.renyi, strict=True)},
            "delta": self.delta,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Charge:
        """Read what `to_dict` wrote; anything else is refused."""
        if not isinstance(data, Mapping) or set(data) != {"epsilon", "zeta", "renyi", "delta"}:
            raise InvalidParameter("charge", data, "a mapping with epsilon, zeta, renyi and delta")
        curve = data["renyi"]
        if not isinstance(curve, Mapping) or set(curve) != {str(order) for order in ORDERS}:
            raise InvalidParameter("renyi", curve, f"a mapping with the orders {ORDERS}")
        return cls(data["epsilon"], data["zeta"], tuple(curve[str(order)] for order in ORDERS), data["delta"])

    def figures(self) -> dict[str, str]:
        """Return its figures for reading: epsilon, zeta and, where there is one, delta.

        >>> Charge.approximate("0.5", "1e-7").figures()
        {'epsilon': '0.5', 'zeta': '0.5', 'delta': '1e-7'}
        """
        found = {"epsilon": shown_units(self.epsilon), "zeta": shown_units(self.zeta)}
        return found | ({"delta": shown_number(self.delta * DELTA_UNIT)} if self.delta else {})

    def __str__(self) -> str:
        return ", ".join(f"{name} {figure}" for name, figure in self.figures().items())

    def __repr__(self) -> str:
        # Whole units and sixteen orders are for programs: a notebook shows what a person reads.
        return f"<charge: {self}>"


def response_curve(epsilon: int | None) -> list[int | None]:
    """Return, rounded up, the Rényi curve of randomised response with `epsilon` (in units of 1e-9).

    It bounds the curve of every mechanism with that pure guarantee.

    >>> response_curve(10**9)[0]
    735325665
    """
    if epsilon is None:
        return [None] * len(ORDERS)
    context, loss = ARITHMETIC, Decimal(epsilon).scaleb(-9, ARITHMETIC)

    def log1p_exp(exponent: Decimal) -> Decimal:
        return context.ln(context.add(1, context.exp(exponent)))

    curve: list[int | None] = []
    for order in ORDERS:
        gap = context.subtract(
            log1p_exp(context.multiply(loss, Decimal(1 - 2 * order))), log1p_exp(context.minus(loss))
        )
        bound = context.add(context.add(loss, context.divide(gap, Decimal(order - 1))), SLACK)
        units = int(context.scaleb(bound, Decimal(9)).to_integral_value(ROUND_CEILING))
        curve.append(min(units, epsilon))
    return curve


def shown_number(value: Fraction, *, down: bool = False) -> str:
    """Return six significant digits, rounded up (what is spent) or down (what remains).

    >>> shown_number(Fraction(1, 3)), shown_number(Fraction(1, 3), down=True)
    ('0.333334', '0.333333')
    """
    context = Context(prec=6, rounding=ROUND_FLOOR if down else ROUND_CEILING)
    number = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    return f"{number:f}" if number == 0 or -5 < number.adjusted() < 9 else f"{number:e}"


def shown_units(units: int | None) -> str:
    return "without bound" if units is None else shown_number(units * UNIT)


def _whole(name: str, value: Real) -> int | None:
    """Round an upper bound up to whole units; None for inf."""
    if isinstance(value, float) and isinf(value) and value > 0:
        return None
    number = rational(name, value)
    if number < 0:
        raise InvalidParameter(name, value, "a number of at least 0, or inf")
    return ceil(number / UNIT)


def _named(curve: tuple[int | None, ...]) -> list[tuple[str, int | None]]:
    return [(f"renyi[{order}]", value) for order, value in zip(ORDERS, curve, strict=True)]


def _units(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidParameter(name, value, "a whole number of units, at least 0")
