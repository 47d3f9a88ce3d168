"""Check a law that is drawn by refusing draws of another."""

from __future__ import annotations

from typing import Any

from dovetail.exact.balls import ball, precision
from dovetail.sampling.law import Law
from dovetail.sampling.rejection import Refusing

from .ratios import mass

_BITS = 256
_POINTS = 64


def wrong_refusals(law: Law, tables: Refusing) -> list[str]:
    """Proposal times chance of being kept must be the law, up to one factor, wherever it is looked at."""
    findings = []
    proposal = tables.inner.blocks.law
    target: object = tables.law
    if target != law or tables.law.proposal != proposal:
        findings.append("draws are refused for another law")
    reach = tables.inner.blocks.begin(tables.inner.depth)
    points = sorted({reach * number**2 // (2 * _POINTS) ** 2 for number in range(_POINTS)})
    with precision(_BITS):
        unit = _quotient(law, tables, 0)
        wrong = sum(not _same(_quotient(law, tables, k), unit) for k in points)
    if wrong:
        findings.append(f"the chance of being kept is wrong at {wrong} of {len(points)} values")
    if any(tables.law.refusal(k) < 0 for k in points):
        findings.append("a chance of being kept is above 1")
    return findings


def _quotient(law: Law, tables: Refusing, k: int) -> Any:
    kept = mass(tables.inner.blocks.law, k) * (-ball(tables.law.refusal(k))).exp()
    return kept / mass(law, k)


def _same(value: Any, other: Any) -> bool:
    return bool(value.overlaps(other)) and bool(abs(value - other) < other * ball(1) / (1 << 64))
