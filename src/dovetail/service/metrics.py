"""Figures for monitoring: how many requests of each kind, how long, how many answers and refusals.

They count requests, never rows, and carry no name. They are served on a port of their own.
"""

from __future__ import annotations

from collections import Counter as Tally
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest


class Metrics:
    """The figures of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "dovetail_requests", "Requests by route and status", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "dovetail_request_seconds", "Duration of requests by route", ["route"], registry=self.registry
        )
        self.problems = Counter(
            "dovetail_problems", "Refusals by their code", ["code"], registry=self.registry
        )
        self.refusals: Tally[str] = Tally()

    def observe(self, route: str, status: int, seconds: float, code: str | None) -> None:
        """Count one request."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)
        if code is not None:
            self.problems.labels(code).inc()

    def page(self) -> bytes:
        """Return the figures in the text form of Prometheus."""
        return bytes(generate_latest(self.registry))


def serve_metrics(metrics: Metrics, host: str, port: int) -> Any:
    """Serve the figures on a port of their own."""
    from prometheus_client import start_http_server

    return start_http_server(port, addr=host, registry=metrics.registry)
