"""`dovetail online`: pay once, then answer one condition a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dovetail.cli import options as o
from dovetail.cli.error_report import USAGE, worded
from dovetail.cli.option_groups import Sectioned, grouped
from dovetail.cli.run_options import RunOptions
from dovetail.cli.session_options import SessionOptions
from dovetail.cli.terminal import note, plain_json, working
from dovetail.errors import InvalidParameter, InvalidQuery

if TYPE_CHECKING:
    from dovetail.online.durable_run import Online

Questions = Annotated[
    str,
    typer.Option(
        "--questions", metavar="FILE", help="Conditions, one per line; * means all rows, - reads stdin."
    ),
]
Unchecked = Annotated[
    bool,
    typer.Option("--unchecked", help="When the updates are used up, give unchecked answers, marked as such."),
]

_TOGETHER = 100
_EPILOG = o.examples(
    "dovetail online adult --columns sex,race --queries 99 --questions asked.txt",
    "echo '*' | dovetail online adult --columns sex --queries 9 --epsilon 0.1",
)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command(cls=Sectioned, epilog=_EPILOG)(grouped(online))


def online(
    data: o.Data,
    run_options: RunOptions,
    session_options: SessionOptions,
    questions: Questions = "-",
    unchecked: Unchecked = False,
    analyst: o.Analyst = "local",
) -> None:
    """Pay once, then answer many counts.

    Read one condition per line and print one line of JSON for each.

    The run is charged when it is opened. Opening it again is free, and a condition asked before gets the same
    answer. Every answer states its origin, which decides what is known about its error. A line that cannot be
    answered gets a line that says why.
    """
    source = session_options.source(data)
    keywords, lines = run_options.keywords(source), _lines(questions)
    with session_options.session(source, analyst=analyst) as session:
        with working("Opening the run ..."):
            run = session.online(*run_options.names, **keywords)
        left = f"; {run.updates_left} updates left" if run.plan.updates else ""
        note(f"Run {run.plan.id}: {run.plan.words()}{left}.")
        # Whoever types waits for each answer; a file is answered faster in batches.
        refused = _answer_all(run, lines, 1 if questions == "-" else _TOGETHER, unchecked)
    if refused:
        raise typer.Exit(USAGE)


def _lines(place: str) -> Iterable[str]:
    """Return the conditions; a file that cannot be read is noticed before anything is spent."""
    if place == "-":
        return _typed()
    if not Path(place).is_file():
        raise InvalidParameter("questions", place, "a file of conditions, one a line")
    try:
        return Path(place).read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise _not_text(place) from None


def _typed() -> Iterator[str]:
    """Yield each line as soon as somebody has typed it."""
    try:
        yield from typer.get_text_stream("stdin", encoding="utf-8")
    except UnicodeDecodeError:
        raise _not_text("-") from None


def _not_text(place: str) -> InvalidParameter:
    return InvalidParameter("questions", place, "text in UTF-8", "Save it again as UTF-8.")


def _answer_all(run: Online, lines: Iterable[str], together: int, unchecked: bool) -> int:
    """Print an answer for every line that is not empty; return how many were refused."""
    wheres = filter(None, (line.strip() for line in lines))
    refused = done = 0
    with working("Answering ...") as status:
        while batch := list(islice(wheres, together)):
            for told in _answers(run, batch, unchecked):
                refused += "error" in told
                typer.echo(plain_json(json.dumps(told, ensure_ascii=False)))
            done += len(batch)
            if status is not None:
                status.update(f"{done} answered, {run.updates_left} updates left")  # type: ignore[attr-defined]
    return refused


def _answers(run: Online, wheres: list[str], unchecked: bool) -> Iterator[dict[str, Any]]:
    """Answer a batch together; where a line is wrong, one by one, so that it alone is refused."""
    from dovetail.query.queries import Count

    try:
        answers = run.batch([Count(_where(each)) for each in wheres], unchecked=unchecked)
    except InvalidQuery as error:
        if len(wheres) > 1:
            for each in wheres:
                yield from _answers(run, [each], unchecked)
        else:
            yield {"where": wheres[0], "error": " ".join(filter(None, worded(error)))}
        return
    for where, answer in zip(wheres, answers, strict=True):
        (row,) = answer.rows()
        told = {name: row[name] for name in ("value", "low", "high", "origin")}
        yield {"where": where, **told, "stored": answer.stored}


def _where(line: str) -> str | None:
    return None if line == "*" else line
