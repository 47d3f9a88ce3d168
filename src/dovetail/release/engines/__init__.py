"""Run aggregations where the data are; one small adapter per engine."""

from .engine import Batches, Engine, connect

__all__ = ["Batches", "Engine", "connect"]
