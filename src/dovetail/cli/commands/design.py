"""`dovetail design`: find the noise for an accuracy, or for a budget."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeAlias

import typer

from dovetail.check import integer
from dovetail.cli import options as o
from dovetail.cli.noise_syntax import spelled
from dovetail.cli.output_options import check_picture
from dovetail.cli.terminal import indented, printable, say, stdout, working
from dovetail.errors import InvalidQuery

_EPILOG = o.examples(
    "dovetail design --within 5 --queries 20 --delta 1e-6",
    "dovetail design --within 5 --minimise zeta --max-epsilon 1",
    "dovetail design --epsilon 1 --delta 1e-6 --queries 10 --pieces 3",
)

_IN_PYTHON = "in Python, as noise= of a query with this sensitivity; --noise takes the noise of a count"

Cells: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="How many answers must be within the error at once; 1 if left out."),
]
Delta: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="The delta of the guarantee, such as 1e-6."),
]
Zeta: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="The average privacy loss allowed.")
]
MaxEpsilon: TypeAlias = Annotated[
    str | None, typer.Option("--max-epsilon", metavar="NUMBER", help="A limit on the worst case.")
]
Minimise: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="For an accuracy: epsilon, epsilon:DELTA or zeta. For a budget: variance, mean_abs, "
        "quantile:LEVEL or outside:ERROR.",
    ),
]
Pieces: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="NUMBER", help="The largest number of pieces: 1 is geometric, 2 the paper's mixture."
    ),
]
BreakPoint: TypeAlias = Annotated[
    str | None, typer.Option("--break-point", metavar="NUMBER", help="Fix the first break.")
]
Shifts: TypeAlias = Annotated[
    str, typer.Option(metavar="NUMBERS", help="How far one row can move the answer; 1,-1 for two cells.")
]


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(epilog=_EPILOG, short_help="Find the noise for an accuracy, or for a budget.")(design)


def design(
    within: o.Within = None,
    probability: o.Probability = None,
    cells: Cells = None,
    epsilon: o.Epsilon = None,
    delta: Delta = None,
    zeta: Zeta = None,
    max_epsilon: MaxEpsilon = None,
    queries: o.Queries = "1",
    minimise: Minimise = None,
    pieces: Pieces = "8",
    break_point: BreakPoint = None,
    sensitivity: Shifts = "1",
    as_json: o.Json = False,
    plot: o.Plot = None,
) -> None:
    """Find the noise that meets a goal at the least cost, or a budget with the least error.

    Give an accuracy (--within), a budget (--epsilon, --epsilon with --delta, or --zeta), or both. The price
    is that of all --queries together.
    """
    from dovetail.answers.payment import designed_for
    from dovetail.designer import design as search

    check_picture(plot)
    if within is None and (probability is not None or cells is not None):
        raise InvalidQuery(
            "--probability and --cells say more about --within.", "Add --within, for example 5."
        )
    with working("Searching ..."):
        designed = search(
            epsilon=epsilon,
            delta=delta,
            zeta=zeta,
            within=within,
            probability=probability or "0.95",
            cells=1 if cells is None else integer("cells", cells, low=1),
            queries=integer("queries", queries, low=1),
            minimise=_measure(minimise),
            max_epsilon=max_epsilon,
            pieces=integer("pieces", pieces, low=1),
            break_point=None if break_point is None else integer("break_point", break_point, low=1),
            sensitivity=_shifts(sensitivity),
        )
        text = designed.explain()
    if plot is not None:
        designed.plot().savefig(plot, dpi=150)
    if as_json:
        typer.echo(json.dumps(designed.to_dict() | {"spelled": spelled(designed.noise)}, indent=1))
        return
    screen = stdout()
    screen.print(
        indented(printable(text), screen.width) if screen.is_terminal else printable(text), soft_wrap=True
    )
    screen.print()
    # A release stretches --noise to what one row moves; one that was made for it would be stretched twice.
    counts = designed_for(designed) == 1
    how = f"dovetail release DATA ... --noise {spelled(designed.noise)}" if counts else _IN_PYTHON
    say(screen, "use it  ", how, "dim")


def _measure(text: str | None) -> Any:
    """Read NAME or NAME:NUMBER."""
    if text is None or ":" not in text:
        return text
    name, _, number = text.partition(":")
    return name, number


def _shifts(text: str) -> int | tuple[int, ...]:
    shifts = tuple(integer("sensitivity", part, fix="For example 1, or 1,-1.") for part in text.split(","))
    return shifts[0] if len(shifts) == 1 else shifts
