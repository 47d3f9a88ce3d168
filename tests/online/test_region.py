"""Masks over some axes of a region, from the meaning of its factors."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from dovetail.errors import InvalidParameter
from dovetail.online import Region

SHAPE = (2, 3, 4)
SINGLE, MIXED = [True, False], np.arange(12).reshape(4, 3) % 5 < 2


def test_a_mask_over_axes_has_the_factors_about_them_and_is_none_where_one_is_cut() -> None:
    region = Region.of(SHAPE, ([0], SINGLE), ([2, 1], MIXED))
    assert region.axes == (0, 1, 2)
    for size in range(4):
        for axes in combinations(range(3), size):
            found = region.over(axes)
            if len({1, 2} & set(axes)) == 1:
                assert found is None
                continue
            expected = np.ones([SHAPE[axis] for axis in axes], bool)
            for place in np.ndindex(*expected.shape):
                at = dict(zip(axes, place, strict=True))
                expected[place] = (0 not in at or SINGLE[at[0]]) and (1 not in at or MIXED[at[2], at[1]])
            assert found is not None
            assert np.array_equal(found, expected)
            assert np.array_equal(region.over(axes), expected)


def test_a_region_without_factors_is_everything() -> None:
    whole = Region.of(SHAPE)
    assert whole.axes == ()
    assert whole.dense().all()
    assert whole.over(()).shape == ()  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "factors",
    [[([0], [True])], [([0, 1], np.ones((3, 2)))], [([0], SINGLE), ([0, 1], np.ones((2, 3)))]],
)
def test_factors_fit_their_axes_and_share_none(factors) -> None:
    with pytest.raises(InvalidParameter, match="factors"):
        Region.of(SHAPE, *factors)
