"""Data that ship with the package, with their licence notes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dovetail.engines import Source

__all__ = ["adult"]


def adult() -> Source:
    """Return the Adult training set: 32,561 people of the 1994 United States census.

    Becker and Kohavi (1996), UCI Machine Learning Repository, doi 10.24432/C5XW20, CC BY 4.0; `adult.md`
    beside the data says what was changed. The public values are those of the code book, `?` for unknown ones.

    >>> adult().name
    'adult'
    """
    from dovetail.engines import Source
    from dovetail.query import Schema

    here = Path(__file__).parent
    return Source(here / "adult.parquet", "adult", Schema.read(here / "adult.toml"), shipped=True)
