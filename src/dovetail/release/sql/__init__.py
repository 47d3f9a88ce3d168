"""Read one SELECT into typed queries and lay their answers out as one table; the text is never run."""

from .answer import TableAnswer, laid_out
from .select import Selection, read_select

__all__ = ["Selection", "TableAnswer", "laid_out", "read_select"]
