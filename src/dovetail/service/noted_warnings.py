"""Take note of the library's warnings for a reply; Python keeps its filters for all threads together."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

_one_at_a_time = Lock()


@contextmanager
def noted_warnings() -> Iterator[list[Warning]]:
    """Collect what is warned of inside; filled when it ends.

    >>> with noted_warnings() as noted:
    ...     warnings.warn("above the budget", stacklevel=1)
    >>> str(noted[0])
    'above the budget'
    """
    noted: list[Warning] = []
    with _one_at_a_time, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield noted
        noted.extend(each.message for each in caught if isinstance(each.message, Warning))
