"""What number is this, precisely? Rigorous enclosures and stable sums."""
