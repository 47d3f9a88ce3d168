"""`dovetail version`."""

from __future__ import annotations

import typer


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(version)


def version() -> None:
    """Print the version."""
    from dovetail import __version__

    typer.echo(f"dovetail {__version__}")
