"""`dovetail audit`: check that the sampler draws what the accounting charges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from dovetail.cli.noise_syntax import EXAMPLES, read_noise, spelled
from dovetail.cli.options import Json, examples
from dovetail.cli.render import notes
from dovetail.cli.terminal import number, printable, stdout

if TYPE_CHECKING:
    from dovetail.audit import Certificate

_FAILED = 1


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=examples("dovetail audit mixture:0.2,1,5", "dovetail audit gaussian:4 --json"))(audit)


def audit(
    noises: Annotated[list[str], typer.Argument(metavar="NOISE", help=f"Such as {EXAMPLES}.")],
    as_json: Json = False,
) -> None:
    """Check that the sampler draws exactly what is charged.

    Every threshold and cell of the tables that draws use is rebuilt from rigorous enclosures, and the largest
    ratio of neighbouring probabilities is compared with the epsilon that a release is charged, zeta likewise.
    Exits with code 1 if anything is wrong.
    """
    from dovetail.audit import sampler

    certificates = [sampler(read_noise(text)) for text in noises]  # type: ignore[arg-type]
    if as_json:
        typer.echo(json.dumps([one.to_dict() for one in certificates], indent=1))
    else:
        for one in certificates:
            _show(one)
    if not all(one.holds for one in certificates):
        raise typer.Exit(_FAILED)


def _show(one: Certificate) -> None:
    screen = stdout()
    screen.print(printable(spelled(one.noise)), style="bold")
    checked = f"{one.thresholds:,} thresholds, {one.cells:,} cells and {one.blocks:,} blocks"
    own = "not computed for this kind of noise" if one.zeta is None else number(one.zeta, 9)
    notes(
        screen,
        {
            "tables": f"{checked} rebuilt and compared ({one.table_bytes / 1024:,.0f} KiB)",
            "worst case": f"largest log-ratio of neighbours {number(one.worst_ratio, 9)}, charged epsilon "
            f"{number(one.charged_epsilon, 9)}",
            "average": f"zeta by the audit's own sum {own}, charged zeta {number(one.charged_zeta, 9)}",
            "verdict": "holds" if one.holds else "FAILS: " + "; ".join(one.findings),
        },
    )
