"""Release answers in the one safe order: price, reserve, read, draw, store, show."""
