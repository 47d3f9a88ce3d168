"""Read SQL into typed queries; no text is ever run."""

from .select import Selection, read_select

__all__ = ["Selection", "read_select"]
