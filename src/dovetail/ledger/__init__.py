"""Remember what was spent, durably and under concurrency."""
