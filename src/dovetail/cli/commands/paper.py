"""`dovetail paper`: reproduce the paper's evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.check import integer
from dovetail.cli.options import examples
from dovetail.cli.terminal import printable, stdout

if TYPE_CHECKING:
    from dovetail.paper import Reproduction

_EPILOG = examples("dovetail paper --quick", "dovetail paper --only fig8", "dovetail paper --out report")


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EPILOG)(paper)


def paper(
    quick: Annotated[bool, typer.Option("--quick", help="Draw fewer samples: under a minute.")] = False,
    only: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="One table or figure, such as fig8 or table1.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where to write; out/paper if left out.")
    ] = None,
    seed: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Fix the draws of queries, never the noise.")
    ] = None,
) -> None:
    """Reproduce the paper's tables and figures next to its numbers."""
    from dovetail.paper import reproduce
    from dovetail.paper.progress import terminal_progress
    from dovetail.paper.reproduction import DEFAULT_SEED

    folder = Path(out) if out is not None else Path("out", "paper-quick" if quick else "paper")
    chosen = DEFAULT_SEED if seed is None else integer("seed", seed, low=0, fix="Give a whole number.")
    with terminal_progress() as progress:
        done = reproduce(folder, quick=quick, only=only or None, seed=chosen, progress=progress)
    screen = stdout()
    screen.print(_verdicts(done))
    screen.print(printable(f"Report: {done.report}"), soft_wrap=True)


def _verdicts(done: Reproduction) -> str:
    from dovetail.paper.claims import claims

    known = claims()
    verdicts = [
        known[name].judge(measured.exact)
        for item in done.items.values()
        for name, measured in item.measured.items()
    ]
    holds, differ = verdicts.count("holds"), verdicts.count("differs")
    return f"{len(verdicts)} published figures checked: {holds} hold, {differ} differ (the report says why)."
