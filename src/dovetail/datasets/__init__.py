"""Data sets that ship with the package."""
