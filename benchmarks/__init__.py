"""Measurements against other libraries: `python -m benchmarks`, or one, `python -m benchmarks.sampling`."""
