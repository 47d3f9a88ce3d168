"""The options that several commands share, so that one word means one thing everywhere.

Numbers arrive as text: they are kept exactly and checked where the library checks them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

Within: TypeAlias = Annotated[str | None, typer.Option(metavar="NUMBER", help="The error to stay within.")]
Probability: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="How often it must stay within that; 0.95 if left out."),
]
Epsilon: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="The privacy loss allowed: in the worst case, unless --delta."),
]
Chance: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--delta",
        metavar="NUMBER",
        help="With --epsilon, how much probability the promise leaves out, such as 1e-8. With --discover, "
        "the chance to show a key that one person alone holds.",
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
        help="All that these data may ever spend: epsilon=1, or epsilon=1,delta=1e-6, or "
        "zeta=0.5,max-epsilon=2. Given once, when their budget is created.",
    ),
]
Shares: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--queries",
        metavar="NUMBER",
        help="Plan so many answers, of which this is one: alone, of the whole budget; with --within or "
        "--noise, of that noise. They are paid together, once.",
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
    typer.Option(metavar="COLUMNS", help="Count in cells: one or more columns, with commas."),
]
Where: TypeAlias = Annotated[
    str | None, typer.Option(metavar="CONDITION", help="Only rows such as \"age >= 40 AND sex = 'Female'\".")
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
        "--ranges", "--cdf", metavar="COLUMN", help="How many rows have at most each value of this column."
    ),
]
Min: TypeAlias = Annotated[
    str | None,
    typer.Option("--min", metavar="COLUMN", help="The least value; COLUMN=0.01 of --quantiles is better."),
]
Max: TypeAlias = Annotated[
    str | None,
    typer.Option("--max", metavar="COLUMN", help="The largest value; COLUMN=0.99 of --quantiles is better."),
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
        help="Count persons by how many rows they have and, with --by, cells; it helps to choose --max-rows.",
    ),
]
MostRows: TypeAlias = Annotated[
    int | None,
    typer.Option(help="With --contributions, persons with so many rows or more are counted together (50)."),
]
Weights: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN=WEIGHTS",
        help="Add up a weight from -1 to 1 for each value, rounded to --step: sex=Female:1,Male:-0.5.",
    ),
]
Low: TypeAlias = Annotated[
    str | None, typer.Option(metavar="VALUE", help="The least value that a row counts with.")
]
High: TypeAlias = Annotated[
    str | None, typer.Option(metavar="VALUE", help="The largest value that a row counts with.")
]
Step: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="NUMBER", help="What values are rounded to; of days in days, of times in seconds."),
]
Keys: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=VALUES", help='The cells of a column of --by: region=north,"south, old".'),
]
Bins: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=EDGES", help="Cells between edges: age=0,18,65,120 has three."),
]
Discover: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Columns of --by whose values nobody can list: frequent ones are found out. Needs --delta.",
    ),
]
LedgerFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--ledger", metavar="FILE", help="Where the budget is kept; beside the data if left out."),
]
SchemaFile: TypeAlias = Annotated[
    str | None,
    typer.Option("--schema", metavar="FILE", help="What is public; DATA with the ending .toml if left out."),
]
Name: TypeAlias = Annotated[
    str | None, typer.Option(metavar="NAME", help="What the data are called in the ledger.")
]
Table: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="The table inside a database.")]
Vintage: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL",
        help="Which rows these are, such as 2026-01; declared by dovetail ledger vintages. May be repeated.",
    ),
]
SameData: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--same-data/--other-data",
        help="Whether rows that nobody recognises belong to the budget under that name, or have one of "
        "their own. Said once.",
    ),
]
DataVersion: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--data-version",
        metavar="LABEL",
        help="Which state of the data is there, such as 2026-03; of files, when they were written if left "
        "out. Stored answers about another one are marked.",
    ),
]
Clamp: TypeAlias = Annotated[bool, typer.Option("--clamp", help="Show counts below 0 as 0.")]
Fresh: TypeAlias = Annotated[
    bool, typer.Option("--fresh", help="Pay again for a new answer to a question asked before.")
]
StoredAnswer: TypeAlias = Annotated[
    bool, typer.Option("--stored", help="Show a stored answer although the data changed since.")
]
Yes: TypeAlias = Annotated[
    bool, typer.Option("--yes", help="Pay for an accuracy although it costs much of the budget.")
]
Request: TypeAlias = Annotated[
    str | None, typer.Option(metavar="KEY", help="A key of yours: a retry with it is never charged twice.")
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
        help="add-remove protects that a row (with --unit: a person) is there at all, replace what it holds.",
    ),
]
Unit: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Protect persons with all their rows; this column holds their id."),
]
Rows: TypeAlias = Annotated[
    bool,
    typer.Option("--rows", help="Protect single rows, also where a column seems to tell persons apart."),
]
MaxRows: TypeAlias = Annotated[
    str | None,
    typer.Option("--max-rows", metavar="NUMBER", help="How many rows of one person are used; with --unit."),
]
MaxCells: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--max-cells",
        metavar="NUMBER",
        help="In how many cells they may lie; as many as --max-rows if left out.",
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
