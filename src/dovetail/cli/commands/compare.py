"""`dovetail compare`: noises scaled to equal privacy, in the sense that is named."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dovetail.check import integer
from dovetail.cli.noise_syntax import EXAMPLES, read_noise, spelled
from dovetail.cli.options import Json, Plot, examples
from dovetail.cli.output_options import check_picture
from dovetail.cli.terminal import number, printable, privacy_cost, stdout, table, working
from dovetail.errors import InvalidParameter


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        epilog=examples(
            "dovetail compare mixture:0.2,1,5 geometric:1 --at zeta",
            "dovetail compare mixture:0.2,1,5 geometric:1 --at epsilon",
            "dovetail compare mixture:0.2,1,5 geometric:1 gaussian:4 --at 1,1e-6,10",
        )
    )(compare)


def compare(
    noises: Annotated[list[str], typer.Argument(metavar="NOISE", help=f"Such as {EXAMPLES}.")],
    at: Annotated[
        str,
        typer.Option(
            metavar="SENSE",
            help="What to make equal: zeta or epsilon, at the level of the first noise, or "
            "EPSILON,DELTA,QUERIES.",
        ),
    ] = "zeta",
    as_json: Json = False,
    plot: Plot = None,
) -> None:
    """Scale noises to equal privacy and compare their errors.

    Equal in one sense is not equal in another, so the sense is always named: zeta is an average, epsilon the
    worst case, and (epsilon, delta) after some queries lies between.
    """
    from dovetail.designer import compare as scale
    from dovetail.exact.figures import upper_figure

    check_picture(plot)
    with working("Scaling ..."):
        comparison = scale({text: read_noise(text) for text in noises}, at=_sense(at))
    if plot is not None:
        comparison.plot().savefig(plot, dpi=150)
    if as_json:
        typer.echo(json.dumps(comparison.to_dict(), indent=1))
        return
    screen = stdout()
    screen.print(f"At equal {comparison.at}", style="bold")
    heads = ["worst case:\nepsilon", "average:\nzeta", "mean\nerror", "std.\ndev.", "95 %\nwithin"]
    if comparison.rows[0].chance_of_more is not None:
        heads.append("larger\nloss")
    shown = table("noise, as scaled", *heads, numbers=len(heads))
    for row in comparison.rows:
        name = (row.name if row.noise is None else spelled(row.noise)) + ("" if row.matched else " *")
        costs = (row.epsilon, row.zeta)
        errors = (row.mean_abs, row.variance**0.5, row.within_95)
        more = [] if row.chance_of_more is None else [upper_figure(row.chance_of_more, 2)]
        shown.add_row(printable(name), *map(privacy_cost, costs), *map(number, errors), *more)
    screen.print(shown)
    if comparison.rows[0].chance_of_more is not None:
        screen.print("larger loss: the probability that the loss of all queries exceeds that epsilon")
    if comparison.note is not None:
        screen.print(comparison.note)


def _sense(text: str) -> str | tuple[str, str, int]:
    if "," not in text:
        return text
    parts = text.split(",")
    if len(parts) != 3:
        raise InvalidParameter(
            "at", text, "zeta, epsilon or EPSILON,DELTA,QUERIES", "For example --at 1,1e-6,10."
        )
    return parts[0], parts[1], integer("at", parts[2], low=1, fix="The third is the number of queries.")
