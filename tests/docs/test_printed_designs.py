"""What pages print of a design is what the designer says now."""

from __future__ import annotations

import re

import pytest

import dovetail as dv
from document_blocks import ROOT, alike

PROMISE = re.compile(r"^What a person in the data is promised\n((?:  .*(?:\n|$))+)", re.MULTILINE)


@pytest.mark.parametrize(("page", "queries"), [("tutorial", 20), ("custodian", 30)])
def test_the_promise_that_a_page_prints_is_that_of_its_design(page: str, queries: int) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    (printed,) = PROMISE.findall(text)
    design = dv.design(within=20, queries=queries, delta="1e-6")
    (made,) = PROMISE.findall(design.explain())
    # A factor is the exponential of a worst case, which is not what is minimised.
    assert alike(printed, made, relative=0.05), f"print the design anew on this page: {made}"
    if page == "tutorial":
        guarantees = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
        (printed,) = re.findall(r"\(epsilon \S+\) it is \d\S*\d", guarantees)
        epsilon = design.total.epsilon_at("1e-6")
        made = f"(epsilon {epsilon:.3f}) it is {design.total.above(epsilon):.2g}".replace("e-0", "e-")
        assert alike(printed, made, relative=0.01), made


def test_figures_are_alike_in_all_but_their_last_digits() -> None:
    assert alike("| eight | 160.1 | 1.59 |", "| eight | 160.2 | 1.60 |", relative=0.005)
    assert alike("with probability 1.3e-5.", "with probability 1.2e-5.", relative=0.01)
    assert alike("a factor 70.2,\n  zeta 1,234.5", "a factor 70.9, zeta 1,230.1", relative=0.01)
    assert not alike("| eight | 160.1 |", "| eight | 162.1 |", relative=0.005)
    assert not alike("all 20 answers", "all 21 answers", relative=0.5)
    assert not alike("epsilon 1.5", "zeta 1.5", relative=0.5)
    assert not alike("1.5 and 2", "1.5", relative=0.5)
