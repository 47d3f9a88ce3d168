"""What may be spent in all, and the filters that keep it so when each question follows the last answer.

The argument for each filter, with references, is in `docs/guarantees.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache
from math import exp, floor, log1p
from typing import Any, Literal, TypeAlias

from dovetail.check import Real, choice, positive, probability, rational
from dovetail.errors import InvalidParameter
from dovetail.errors.remedies import Give
from dovetail.exact.bisection import bracket
from dovetail.exact.decimals import decimal_text, exact_number
from dovetail.exact.figures import rounded

from .charge import ARITHMETIC, DELTA_UNIT, ORDERS, SLACK, UNIT, Charge

Currency: TypeAlias = Literal["pure", "approximate", "zeta"]

# Each order owns a fixed share of delta, chosen before any answer; the orders that fit usual budgets
# (epsilon from 0.3 to 10) own more. Without shares, "some order fits" is not private.
WEIGHTS = tuple(Fraction(1, 12) if 4 <= order <= 96 else Fraction(1, 36) for order in ORDERS)


@dataclass(frozen=True, slots=True)
class Remaining:
    """What a budget can still pay, each figure rounded down.

    `epsilon` is the largest worst-case charge without delta that would be admitted next. For a pure or a
    zeta budget that is a difference. For an (epsilon, delta) budget the Rényi filter decides, and many small
    charges can go further than this one figure: k charges cost about the square root of k.
    `delta` is what is left for events (discovered keys, plans); `zeta` only belongs to a zeta budget.
    """

    epsilon: Decimal | Fraction
    delta: Decimal | Fraction = Decimal(0)
    zeta: Decimal | Fraction | None = None

    @classmethod
    def exactly(
        cls, epsilon: Fraction, delta: Fraction = Fraction(0), zeta: Fraction | None = None
    ) -> Remaining:
        """Return these figures as decimals; of a limit such as 1/3, what remains stays a fraction."""
        mean = None if zeta is None else exact_number(zeta)
        return cls(exact_number(epsilon), exact_number(delta), mean)

    def __str__(self) -> str:
        parts = [f"epsilon {rounded(Fraction(self.epsilon), down=True)}"]
        if self.zeta is not None:
            parts.insert(0, f"zeta {rounded(Fraction(self.zeta), down=True)}")
        if self.delta:
            parts.append(f"delta {rounded(Fraction(self.delta), down=True)}")
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"<remaining: {self}>"

    def to_dict(self) -> dict[str, str | None]:
        """Return a JSON-ready form: exact decimals as text."""
        return {
            "epsilon": decimal_text(Fraction(self.epsilon)),
            "delta": decimal_text(Fraction(self.delta)),
            "zeta": None if self.zeta is None else decimal_text(Fraction(self.zeta)),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Remaining:
        """Read what `to_dict` wrote.

        >>> left = Budget.pure("1/3").remaining(Charge.approximate("0.25"))
        >>> left.to_dict()["epsilon"], Remaining.from_dict(left.to_dict()) == left
        ('1/12', True)
        """
        mean = None if data["zeta"] is None else rational("zeta", data["zeta"])
        return cls.exactly(rational("epsilon", data["epsilon"]), rational("delta", data["delta"]), mean)


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit of the kind that the curator chose; made by `pure`, `approximate` or `zeta`."""

    currency: Currency
    epsilon_limit: Fraction
    delta_limit: Fraction = Fraction(0)
    zeta_limit: Fraction | None = None

    def __post_init__(self) -> None:
        choice("currency", self.currency, ("pure", "approximate", "zeta"))
        positive("epsilon", self.epsilon_limit, "Give a number such as 1.")
        if self.currency == "approximate":
            probability("delta", self.delta_limit, "Give far less than one over the number of people.")
        elif self.delta_limit != 0:
            raise InvalidParameter(
                "delta", self.delta_limit, "0 for this kind of budget", Give("budget:delta")
            )
        if self.currency == "zeta":
            positive("zeta", self.zeta_limit, "Give a number such as 0.5.")
        elif self.zeta_limit is not None:
            raise InvalidParameter("zeta", self.zeta_limit, "left out for this kind of budget")

    @classmethod
    def pure(cls, epsilon: Real) -> Budget:
        """Limit the sum of worst-case epsilon.

        >>> print(Budget.pure(1))
        epsilon at most 1 in the worst case
        >>> Budget.pure(1)
        Budget.pure('1')
        """
        return cls("pure", positive("epsilon", epsilon, "Give a number such as 1."))

    @classmethod
    def approximate(cls, epsilon: Real, delta: Real) -> Budget:
        """Limit the whole to (epsilon, delta)-differential privacy.

        With a person's data, anything becomes at most exp(epsilon) times as likely as without, plus delta.
        The loss of an answer may exceed epsilon more often than with probability delta (`loss.above` says
        how often); delta counts by how much.

        >>> print(Budget.approximate(1, "1e-6"))
        epsilon at most 1 at delta 1e-6
        """
        return cls(
            "approximate",
            positive("epsilon", epsilon, "Give a number such as 1."),
            probability("delta", delta, "Give far less than one over the number of people."),
        )

    @classmethod
    def zeta(cls, zeta: Real, *, max_epsilon: Real) -> Budget:
        """Limit the sum of zeta and, because zeta is only an average, the sum of worst-case epsilon too.

        >>> print(Budget.zeta("0.5", max_epsilon=2))
        zeta at most 0.5, and epsilon at most 2 in the worst case
        """
        worst = positive("max_epsilon", max_epsilon, "Zeta is an average: give the worst case you accept.")
        return cls("zeta", worst, zeta_limit=positive("zeta", zeta, "Give a number such as 0.5."))

    def allows(self, spent: Charge, charge: Charge) -> bool:
        """Return whether `charge` may follow `spent`; errs towards refusing.

        Valid when every charge is chosen after seeing all earlier answers.

        >>> budget, step = Budget.pure(1), Charge.approximate("0.5")
        >>> budget.allows(step, step), budget.allows(step + step, step)
        (True, False)
        """
        total = spent + charge
        if self.currency == "approximate":
            return self._approximate_allows(spent, total)
        if total.delta_units or not _fits(total.epsilon_units, self.epsilon_limit):
            return False
        return self.zeta_limit is None or _fits(total.zeta_units, self.zeta_limit)

    def _approximate_allows(self, spent: Charge, total: Charge) -> bool:
        """Apply the weighted Rényi filter, or the sum of pure epsilon.

        Half of delta pays for events, half for the tail of the loss. A first charge that needs more than
        half for its event closes the Rényi way for good: that choice is made before any answer is seen.
        """
        events, pure_fits = total.delta_units, _fits(total.epsilon_units, self.epsilon_limit)
        if _fits(events * 2, self.delta_limit, DELTA_UNIT):
            limits = renyi_limits(self.epsilon_limit, self.delta_limit)
            return pure_fits or any(
                sum_ is not None and sum_ <= limit
                for sum_, limit in zip(total.renyi_units, limits, strict=True)
            )
        chosen_before = spent == Charge.zero() or not _fits(
            spent.delta_units * 2, self.delta_limit, DELTA_UNIT
        )
        return chosen_before and pure_fits and _fits(events, self.delta_limit, DELTA_UNIT)

    def remaining(self, spent: Charge) -> Remaining:
        """Return what can still be paid; see `Remaining` for what that means.

        >>> print(Budget.pure(1).remaining(Charge.approximate("0.4")))
        epsilon 0.6
        """
        room = _room(spent.epsilon_units, self.epsilon_limit)
        if self.currency == "pure":
            return Remaining.exactly(Fraction(0) if spent.delta_units else room)
        if self.zeta_limit is not None:
            blocked = spent.delta_units > 0
            mean = Fraction(0) if blocked else _room(spent.zeta_units, self.zeta_limit)
            return Remaining.exactly(Fraction(0) if blocked else room, zeta=mean)
        events = spent.delta_units * DELTA_UNIT
        renyi_open = events * 2 <= self.delta_limit
        share = self.delta_limit / 2 if renyi_open and spent != Charge.zero() else self.delta_limit
        best = self._largest_next(spent) if renyi_open else room
        return Remaining.exactly(
            best if events <= self.delta_limit else Fraction(0), max(share - events, Fraction(0))
        )

    def _largest_next(self, spent: Charge) -> Fraction:
        """Find the largest randomised response that the filter admits, and let the filter check it."""
        limits = renyi_limits(self.epsilon_limit, self.delta_limit)
        guesses = [_room(spent.epsilon_units, self.epsilon_limit)]
        for order, limit, used in zip(ORDERS, limits, spent.renyi_units, strict=True):
            if used is not None and limit > used:
                guesses.append(_inverse_response(order, (limit - used) * UNIT))
        units = floor(max(guesses) / UNIT)
        step = 1
        while units > 0 and not self.allows(spent, Charge.approximate(units * UNIT)):
            units, step = units - step, step * 2
        return max(units, 0) * UNIT

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form; limits are exact, written as fractions.

        >>> Budget.from_dict(Budget.pure("0.1").to_dict()) == Budget.pure("0.1")
        True
        """
        return {
            "currency": self.currency,
            "epsilon": str(self.epsilon_limit),
            "delta": str(self.delta_limit),
            "zeta": None if self.zeta_limit is None else str(self.zeta_limit),
        }

    def in_decimals(self) -> dict[str, Any]:
        """Return the same with decimals for fractions: for readers outside, where a ledger compares the text.

        >>> Budget.approximate("0.25", "1e-6").in_decimals()
        {'currency': 'approximate', 'epsilon': '0.25', 'delta': '0.000001', 'zeta': None}
        """
        limits = {"epsilon": self.epsilon_limit, "delta": self.delta_limit, "zeta": self.zeta_limit}
        told = {name: None if limit is None else decimal_text(limit) for name, limit in limits.items()}
        return {"currency": self.currency, **told}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Budget:
        """Read what `to_dict` or `in_decimals` wrote; anything else is refused."""
        if not isinstance(data, Mapping) or set(data) != {"currency", "epsilon", "delta", "zeta"}:
            raise InvalidParameter("budget", data, "a mapping with currency, epsilon, delta and zeta")
        # A limit that its kind of budget does not have would be lost.
        match data:
            case {"currency": "pure", "delta": "0", "zeta": None}:
                return cls.pure(data["epsilon"])
            case {"currency": "approximate", "zeta": None}:
                return cls.approximate(data["epsilon"], data["delta"])
            case {"currency": "zeta", "delta": "0"}:
                return cls.zeta(data["zeta"], max_epsilon=data["epsilon"])
            case {"currency": "pure" | "approximate" | "zeta" as currency}:
                raise InvalidParameter("budget", data, f"only limits that a budget in {currency} has")
            case _:
                raise InvalidParameter("currency", data["currency"], "one of 'pure', 'approximate', 'zeta'")

    def __repr__(self) -> str:
        epsilon = _exact(self.epsilon_limit)
        if self.currency == "approximate":
            return f"Budget.approximate({epsilon}, {_exact(self.delta_limit)})"
        if self.zeta_limit is not None:
            return f"Budget.zeta({_exact(self.zeta_limit)}, max_epsilon={epsilon})"
        return f"Budget.pure({epsilon})"

    def __str__(self) -> str:
        epsilon = f"epsilon at most {rounded(self.epsilon_limit)}"
        if self.currency == "approximate":
            return f"{epsilon} at delta {rounded(self.delta_limit)}"
        if self.zeta_limit is not None:
            return f"zeta at most {rounded(self.zeta_limit)}, and {epsilon} in the worst case"
        return f"{epsilon} in the worst case"


@lru_cache(maxsize=256)
def renyi_limits(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return the largest Rényi sum admitted at each order, in units rounded down; it can be negative.

    A Rényi divergence of order a below the limit gives at most w_a·delta/2 beyond epsilon (Canonne, Kamath
    and Steinke 2020, Proposition 12).

    >>> renyi_limits(Fraction(1), Fraction(1, 10**6))[ORDERS.index(32)]
    595367134
    """
    context = ARITHMETIC

    def ln(value: Fraction) -> Decimal:
        return context.ln(context.divide(Decimal(value.numerator), Decimal(value.denominator)))

    limits = []
    for order, weight in zip(ORDERS, WEIGHTS, strict=True):
        share = ln(delta / 2 * weight * (order - 1))
        tail = context.multiply(Decimal(order), ln(Fraction(order - 1, order)))
        bonus = context.divide(context.subtract(share, tail), Decimal(order - 1))
        worst = context.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
        bound = context.subtract(context.add(worst, bonus), SLACK)
        limits.append(int(context.scaleb(bound, Decimal(9)).to_integral_value(ROUND_FLOOR)))
    return tuple(limits)


def _exact(value: Fraction) -> str:
    """Return a limit as a program would write it: a short decimal where that is exact."""
    short = rounded(value)
    return repr(short if Fraction(short) == value else decimal_text(value))


def _fits(units: int | None, limit: Fraction, unit: Fraction = UNIT) -> bool:
    """Return whether so many units are at most the limit, exactly; a unit is one over a whole number."""
    return units is not None and units * limit.denominator <= limit.numerator * unit.denominator


def _room(units: int | None, limit: Fraction) -> Fraction:
    return Fraction(0) if units is None else max(limit - units * UNIT, Fraction(0))


def _inverse_response(order: int, divergence: Fraction) -> Fraction:
    """Return about the epsilon whose randomised response has this Rényi divergence (a guess, not a bound)."""
    target = float(divergence)

    def too_much(epsilon: float) -> bool:
        gap = (log1p(exp((1 - 2 * order) * epsilon)) - log1p(exp(-epsilon))) / (order - 1)
        return epsilon + gap > target

    return Fraction(bracket(target, 2 * target + 2, too_much)[0])
