"""Run aggregations where the data are; one small adapter per engine."""

from .engine import Engine, connect

__all__ = ["Engine", "connect"]
