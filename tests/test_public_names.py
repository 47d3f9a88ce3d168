"""The names that `import dovetail` offers."""

from __future__ import annotations

import dovetail


def test_the_plain_list_names_exactly_what_is_loaded_on_demand() -> None:
    assert set(dovetail.__all__) == {*dovetail._HOME, *dovetail._PACKAGES, "__version__"}


def test_every_public_name_can_be_loaded() -> None:
    for name in dovetail.__all__:
        getattr(dovetail, name)
