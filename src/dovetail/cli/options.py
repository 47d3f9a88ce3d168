"""The options that several commands share, so that one word means one thing everywhere.

Numbers arrive as text: they are kept exactly and checked where the library checks them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

Within: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NUMBER", help="The largest error you accept.")
]
Probability: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="How often the error must be at most that; 0.95 if left out."),
]
Epsilon: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="The largest privacy loss allowed, with certainty unless --delta."),
]
Chance: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--delta",
        metavar="NUMBER",
        help="With --epsilon, the delta of the guarantee, such as 1e-8. With --discover, the largest chance "
        "of showing a key that only one person holds.",
    ),
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
Budget: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="LIMIT",
        help="The most that these data may ever spend: epsilon=1, or epsilon=1,delta=1e-6, or "
        "zeta=0.5,max-epsilon=2. Given once, when their budget is created.",
    ),
]
Shares: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--queries",
        metavar="NUMBER",
        help="Plan this many answers, including this one, and pay for all of them now. Alone, they share "
        "the whole budget; with --within or --noise, each has that noise.",
    ),
]
Noise: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NOISE", help="A noise of your own; see dovetail noise --help.")
]
Data: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, Parquet or Arrow file or a folder of them; a DuckDB database or postgresql://USER@HOST/"
        "DATABASE, with --table; or adult, which ships with Dovetail.",
    ),
]
Sql: TypeAlias = Annotated[str, typer.Argument(metavar="SQL", help="One SELECT, in quotes.")]
SqlOption: TypeAlias = Annotated[
    str | None, typer.Option("--sql", metavar="SQL", help="Price this SELECT, in quotes, instead.")
]
By: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS", help="Count rows for each value of these columns; separate columns by commas."
    ),
]
Where: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="CONDITION", help="Use only rows that match, such as \"age >= 40 AND sex = 'Female'\"."
    ),
]
Sum: TypeAlias = Annotated[str | None, typer.Option("--sum", metavar="COLUMN", help="Sum this column.")]
Mean: TypeAlias = Annotated[str | None, typer.Option("--mean", metavar="COLUMN", help="Average this column.")]
Variance: TypeAlias = Annotated[
    str | None, typer.Option("--variance", metavar="COLUMN", help="The variance of this column.")
]
Std: TypeAlias = Annotated[
    str | None, typer.Option("--std", metavar="COLUMN", help="The standard deviation of this column.")
]
Median: TypeAlias = Annotated[
    str | None, typer.Option("--median", metavar="COLUMN", help="The median of this column.")
]
Quantiles: TypeAlias = Annotated[
    str | None,
    typer.Option("--quantiles", metavar="COLUMN=QS", help="Quantiles of a column: age=0.25,0.5,0.75."),
]
Ranges: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--ranges", "--cdf", metavar="COLUMN", help="Count the rows up to each value of this column."
    ),
]
Min: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--min", metavar="COLUMN", help="The smallest value; --quantiles COLUMN=0.01 is more accurate."
    ),
]
Max: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--max", metavar="COLUMN", help="The largest value; --quantiles COLUMN=0.99 is more accurate."
    ),
]
Sample: TypeAlias = Annotated[
    bool, typer.Option("--sample", help="With --variance or --std, divide by n - 1 instead of n.")
]
Distinct: TypeAlias = Annotated[
    bool, typer.Option("--distinct", help="Count persons instead of rows; needs --unit.")
]
Contributions: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--contributions",
        help="Count persons by their number of rows and, with --by, of cells; helps to choose --max-rows.",
    ),
]
MostRows: TypeAlias = Annotated[
    int | None,
    typer.Option(help="With --contributions, count persons with this many rows or more together (50)."),
]
Weights: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=WEIGHTS",
        help="Add up a weight from -1 to 1 for each value, rounded to --step: sex=Female:1,Male:-0.5.",
    ),
]
Low: TypeAlias = Annotated[
    str | None, typer.Option(metavar="VALUE", help="Smaller values count as this one.")
]
High: TypeAlias = Annotated[
    str | None, typer.Option(metavar="VALUE", help="Larger values count as this one.")
]
Step: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER", help="Round values to multiples of this; dates in days, times in seconds."
    ),
]
Keys: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=VALUES", help='The values of a --by column: region=north,"south, old".'),
]
Bins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=EDGES", help="Group a column by these edges: age=0,18,65,120 makes three bins."
    ),
]
Discover: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="--by columns whose values cannot be listed: frequent ones are found privately. Needs --delta.",
    ),
]
LedgerFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--ledger", metavar="FILE", help="Where the budget is kept; beside the data if left out."),
]
SchemaFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--schema", metavar="FILE", help="The schema: what is public; DATA.toml if left out."),
]
Name: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="What the data are called in the ledger.")
]
Table: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="The table inside a database.")]
Vintage: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL",
        help="Which rows these are, such as 2026-01; see dovetail ledger vintages. May be repeated.",
    ),
]
SameData: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--same-data/--other-data",
        help="Whether data that the ledger does not know share the budget of that name, or get a budget of "
        "their own. Needed once.",
    ),
]
DataVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--data-version",
        metavar="LABEL",
        help="The version of the data, such as 2026-03; for files, the time of writing if left out. Stored "
        "answers about another version are marked.",
    ),
]
Clamp: TypeAlias = Annotated[bool, typer.Option("--clamp", help="Show counts below 0 as 0.")]
Fresh: TypeAlias = Annotated[
    bool, typer.Option("--fresh", help="Pay again for a new answer to a question asked before.")
]
StoredAnswer: TypeAlias = Annotated[
    bool, typer.Option("--stored", help="Show a stored answer even though the data have changed.")
]
Yes: TypeAlias = Annotated[
    bool, typer.Option("--yes", help="Pay for an accuracy even if it costs much of the budget.")
]
Request: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="KEY", help="A key you choose; a retry with the same key is not charged again."),
]
Analyst: TypeAlias = Annotated[str, typer.Option(metavar="NAME", help="Who asks, for the record.")]


class Neighbour(StrEnum):
    """What is protected."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


Neighbours: TypeAlias = Annotated[
    Neighbour,
    typer.Option(
        metavar="RULE",
        help="add-remove hides whether a row (with --unit, a person) is in the data; replace hides what it "
        "contains.",
    ),
]
Unit: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Protect persons with all their rows; this column identifies them."),
]
Rows: TypeAlias = Annotated[
    bool,
    typer.Option("--rows", help="Protect single rows, even if a column seems to identify persons."),
]
MaxRows: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--max-rows", metavar="NUMBER", help="At most this many rows per person are used; needs --unit."
    ),
]
MaxCells: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--max-cells",
        metavar="NUMBER",
        help="At most this many cells per person are used; --max-rows if left out.",
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
