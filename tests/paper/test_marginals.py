"""Releases of many histograms."""

from __future__ import annotations

import numpy as np
import pytest

import dovetail as dv
from dovetail.paper.marginals import _expected_largest, _marginals


def test_every_marginal_counts_every_record_once() -> None:
    for ways, histograms in ((1, 8), (2, 28)):
        release = _marginals(ways)
        assert release.histograms == histograms
        assert release.counts.sum() == histograms * 32_561
    # A combination that nobody has is a cell all the same.
    assert _marginals(2).counts.min() == 0
    assert len(_marginals(1).counts) == 9 + 16 + 7 + 15 + 6 + 5 + 2 + 42


def test_the_expected_largest_error_is_that_of_the_enumerated_law() -> None:
    noise, cells = dv.Geometric("0.5"), 40
    inside = np.asarray(noise.within(np.arange(200))) ** cells
    law = np.diff(np.concatenate([[0.0], inside]))
    assert _expected_largest(noise, cells) == pytest.approx(float(np.arange(200) @ law), rel=1e-9)
