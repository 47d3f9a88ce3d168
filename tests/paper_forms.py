"""The paper's closed forms for two pieces, in mpmath: as printed, and corrected where the print is wrong.

e is the paper's epsilon (inside), s its r·epsilon (outside), c its c_t. They are oracles: the package sums
over pieces instead. `docs/paper.md` explains each correction.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from oracles import mp, number


class LaplaceForms:
    """Eqs. 9 to 14; they hold as printed."""

    def __init__(self, e: Any, s: Any, c: Any) -> None:
        self.e, self.s, self.c = number(e), number(s), number(c)
        self.b2, self.b1 = 1 / self.e, 1 / self.s
        self.inside, self.outside = mp.exp(-self.c / self.b2), mp.exp(-self.c / self.b1)
        both = self.outside / (2 * self.b1) + self.inside / (2 * self.b2)
        p1, p2 = self.inside / (self.b2 * both), self.outside / (self.b1 * both)
        divisor = p1 * self.outside + p2 * (1 - self.inside)
        self.a1, self.a2 = p1 / divisor, p2 / divisor
        self.k = self.a1 / 2 * self.outside - self.a2 / 2 * self.inside

    def pdf(self, x: Any) -> Any:
        """Eq. 9."""
        x = abs(number(x))
        a, b = (self.a1, self.b1) if x > self.c else (self.a2, self.b2)
        return a / (2 * b) * mp.exp(-x / b)

    def cdf(self, x: Any) -> Any:
        """Eq. 11."""
        x = number(x)
        if x < -self.c:
            return self.a1 / 2 * mp.exp(x / self.b1)
        if x <= 0:
            return self.a2 / 2 * mp.exp(x / self.b2) + self.k
        if x <= self.c:
            return 1 - (self.a2 / 2 * mp.exp(-x / self.b2) + self.k)
        return 1 - self.a1 / 2 * mp.exp(-x / self.b1)

    def mean_abs(self) -> Any:
        """Eq. 12."""
        b1, b2, c = self.b1, self.b2, self.c
        return self.a2 * (b2 - self.inside * (b2 + c)) + self.a1 * self.outside * (b1 + c)

    def variance(self) -> Any:
        """Eq. 13."""
        b1, b2, c = self.b1, self.b2, self.c
        inner = b2**2 - self.inside * (b2**2 + b2 * c + c**2 / 2)
        return 2 * self.a2 * inner + 2 * self.a1 * self.outside * (b1**2 + b1 * c + c**2 / 2)

    def entropy(self) -> Any:
        """Eq. 14."""
        b1, b2, c, a1, a2 = self.b1, self.b2, self.c, self.a1, self.a2
        beyond = a1 * self.outside
        return (
            mp.log(2 * b2 / a2) * (1 - beyond)
            + mp.log(2 * b1 / a1) * beyond
            + a1 / b1 * self.outside * (b1 + c)
            - a2 / b2 * self.inside * (b2 + c)
            + a2
        )

    def algorithm_1(self, u: Any, *, printed: bool) -> Any:
        """The noise for a uniform u; the print lacks the minus sign of the last branch."""
        u = number(u)
        edge = self.a1 / 2 * self.outside
        if u < edge:
            return self.b1 * mp.log(2 * u / self.a1)
        if u > 1 - edge:
            return -self.b1 * mp.log(2 * (1 - u) / self.a1)
        if u <= mp.mpf(1) / 2:
            return self.b2 * mp.log(2 / self.a2 * (u - self.k))
        last = self.b2 * mp.log(2 / self.a2 * (1 - u - self.k))
        return last if printed else -last


class GeometricForms:
    """Eqs. 17 to 22, with A = exp(s) and B = exp(e)."""

    def __init__(self, e: Any, s: Any, c: int) -> None:
        self.e, self.s, self.c = number(e), number(s), c
        self.A, self.B = mp.exp(self.s), mp.exp(self.e)
        inner, outer = self.standard(self.B), self.standard(self.A)
        g1, g2 = 2 * inner / (inner + outer), 2 * outer / (inner + outer)
        divisor = g1 * self.A**-c + g2 * (1 - self.B**-c)
        self.a1, self.a2 = g1 / divisor, g2 / divisor
        self.k = self.a1 / 2 * self.A**-c - self.a2 / 2 * self.B**-c

    def standard(self, alpha: Any) -> Any:
        """The plain geometric probability at the break-point."""
        return (alpha - 1) / (alpha + 1) * alpha**-self.c

    def pmf(self, x: int) -> Any:
        """Eq. 17, which holds."""
        a, alpha = (self.a1, self.A) if abs(x) > self.c else (self.a2, self.B)
        return a * (alpha - 1) / (alpha + 1) * alpha ** -abs(x)

    def cdf(self, x: int) -> Any:
        """Eq. 19, corrected."""
        A, B, c = self.A, self.B, self.c
        if x < -c:
            return self.a1 * A**x / (1 + 1 / A)
        if x < 0:
            return self.a2 * B**x / (1 + 1 / B) + self.k
        if x <= c:
            return 1 - (self.a2 * B ** -(x + 1) / (1 + 1 / B) + self.k)
        return 1 - self.a1 * A ** -(x + 1) / (1 + 1 / A)

    def printed_cdf(self, x: int) -> Any:
        """Eq. 19 as printed."""
        A, B, c = self.A, self.B, self.c
        if x < -c:
            return self.a1 * A**-x / (A + 1)
        if x < 0:
            return self.a2 * B**-x / (B + 1) + self.k
        if x <= c:
            return 1 - self.a2 * B ** -(x + 1) / (B + 1) + self.k
        return 1 - self.a1 * A ** -(x + 1) / (A + 1)

    def outer_mean(self) -> Any:
        """What |Y| > c adds to E|Y|."""
        A, c = self.A, self.c
        return 2 * self.a1 * A**-c * ((c + 1) * A - c) / (A**2 - 1)

    def inner_mean(self) -> Any:
        """What |Y| <= c adds to E|Y|."""
        B, c = self.B, self.c
        return 2 * self.a2 * (B - B**-c * ((c + 1) * B - c)) / (B**2 - 1)

    def mean_abs(self) -> Any:
        """Eq. 20, corrected."""
        return self.outer_mean() + self.inner_mean()

    def printed_mean_abs(self) -> Any:
        """Eq. 20 as printed."""
        A, B, c = self.A, self.B, self.c
        outer = (c * A - c - 1) * A ** (c + 1) / (A**2 - 1)
        inner = ((c * B - c - 1) * B ** (c + 1) + B) / (B**2 - 1)
        return 2 * self.a1 * outer + 2 * self.a2 * inner

    def variance(self) -> Any:
        """Eq. 21, corrected."""
        c = self.c

        def beyond(q: Any) -> Any:
            square = (c + 1) ** 2 * q**2 - (2 * c**2 + 2 * c - 1) * q + c**2
            return q**-c * square / ((q - 1) ** 2 * (q + 1))

        return 2 * self.a1 * beyond(self.A) + 2 * self.a2 * (self.B / (self.B - 1) ** 2 - beyond(self.B))

    def printed_variance(self) -> Any:
        """Eq. 21 as printed."""
        A, B, c = self.A, self.B, self.c

        def square(q: Any) -> Any:
            return q ** (c + 1) * (c**2 * q**2 - (2 * c**2 + 2 * c - 1) * q + (c + 1) ** 2)

        outer = square(A) / (A - 1) ** 2
        inner = (B * (B + 1) - square(B)) / ((B - 1) ** 2 * (B + 1))
        return 2 * self.a1 * outer + 2 * self.a2 * inner

    def beyond(self) -> Any:
        """P(|Y| > c)."""
        return 2 * self.a1 * self.A**-self.c / (self.A + 1)

    def entropy(self) -> Any:
        """Eq. 22, corrected."""
        A, B, tail = self.A, self.B, self.beyond()
        return (
            -tail * mp.log(self.a1 * (A - 1) / (A + 1))
            - (1 - tail) * mp.log(self.a2 * (B - 1) / (B + 1))
            + self.s * self.outer_mean()
            + self.e * self.inner_mean()
        )

    def printed_entropy(self) -> Any:
        """Eq. 22 as printed."""
        A, B, c, a1, a2 = self.A, self.B, self.c, self.a1, self.a2
        square = B ** (c + 1) * (c**2 * B**2 - (2 * c**2 + 2 * c - 1) * B + (c + 1) ** 2)
        return (
            -a1 * mp.log(a1) * A**-c * mp.log((A - 1) / (A + 1))
            + 2 * a1 * (c * A - c - 1) * A ** (c + 1) / (A**2 - 1) * mp.log(A)
            + 2 * a2 * mp.log(B) * (B * (B + 1) - square) / ((B - 1) ** 2 * (B + 1))
            - a2 * mp.log(a2) * (1 - A**-c) * mp.log((B - 1) / (B + 1))
        )

    def algorithm_2(self, u: Any) -> int:
        """The noise for a uniform u, as printed, which holds."""
        u, a, b, c = number(u), 1 / self.A, 1 / self.B, self.c
        if u < self.a1 * a**c / (1 + a):
            return int(mp.ceil(mp.log((1 + a) * u / self.a1) / self.s))
        if u > 1 - self.a1 * a ** (c + 1) / (1 + a):
            return int(mp.ceil(-mp.log((1 - u) * (1 + a) / self.a1) / self.s - 1))
        if u <= self.a2 / (1 + b) + self.k:
            return int(mp.ceil(mp.log((1 + b) * (u - self.k) / self.a2) / self.e))
        return int(mp.ceil(-mp.log((1 - u - self.k) * (1 + b) / self.a2) / self.e - 1))


def plain_sums(e: Any, s: Any, c: int, last: int = 1500) -> dict[str, Any]:
    """Sum the two-piece geometric noise term by term: the referee between print and correction."""
    e, s = number(Fraction(e)), number(Fraction(s))
    weights = [mp.exp(-e * min(k, c) - s * max(k - c, 0)) for k in range(last)]
    total = 2 * mp.fsum(weights) - 1
    masses = [weight / total for weight in weights]
    return {
        "masses": masses,
        "mean_abs": 2 * mp.fsum(k * mass for k, mass in enumerate(masses)),
        "variance": 2 * mp.fsum(k * k * mass for k, mass in enumerate(masses)),
        "entropy": masses[0] * mp.log(masses[0]) - 2 * mp.fsum(mass * mp.log(mass) for mass in masses),
    }
