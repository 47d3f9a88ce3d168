"""Differentially private counts, histograms and sums, with noise shaped for the error you can live with.

Names are loaded when they are first used, so that `import dovetail` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# name -> the module that defines it; a test checks it against the imports below.
_HOME = {
    "Comparison": "designer",
    "Design": "designer",
    "Goal": "designer",
    "compare": "designer",
    "design": "designer",
    "DiscreteGaussian": "noise",
    "Staircase": "noise",
    "TruncatedGeometric": "noise",
    "TruncatedLaplace": "noise",
    "Geometric": "noise",
    "GeometricMixture": "noise",
    "Laplace": "noise",
    "LaplaceMixture": "noise",
    "PiecewiseGeometric": "noise",
    "PiecewiseLaplace": "noise",
    "DovetailError": "errors",
    "InvalidParameter": "errors",
    "GoalUnreachable": "errors",
    "InvalidQuery": "errors",
    "UnsupportedSQL": "errors",
    "MissingKeys": "errors",
    "MissingPrice": "errors",
    "BudgetExceeded": "errors",
    "UpdatesExhausted": "errors",
    "DataError": "errors",
    "LedgerError": "errors",
    "LedgerCorrupt": "errors",
    "LedgerBusy": "errors",
    "RequestConflict": "errors",
    "BudgetMismatch": "errors",
    "Budget": "privacy",
    "Charge": "privacy",
    "PrivacyLoss": "privacy",
    "privacy_loss": "privacy",
    "Column": "query",
    "Count": "query",
    "CountDistinct": "query",
    "Histogram": "query",
    "Linear": "query",
    "Lookup": "query",
    "Marginals": "query",
    "Maximum": "query",
    "Mean": "query",
    "Median": "query",
    "Minimum": "query",
    "Contributions": "query",
    "Quantiles": "query",
    "Ranges": "query",
    "Schema": "engines",
    "Source": "engines",
    "Std": "query",
    "Sum": "query",
    "Variance": "query",
    "Workload": "query",
    "Answer": "answers",
    "MarginalsAnswer": "answers",
    "RangeAnswer": "answers",
    "Plan": "answers",
    "Quote": "answers",
    "Session": "session",
    "connect": "client",
}
_PACKAGES = ("audit", "datasets", "designer", "errors", "ledger", "noise", "online", "privacy", "sampling")

# Written out, because type checkers only read a plain list.
__all__ = [
    "Answer",
    "Budget",
    "BudgetExceeded",
    "BudgetMismatch",
    "Charge",
    "Column",
    "Comparison",
    "Contributions",
    "Count",
    "CountDistinct",
    "DataError",
    "Design",
    "DiscreteGaussian",
    "DovetailError",
    "Geometric",
    "GeometricMixture",
    "Goal",
    "GoalUnreachable",
    "Histogram",
    "InvalidParameter",
    "InvalidQuery",
    "Laplace",
    "LaplaceMixture",
    "LedgerBusy",
    "LedgerCorrupt",
    "LedgerError",
    "Linear",
    "Lookup",
    "Marginals",
    "MarginalsAnswer",
    "Maximum",
    "Mean",
    "Median",
    "Minimum",
    "MissingKeys",
    "MissingPrice",
    "PiecewiseGeometric",
    "PiecewiseLaplace",
    "Plan",
    "PrivacyLoss",
    "Quantiles",
    "Quote",
    "RangeAnswer",
    "Ranges",
    "RequestConflict",
    "Schema",
    "Session",
    "Source",
    "Staircase",
    "Std",
    "Sum",
    "TruncatedGeometric",
    "TruncatedLaplace",
    "UnsupportedSQL",
    "UpdatesExhausted",
    "Variance",
    "Workload",
    "__version__",
    "audit",
    "compare",
    "connect",
    "datasets",
    "design",
    "designer",
    "errors",
    "ledger",
    "noise",
    "online",
    "privacy",
    "privacy_loss",
    "sampling",
]

if TYPE_CHECKING:
    from . import audit, datasets, designer, errors, ledger, noise, online, privacy, sampling
    from .answers import Answer, MarginalsAnswer, Plan, Quote, RangeAnswer
    from .client import connect
    from .designer import Comparison, Design, Goal, compare, design
    from .engines import Schema, Source
    from .errors import (
        BudgetExceeded,
        BudgetMismatch,
        DataError,
        DovetailError,
        GoalUnreachable,
        InvalidParameter,
        InvalidQuery,
        LedgerBusy,
        LedgerCorrupt,
        LedgerError,
        MissingKeys,
        MissingPrice,
        RequestConflict,
        UnsupportedSQL,
        UpdatesExhausted,
    )
    from .noise import (
        DiscreteGaussian,
        Geometric,
        GeometricMixture,
        Laplace,
        LaplaceMixture,
        PiecewiseGeometric,
        PiecewiseLaplace,
        Staircase,
        TruncatedGeometric,
        TruncatedLaplace,
    )
    from .privacy import Budget, Charge, PrivacyLoss, privacy_loss
    from .query import (
        Column,
        Contributions,
        Count,
        CountDistinct,
        Histogram,
        Linear,
        Lookup,
        Marginals,
        Maximum,
        Mean,
        Median,
        Minimum,
        Quantiles,
        Ranges,
        Std,
        Sum,
        Variance,
        Workload,
    )
    from .session import Session


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    elif name in _PACKAGES:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module 'dovetail' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
