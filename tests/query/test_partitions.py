"""The cells of a column."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail.query.field import Field
from dovetail.query.partitions import Bins

PAY = Field("pay", "number")


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        (("0", "0.5", "1"), ("[0, 0.5)", "[0.5, 1)")),
        (("1000000.1", "1000000.2", "1000000.3"), ("[1000000.1, 1000000.2)", "[1000000.2, 1000000.3)")),
        (("0", "1/3", "1e25"), ("[0, 1/3)", "[1/3, 10000000000000000000000000)")),
        (("0", "1e-7", "2e-7"), ("[0, 1e-07)", "[1e-07, 2e-07)")),
    ],
)
def test_bins_are_called_by_their_edges(edges: tuple[str, ...], labels: tuple[str, ...]) -> None:
    assert Bins(PAY, tuple(map(Fraction, edges))).labels == labels


@given(
    st.integers(-(10**9), 10**9),
    st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=1000), min_size=1, max_size=9),
)
def test_no_two_bins_have_one_name(start: int, widths: list[Fraction]) -> None:
    made = Bins(PAY, tuple(accumulate(widths, initial=Fraction(start))))
    assert len(set(made.labels)) == made.cells
