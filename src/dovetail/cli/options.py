"""The options that several commands share, so that one word means one thing everywhere.

Numbers arrive as text: they are kept exactly and checked where the library checks them.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

Within: TypeAlias = Annotated[str | None, typer.Option(metavar="NUMBER", help="The error to stay within.")]
Probability: TypeAlias = Annotated[str, typer.Option(metavar="NUMBER", help="How often it must stay within.")]
Epsilon: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="The worst-case privacy loss allowed."),
]
Delta: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="With --epsilon: the chance to exceed it, such as 1e-6."),
]
Zeta: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="The average privacy loss allowed; needs --max-epsilon."),
]
MaxEpsilon: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--max-epsilon",
        metavar="NUMBER",
        help="The worst case allowed beside --zeta, which is only an average.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Csv: TypeAlias = Annotated[bool, typer.Option("--csv", help="Print CSV.")]
Plot: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Draw a picture into FILE (.png, .svg, .pdf)."),
]
Queries: TypeAlias = Annotated[str, typer.Option(metavar="NUMBER", help="How many answers are planned.")]
Sensitivity: TypeAlias = Annotated[
    str, typer.Option(metavar="NUMBER", help="How far one row can move the answer.")
]
Total: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="LIMIT",
        help="All that the data set may ever spend: epsilon=1, or epsilon=1,delta=1e-6, or "
        "zeta=0.5,max-epsilon=2. Needed once, when its budget is created.",
    ),
]


def listing(title: str, *lines: str) -> str:
    """Return a part of a command's help whose lines are kept as they are.

    >>> listing("Examples:", "dovetail demo").split("\\n")[1:]
    ['Examples:', '  dovetail demo']
    """
    # The first line tells the help formatter not to fill this paragraph.
    return "\n".join(["\b", title, *(f"  {line}" for line in lines)])


def examples(*lines: str) -> str:
    """Return the closing part of a command's help, one example on a line."""
    return listing("Examples:", *lines)
