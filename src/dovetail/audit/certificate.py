"""The certificate: every table rebuilt from rigorous enclosures, and the loss against what is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dovetail.errors import InvalidParameter
from dovetail.exact.decimals import finite
from dovetail.noise import IntegerNoise
from dovetail.privacy import privacy_loss
from dovetail.sampling.draws import sampler_for
from dovetail.sampling.law import Law
from dovetail.sampling.rejection import RejectionSampler
from dovetail.sampling.sampler import Sampler

from .ratios import RatioBounds, ratios
from .rejection import wrong_rejections
from .tables import check_tables

_FIGURES = (
    "thresholds",
    "cells",
    "blocks",
    "table_bytes",
    "worst_ratio",
    "charged_epsilon",
    "zeta",
    "charged_zeta",
)
_ROUNDING = 2.0**-50


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was checked of a sampler, and what was wrong; `holds` if nothing was.

    `worst_ratio` is an upper bound of |ln p(k)/p(k+1)| over all integers; `charged_epsilon` and
    `charged_zeta` are what a release of sensitivity 1 pays. `zeta` is the audit's own value where the law has
    exponential pieces. A law without them gets no bound on its tail: its `worst_ratio` is infinite.
    """

    noise: IntegerNoise
    thresholds: int
    cells: int
    blocks: int
    table_bytes: int
    worst_ratio: float
    charged_epsilon: float
    zeta: float | None
    charged_zeta: float
    findings: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Say whether every check passed."""
        return not self.findings

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready form, in which null means without bound, or not computed."""
        figures = {name: finite(getattr(self, name)) for name in _FIGURES}
        return {
            "noise": self.noise.to_dict(),
            "holds": self.holds,
            "findings": list(self.findings),
            **figures,
        }

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS: " + "; ".join(self.findings)
        return (
            f"{self.noise}: {self.thresholds} thresholds, {self.cells} cells, {self.blocks} blocks checked; "
            f"worst neighbour ratio {self.worst_ratio:.6g}, charged {self.charged_epsilon:.6g}; {verdict}"
        )


def sampler(noise: IntegerNoise) -> Certificate:
    """Check the tables that draws of this noise use, and its probabilities, against what a release pays.

    >>> from dovetail.noise import GeometricMixture
    >>> certificate = sampler(GeometricMixture(0.2, 1, 5))
    >>> certificate.holds, round(certificate.worst_ratio, 12)
    (True, 1.0)
    """
    if not isinstance(noise, IntegerNoise):
        fix = "Put a real-valued noise on a lattice first."
        raise InvalidParameter("noise", noise, "a noise on the integers", fix)
    return certify(noise, sampler_for(noise))


def certify(noise: IntegerNoise, tables: Sampler | RejectionSampler) -> Certificate:
    """Check given tables as those of a noise."""
    law: Law = noise
    findings: list[str] = []
    if isinstance(tables, RejectionSampler):
        findings += wrong_rejections(noise, tables)
        law, inner = tables.inner.blocks.law, tables.inner
    else:
        inner = tables
    count = check_tables(law, inner, findings)
    loss = privacy_loss(noise)
    bounds = ratios(noise, inner.blocks.begin(inner.depth))
    findings += _overdrawn(bounds, loss.epsilon, loss.zeta)
    return Certificate(
        noise=noise,
        thresholds=count.thresholds,
        cells=count.cells,
        blocks=count.blocks,
        table_bytes=tables.nbytes,
        worst_ratio=bounds.worst,
        charged_epsilon=loss.epsilon,
        zeta=bounds.zeta,
        charged_zeta=loss.zeta,
        findings=tuple(findings),
    )


def _overdrawn(found: RatioBounds, epsilon: float, zeta: float) -> list[str]:
    """Return what the probabilities lose beyond what is charged."""
    findings = list(found.findings)
    if found.least_worst > epsilon:
        findings.append(f"a neighbour ratio of {found.least_worst} exceeds the charged epsilon {epsilon}")
    # Both bounds are rounded up, perhaps not to the same float.
    if found.worst > epsilon * (1 + _ROUNDING):
        findings.append(f"no neighbour ratio is proved to stay within the charged epsilon {epsilon}")
    if found.least_zeta is not None and found.least_zeta > zeta:
        findings.append(f"zeta is at least {found.least_zeta}, above the charged {zeta}")
    return findings
