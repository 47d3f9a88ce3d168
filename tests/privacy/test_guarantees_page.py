"""The figures on the guarantees page are those that the code computes."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from dovetail.noise import PiecewiseGeometric, TruncatedGeometric
from dovetail.privacy import delta_from_zeta, privacy_loss

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "guarantees.md").read_text(encoding="utf-8")


def test_the_table_is_what_the_script_prints():
    script = runpy.run_path(str(DOCS / "pictures" / "guarantees.py"))
    assert script["table"]() in PAGE


def test_the_other_figures_hold():
    assert "that is 0.037" in PAGE
    assert delta_from_zeta("0.328", 1) == pytest.approx(0.037, abs=5e-4)
    falling = PiecewiseGeometric(("2.444", "0.103"), (2,))
    assert "5.10, but 2 and 2 in two cells lose 9.78" in PAGE
    assert privacy_loss(falling, sensitivity=4).epsilon == pytest.approx(5.10, abs=0.01)
    assert privacy_loss(falling, sensitivity=(2, 2)).epsilon == pytest.approx(9.78, abs=0.01)
    assert "that delta is 0.0077" in PAGE
    assert privacy_loss(TruncatedGeometric("0.3", 10)).delta(1) == pytest.approx(0.0077, abs=5e-5)
