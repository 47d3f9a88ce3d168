"""The command line: parse, call, render."""


def main() -> None:
    """Run the command line."""
    raise SystemExit("The command line comes with a later part.")
