"""One text for whatever goes wrong in an engine, so that an error says nothing about the rows."""

from __future__ import annotations

import logging

from dovetail.errors import DataError
from dovetail.errors.remedies import Install

# The engine's own words may quote a row; they go to the operator's log and nowhere else.
_log = logging.getLogger("dovetail.engine")
# What DuckDB makes of Ctrl-C, and of whatever else a signal's handler raised.
_INTERRUPTED = "Query interrupted"


def unreadable(
    name: str,
    error: Exception,
    advice: str = "Check that its file or table is still there and whole.",
) -> DataError:
    """Log what the engine said and return the error that the analyst sees; `advice` must not depend on rows.

    An interruption goes on as one.

    >>> "secret" in str(unreadable("people", ValueError("secret row")))
    False
    """
    if type(error) is RuntimeError and str(error) == _INTERRUPTED:
        raise KeyboardInterrupt from None
    _log.debug("The engine failed on %s", name, exc_info=error)
    return DataError(
        f"The data {name!r} cannot be read.",
        f"{advice} The log of 'dovetail.engine' has the engine's own message.",
    )


def missing_extra(engine: str, extra: str) -> DataError:
    """Return the error for an engine whose driver is not installed.

    >>> print(missing_extra("Spark", "spark"))
    Reading from Spark needs an extra. Install it: pip install 'dovetail-dp[spark]'.
    """
    return DataError(f"Reading from {engine} needs an extra.", Install(extra))
