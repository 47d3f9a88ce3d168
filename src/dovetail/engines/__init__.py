"""What is true in the data: a query becomes one aggregation in an engine; no row reaches Python."""

from __future__ import annotations

from typing import Any

from dovetail.query.schema import Schema

from .connection import connect
from .engine import Batches, Engine
from .source import Source

__all__ = ["Batches", "Engine", "Schema", "Source", "connect"]


def _drafted(source: Any, table: str | None) -> Schema:
    """Propose a schema by looking at the rows."""
    from .schema_draft import drafted

    return drafted(source, table)


# `Schema.draft` reads rows, which the package of queries never does.
Schema.drafter = _drafted
