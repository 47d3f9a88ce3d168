"""How often somebody may ask: so many requests at once, then again at the pace at which they come back."""

from __future__ import annotations

import re
from collections import OrderedDict
from threading import Lock
from time import monotonic_ns

from dovetail.errors import InvalidParameter

_SECOND = 10**9
_PERIODS = {"second": _SECOND, "minute": 60 * _SECOND, "hour": 3600 * _SECOND, "day": 86_400 * _SECOND}
# Addresses of strangers are counted, too: whoever has many must not fill the memory.
MOST_KNOWN = 10_000


class RateLimit:
    """Counts the requests of each caller, as the generic cell rate algorithm does. Safe to share by threads.

    Kept of a caller is one number: when all of their requests will have come back. The clock never jumps.

    >>> limit = RateLimit("2/minute")
    >>> [limit.admits("ann"), limit.admits("ann"), limit.admits("ann"), limit.admits("bob")]
    [True, True, False, True]
    """

    def __init__(self, rate: str) -> None:
        count, self._period = parsed_rate(rate)
        self._interval = self._period // count
        self._lock = Lock()
        self._whole_again: OrderedDict[str, int] = OrderedDict()

    def admits(self, who: str) -> bool:
        """Count a request, and tell whether it comes within the limit; a refused one does not count."""
        now = monotonic_ns()
        with self._lock:
            after = max(self._whole_again.get(who, now), now) + self._interval
            if after - now > self._period:
                return False
            self._whole_again[who] = after
            self._whole_again.move_to_end(who)
            # Of callers beyond the most, the one who has been silent for longest is forgotten.
            if len(self._whole_again) > MOST_KNOWN:
                self._whole_again.popitem(last=False)
            return True

    def __len__(self) -> int:
        return len(self._whole_again)


def parsed_rate(rate: str) -> tuple[int, int]:
    """Return how many requests may come in how many nanoseconds."""
    read = re.fullmatch(r"([1-9][0-9]{0,8})/(second|minute|hour|day)", rate)
    if read is None:
        raise InvalidParameter(
            "rate", rate, "a number per second, minute, hour or day", "For example 600/minute."
        )
    return int(read[1]), _PERIODS[read[2]]
