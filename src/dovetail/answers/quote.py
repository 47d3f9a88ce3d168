"""Questions with their noise and their price; nothing has been touched yet."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dovetail.noise import IntegerNoise
from dovetail.privacy import Charge
from dovetail.query.canonical import Question

from .plan import Plan
from .threshold import Threshold


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the noise of its components and, where its keys are found out, the threshold."""

    question: Question
    noises: tuple[IntegerNoise, ...]
    threshold: Threshold | None = None

    def to_dict(self) -> dict[str, Any]:
        noises = [noise.to_dict() for noise in self.noises]
        found = {"question": self.question.to_dict(), "noise": noises}
        return found if self.threshold is None else found | {"threshold": self.threshold.least}


@dataclass(frozen=True, slots=True)
class Priced:
    """Questions with their noise and their price; nothing has been touched yet.

    `plan` is what pays, and then `charge` is zero; of a plan that is not open yet, `charge` is its price.
    """

    asked: tuple[Asked, ...]
    charge: Charge
    plan: Plan | None = None
    slots: int = 0

    def errors(self, level: Fraction) -> tuple[Fraction | None, ...]:
        """Return what the error of each answer stays within with probability `level`.

        None where that depends on the data, as the error of a mean does on the number of rows.
        """
        return tuple(each.question.measure.error(each.noises, 1 - level) for each in self.asked)
