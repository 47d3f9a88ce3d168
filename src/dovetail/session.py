"""The composition root: data, ledger and noise joined for the user."""
