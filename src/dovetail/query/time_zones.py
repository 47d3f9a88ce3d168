"""Name the time zone in which instants are read."""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo

from dovetail.errors import InvalidParameter

UTC = "UTC"


def checked_zone(name: object) -> str | None:
    """Return the name of a time zone; None for UTC, which is what nothing said means.

    >>> checked_zone("Europe/Zurich"), checked_zone("UTC")
    ('Europe/Zurich', None)
    """
    if name == UTC:
        return None
    try:
        # A region and a city: short names such as EST mean different things to different engines.
        if isinstance(name, str) and re.fullmatch("[A-Z][A-Za-z_]+(/[A-Za-z0-9_+-]+){1,2}", name):
            return ZoneInfo(name).key
    except (LookupError, OSError, ValueError):
        pass
    raise InvalidParameter("zone", name, "UTC or a region and a city such as Europe/Zurich")
