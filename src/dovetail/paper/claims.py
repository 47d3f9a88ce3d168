"""The paper's numeric claims as data, and the verdict on each."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import isfinite
from operator import sub, truediv
from typing import Literal

Relation = Literal["near", "below", "above"]
Verdict = Literal["holds", "differs"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One published number: where it stands, what it says, how far off still counts as the same."""

    id: str
    item: str
    where: str
    says: str
    published: float
    tolerance: float = 0.0
    because: str = ""
    """Why the tolerance is wider than half a unit of the last printed digit."""
    relation: Relation = "near"
    verdict: Verdict = "holds"
    """What we found when this was written; a test compares every run with it."""
    how: str = ""
    why: str = ""

    def judge(self, ours: float) -> Verdict:
        """Say whether our number bears the claim out.

        >>> Claim("a", "fig1", "Fig. 1", "", published=0.5, tolerance=0.01).judge(0.505)
        'holds'
        >>> Claim("b", "fig1", "Fig. 1", "", published=0.5, relation="below").judge(0.5)
        'differs'
        """
        if not isfinite(ours):
            return "differs"
        bears_out = {
            "near": abs(ours - self.published) <= self.tolerance * (1 + 1e-12),
            "below": ours < self.published - self.tolerance,
            "above": ours > self.published + self.tolerance,
        }
        return "holds" if bears_out[self.relation] else "differs"

    @property
    def expected(self) -> str:
        """The published value with its tolerance, for people."""
        if self.relation != "near":
            return f"{'<' if self.relation == 'below' else '>'} {self.published:g}"
        return f"{self.published:g}" + (f" ± {self.tolerance:g}" if self.tolerance else "")


@dataclass(frozen=True, slots=True)
class Measured:
    """Our figure for a claim: exact, and where the paper simulated, from samples too.

    `chance` bounds from above the probability that samples of the exact distribution would lie as far from
    it as ours do; a value under `FALSE_ALARM` says that sampler and formula disagree.
    """

    exact: float
    sampled: float | None = None
    chance: float | None = None

    def minus(self, other: Measured) -> Measured:
        """Return the difference; it rests on two comparisons, so its chance is charged for both.

        >>> Measured(0.9, 0.91, 0.5).minus(Measured(0.5, 0.5, 0.1)).chance
        0.2
        """
        return self._joined(other, sub)

    def over(self, other: Measured) -> Measured:
        """Return the ratio, in the same way."""
        return self._joined(other, truediv)

    def _joined(self, other: Measured, by: Callable[[float, float], float]) -> Measured:
        exact = by(self.exact, other.exact)
        if self.sampled is None or other.sampled is None:
            return Measured(exact)
        chances = [chance for chance in (self.chance, other.chance) if chance is not None]
        chance = min(1.0, len(chances) * min(chances)) if chances else None
        return Measured(exact, by(self.sampled, other.sampled), chance)


# How often an honest sampler may be accused, per comparison.
FALSE_ALARM = 1e-9


@cache
def claims() -> dict[str, Claim]:
    """Return every claim by name, in the order of the paper.

    >>> claims()["fig3-epsilon"].published
    0.2894
    """
    text = files(__package__).joinpath("claims.toml").read_text(encoding="utf-8")
    listed = [Claim(**entry) for entry in tomllib.loads(text)["claim"]]
    return {claim.id: claim for claim in listed}
