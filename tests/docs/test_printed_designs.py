"""What pages print of a design is what the designer says now."""

from __future__ import annotations

import re

import pytest

import dovetail as dv
from document_blocks import ROOT


@pytest.mark.parametrize(("page", "queries"), [("tutorial", 20), ("custodian", 30)])
def test_the_promise_that_a_page_prints_is_that_of_its_design(page: str, queries: int) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"^What a person in the data is promised\n((?:  .*\n)+)", text, re.MULTILINE)
    design = dv.design(within=20, queries=queries, delta="1e-6")
    assert printed in design.explain(), "print the design anew on this page"
    if page == "tutorial":
        guarantees = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
        epsilon = design.total.epsilon_at("1e-6")
        assert (
            f"(epsilon {epsilon:.3f}) it is {design.total.above(epsilon):.2g}".replace("e-0", "e-")
            in guarantees
        )
