"""What one release costs, in integers, so that a sum of charges is exact and never rounds down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, isinf
from typing import Any

from dovetail.check import Real, rational
from dovetail.errors import InvalidParameter
from dovetail.exact.decimals import exact_number, units_text
from dovetail.exact.figures import rounded

# One unit of epsilon, zeta and Rényi divergence; one unit of delta.
UNIT = Fraction(1, 10**9)
DELTA_UNIT = Fraction(1, 10**18)

# The Rényi orders that are kept. About a factor of 1.4 apart: between two neighbours at most 1.5 % is lost.
ORDERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)

_NAMES = tuple(map(str, ORDERS))
_NAMES_SET = frozenset(_NAMES)
_FIGURES = frozenset(("epsilon", "zeta", "renyi", "delta"))
_WHOLE = {int}

# libmpdec rounds exp and ln correctly, so a few operations at this precision err by less than `SLACK`.
ARITHMETIC = Context(prec=50, Emin=-999_999, Emax=999_999, traps=[])
SLACK = Decimal("1e-36")


@dataclass(frozen=True, slots=True)
class Charge:
    """What is promised of the privacy loss, but for a part of the outcomes of probability `delta`.

    That part is one of a decomposition: the release acts as one that keeps the figures with probability
    1 - delta, and otherwise as anything. It is not the chance that the loss exceeds epsilon.
    It is kept in whole units: `epsilon_units`, `zeta_units` and `renyi_units` (one entry per order of
    `ORDERS`) count 1e-9, `delta_units` counts 1e-18. None means without bound. `epsilon`, `zeta`,
    `renyi` and `delta` are the same as decimals. Charges of releases chosen one after another add up entry by
    entry.
    """

    epsilon_units: int | None
    zeta_units: int | None
    renyi_units: tuple[int | None, ...]
    delta_units: int = 0

    def __post_init__(self) -> None:
        curve = self.renyi_units
        if not isinstance(curve, tuple) or len(curve) != len(ORDERS):
            raise InvalidParameter("renyi", curve, f"a tuple of {len(ORDERS)} entries, one per order")
        figures: list[Any] = [self.epsilon_units, self.zeta_units, *curve]
        every = [*figures, self.delta_units]
        # Most charges are whole and bounded: told by the types and the least of them.
        if set(map(type, every)) == _WHOLE and min(every) >= 0:
            return
        _units("delta", self.delta_units)
        for name, value in (("epsilon", figures[0]), ("zeta", figures[1]), *_named(curve)):
            if value is not None:
                _units(name, value)

    @property
    def epsilon(self) -> Decimal | None:
        """The worst-case epsilon; None means without bound.

        >>> Charge.approximate("0.58402").epsilon
        Decimal('0.58402')
        """
        return None if self.epsilon_units is None else _decimal(self.epsilon_units * UNIT)

    @property
    def zeta(self) -> Decimal | None:
        """The paper's general privacy budget; None means without bound."""
        return None if self.zeta_units is None else _decimal(self.zeta_units * UNIT)

    @property
    def renyi(self) -> tuple[Decimal | None, ...]:
        """The Rényi divergence at each order of `ORDERS`; None means without bound."""
        return tuple(None if value is None else _decimal(value * UNIT) for value in self.renyi_units)

    @property
    def delta(self) -> Decimal:
        """The probability of the outcomes for which nothing is promised."""
        return _decimal(self.delta_units * DELTA_UNIT)

    @classmethod
    def zero(cls) -> Charge:
        """Return the charge of a release that reveals nothing.

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
        Decimal('0.333333334')
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

        Such a mechanism is dominated by one that reveals everything with probability delta and otherwise is
        randomised response with epsilon (Kairouz, Oh and Viswanath 2015), whose zeta is epsilon itself.

        >>> str(Charge.approximate("0.5", "1e-7"))
        'epsilon 0.5, delta 1e-7'
        """
        return cls.rounded_up(epsilon=epsilon, zeta=epsilon, renyi=None, delta=delta)

    def __add__(self, other: Charge) -> Charge:
        if not isinstance(other, Charge):
            return NotImplemented
        mine = (self.epsilon_units, self.zeta_units, *self.renyi_units)
        yours = (other.epsilon_units, other.zeta_units, *other.renyi_units)
        epsilon, zeta, *curve = [
            None if one is None or more is None else one + more for one, more in zip(mine, yours, strict=True)
        ]
        return Charge(epsilon, zeta, tuple(curve), self.delta_units + other.delta_units)

    @classmethod
    def largest(cls, *charges: Charge) -> Charge:
        """Return, entry by entry, the largest of several charges: it covers whichever of them occurs.

        >>> Charge.largest(Charge.approximate(1), Charge.approximate(2)).epsilon
        Decimal('2')
        """
        if len(charges) == 1:
            return charges[0]

        def top(values: tuple[int | None, ...]) -> int | None:
            known = [value for value in values if value is not None]
            return max(known, default=0) if len(known) == len(values) else None

        return cls(
            top(tuple(charge.epsilon_units for charge in charges)),
            top(tuple(charge.zeta_units for charge in charges)),
            tuple(top(values) for values in zip(*(charge.renyi_units for charge in charges), strict=True)),
            max(charge.delta_units for charge in charges),
        )

    def times(self, uses: int) -> Charge:
        """Return the charge of `uses` such releases, added up.

        >>> Charge.approximate(1).times(3).epsilon
        Decimal('3')
        """
        if isinstance(uses, bool) or not isinstance(uses, int) or uses < 0:
            raise InvalidParameter("uses", uses, "a whole number of at least 0")

        def scaled(value: int | None) -> int | None:
            return 0 if uses == 0 else None if value is None else value * uses

        return Charge(
            scaled(self.epsilon_units),
            scaled(self.zeta_units),
            tuple(map(scaled, self.renyi_units)),
            self.delta_units * uses,
        )

    def to_units(self) -> dict[str, Any]:
        """Return the form that a ledger keeps and hashes, in whole units; null means without bound."""
        return {
            "epsilon": self.epsilon_units,
            "zeta": self.zeta_units,
            "renyi": dict(zip(_NAMES, self.renyi_units, strict=True)),
            "delta": self.delta_units,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form: exact decimals as text; null means without bound.

        >>> Charge.approximate("0.58402").to_dict()["epsilon"]
        '0.58402'
        >>> Charge.from_dict(Charge.zero().to_dict()) == Charge.zero()
        True
        """
        shown = amounts_text(self)
        return {
            "epsilon": shown["epsilon"],
            "zeta": shown["zeta"],
            "renyi": dict(zip(_NAMES, map(_units_text, self.renyi_units), strict=True)),
            "delta": shown["delta"],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Charge:
        """Read what `to_dict` or `to_units` wrote: a text is a decimal, a whole number counts units."""
        if not isinstance(data, Mapping) or data.keys() != _FIGURES:
            raise InvalidParameter("charge", data, "a mapping with epsilon, zeta, renyi and delta")
        curve = data["renyi"]
        if not isinstance(curve, Mapping) or curve.keys() != _NAMES_SET:
            raise InvalidParameter("renyi", curve, f"a mapping with the orders {ORDERS}")
        entries = [curve[name] for name in _NAMES]
        if str not in {type(data["epsilon"]), type(data["zeta"]), type(data["delta"]), *map(type, entries)}:
            return cls(data["epsilon"], data["zeta"], tuple(entries), data["delta"])
        return cls(
            _read("epsilon", data["epsilon"]),
            _read("zeta", data["zeta"]),
            tuple([_read("renyi", value, order=name) for name, value in zip(_NAMES, entries, strict=True)]),
            _read("delta", data["delta"], DELTA_UNIT),
        )

    def figures(self) -> dict[str, str]:
        """Return its figures for reading: epsilon, zeta if it differs, and delta if there is one.

        >>> Charge.approximate("0.5", "1e-7").figures()
        {'epsilon': '0.5', 'delta': '1e-7'}
        """
        figures = {"epsilon": shown_units(self.epsilon_units), "zeta": shown_units(self.zeta_units)}
        if figures["zeta"] == figures["epsilon"]:
            del figures["zeta"]
        if self.delta_units:
            figures["delta"] = rounded(self.delta_units * DELTA_UNIT)
        return figures

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


def shown_units(units: int | None) -> str:
    return "without bound" if units is None else rounded(units * UNIT)


def _decimal(value: Fraction) -> Decimal:
    number = exact_number(value)
    assert isinstance(number, Decimal), "whole units are decimals"
    return number


def _read(name: str, value: Any, unit: Fraction = UNIT, order: str | None = None) -> Any:
    """Return the units of a decimal that was written as text; whatever else is checked as units."""
    if not isinstance(value, str):
        return value
    name = name if order is None else f"{name}[{order}]"
    units = rational(name, value) / unit
    if units.denominator != 1:
        raise InvalidParameter(name, value, f"a multiple of {float(unit):g}")
    return int(units)


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


def amounts_text(charge: Charge) -> dict[str, Any]:
    """Return epsilon, zeta and delta of a charge as `to_dict` does, without the curve beside them."""
    return {
        "epsilon": _units_text(charge.epsilon_units),
        "zeta": _units_text(charge.zeta_units),
        "delta": units_text(charge.delta_units, 18),
    }


def _units_text(units: int | None) -> str | None:
    return None if units is None else units_text(units, 9)
