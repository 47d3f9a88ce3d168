"""The mechanisms that the paper sets side by side, under the names of its two settings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import dovetail as dv

Role = Literal["mixture", "published", "equal", "relaxed"]


@dataclass(frozen=True, slots=True)
class Mechanism:
    """An integer noise with its place in a comparison."""

    family: str
    role: Role
    noise: dv.noise.IntegerNoise
    label: str

    @property
    def name(self) -> str:
        """A short name for tables."""
        return f"{self.family}, {self.label}"

    @property
    def linestyle(self) -> str:
        """Solid for mixtures, dashed at the published equal budget, dotted when relaxed."""
        return {"mixture": "-", "published": "--", "equal": "-.", "relaxed": ":"}[self.role]


@dataclass(frozen=True, slots=True)
class Setting:
    """A pair of mixtures and the budgets that the paper gives to the standard mechanisms beside them."""

    name: str
    break_point: int
    inner: str
    outer: str
    published: str
    relaxed: str

    def geometric_mixture(self) -> Mechanism:
        """Return the geometric mixture."""
        noise = dv.GeometricMixture(self.inner, self.outer, self.break_point)
        return Mechanism("geometric mixture", "mixture", noise, self._parameters)

    def laplace_mixture(self) -> Mechanism:
        """Return the Laplace mixture, rounded to integers as in the paper."""
        noise = dv.LaplaceMixture(self.inner, self.outer, self.break_point).rounded()
        return Mechanism("Laplace mixture", "mixture", noise, self._parameters)

    def mixtures(self) -> tuple[Mechanism, ...]:
        """Return both mixtures."""
        return self.geometric_mixture(), self.laplace_mixture()

    def standards(self, epsilon: str, role: Role) -> tuple[Mechanism, ...]:
        """Return the geometric and the rounded Laplace mechanism at one epsilon."""
        return geometric(epsilon, role), laplace(epsilon, role)

    def compared(self) -> tuple[Mechanism, ...]:
        """Return the six mechanisms of the paper's figures."""
        equal = self.standards(self.published, "published")
        return (*self.mixtures(), *equal, *self.standards(self.relaxed, "relaxed"))

    def truly_equal(self) -> tuple[Mechanism, ...]:
        """Return the standard mechanisms whose exact zeta is that of their mixture."""
        return _truly_equal(self)

    def all(self) -> tuple[Mechanism, ...]:
        """Return everything that is simulated for this setting."""
        return (*self.compared(), *self.truly_equal())

    @property
    def _parameters(self) -> str:
        return f"c={self.break_point}, ε={self.inner}, rε={self.outer}"


def geometric(epsilon: str, role: Role) -> Mechanism:
    """Return the standard geometric mechanism."""
    return Mechanism("geometric", role, dv.Geometric(epsilon), f"ε={epsilon}")


def laplace(epsilon: str, role: Role) -> Mechanism:
    """Return the standard Laplace mechanism, rounded to integers."""
    return Mechanism("Laplace", role, dv.Laplace(epsilon).rounded(), f"ε={epsilon}")


@cache
def _truly_equal(setting: Setting) -> tuple[Mechanism, ...]:
    found = []
    for mixture, kind, make in zip(
        setting.mixtures(), ("geometric", "rounded_laplace"), (geometric, laplace), strict=True
    ):
        zeta = dv.privacy_loss(mixture.noise).zeta
        found.append(make(f"{dv.privacy.equivalent_epsilon(kind, zeta):.6f}", "equal"))
    return tuple(found)


FIVE = Setting("c5", 5, "1/5", "1", "0.328", "0.5")
SIX = Setting("c6", 6, "1/10", "1", "0.257", "0.45")
SETTINGS = (FIVE, SIX)
