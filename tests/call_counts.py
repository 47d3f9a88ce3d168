"""Count calls: a measure of time that no busy machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_of(action: Callable[[], Any], most: int) -> int:
    """Return how many functions an action calls, which no busy machine changes; it is stopped at `most`."""
    made = 0

    class Enough(BaseException):
        pass

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal made
        made += event in ("call", "c_call")
        if made > most:
            raise Enough

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        action()
    except Enough:
        pass
    finally:
        sys.setprofile(before)
    return made
