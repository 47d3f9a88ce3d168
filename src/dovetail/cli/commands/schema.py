"""`dovetail schema`: draft what is public about a table, and check it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dovetail.cli.data_arguments import bare_source, schema_of, writable
from dovetail.cli.options import Data, Table, examples
from dovetail.cli.terminal import indented, printable, stdout
from dovetail.cli.terminal import table as rows_of
from dovetail.errors import DataError

if TYPE_CHECKING:
    from dovetail.query import Schema

File: TypeAlias = Annotated[str, typer.Argument(metavar="SCHEMA", help="The TOML file of the schema.")]
_SHOWN = 5
_UNDECLARED = "no values: give bins or keys in each query"


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Describe what is public about a table.",
        no_args_is_help=True,
    )
    group.command(epilog=examples("dovetail schema draft people.csv"))(draft)
    group.command(epilog=examples("dovetail schema check people.toml --data people.csv"))(check)
    group.command(epilog=examples("dovetail schema confirm people.toml region sex"))(confirm)
    app.add_typer(group, name="schema")


def draft(
    data: Data,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write it; beside the data if left out.")
    ] = None,
    table: Table = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Propose a schema from the rows, for the curator to review.

    What it finds is private until then: every drafted column is refused in queries until it is confirmed.
    """
    from dovetail.query import Schema

    source = bare_source(data, table=table)
    target = writable(out or schema_of(source), force=force)
    made = Schema.draft(source)
    made.write(target)
    screen = stdout()
    screen.print(_listed(made))
    first = made.columns[0].name if made.columns else "COLUMN"
    steps = (
        f"Written to {target}. It was drafted from the rows, so it is private until you have reviewed it:\n"
        f"  1. Open {target}. Keep values and bounds that anyone could know without these rows (a code "
        "book, a map, the law), add those that happen not to occur, delete the rest.\n"
        "  2. Confirm each column that you have checked:\n"
        f"     dovetail schema confirm {quote(str(target))} {quote(first)} ..."
    )
    screen.print(indented(printable(steps), screen.width), soft_wrap=True)


def check(
    file: File,
    data: Annotated[
        str | None, typer.Option(metavar="DATA", help="Also compare the names with this table's columns.")
    ] = None,
    table: Table = None,
) -> None:
    """Check a schema, and list what is still to be reviewed."""
    schema = _read(file)
    if data is not None:
        from dovetail.engines import connect

        engine = connect(replace(bare_source(data, table=table), schema=schema))
        try:
            known = schema.table(engine.columns())
            for name, _ in schema.derived:
                known.field(name)
        finally:
            engine.close()
    screen = stdout()
    screen.print(_listed(schema))
    waiting = [column.name for column in schema if not column.reviewed]
    if waiting:
        screen.print(
            printable(
                f"{len(waiting)} of {len(schema.columns)} columns are refused in queries until you confirm "
                f"them:\n  dovetail schema confirm {quote(file)} {' '.join(map(quote, waiting[:_SHOWN]))}"
                + (" ..." if len(waiting) > _SHOWN else "")
            )
        )
    else:
        screen.print("Every column is reviewed.")


def confirm(
    file: File,
    columns: Annotated[list[str], typer.Argument(metavar="COLUMN", help="The columns you have reviewed.")],
) -> None:
    """Confirm that what the schema says about these columns is public."""
    schema = _read(file).confirm(*columns)
    schema.write(file)
    waiting = sum(not column.reviewed for column in schema)
    left = f"still to be reviewed: {waiting}" if waiting else "every column is reviewed now"
    stdout().print(printable(f"Confirmed {', '.join(columns)}; {left}."))


def _read(file: str) -> Schema:
    from dovetail.query import Schema

    if not Path(file).is_file():
        raise DataError(f"There is no schema {file}.", "Draft one: dovetail schema draft DATA")
    return Schema.read(file)


def _listed(schema: Schema) -> object:
    shown = rows_of("column", "type", "declared", "reviewed")
    for column in schema:
        shown.add_row(
            printable(column.name),
            column.type,
            printable(column.declared_in_words() or _UNDECLARED),
            "yes" if column.reviewed else "no",
        )
    for name, text in schema.derived:
        shown.add_row(printable(name), "derived", printable(text), "yes")
    for word, said in (("encoding", schema.encoding), ("zone", schema.zone)):
        if said is not None:
            shown.add_row("", word, printable(said), "")
    for lookup in schema.lookups:
        columns = ", ".join(lookup.columns())
        shown.add_row(printable(lookup.name), "lookup", printable(f"by {lookup.key}: {columns}"), "yes")
    return shown
