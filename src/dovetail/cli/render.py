"""Show answers in the terminal or as CSV, and say beside them what they cost and whom they protect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from dovetail.query.question_words import question_in_words

from .chart import MOST_ROWS, draw
from .descriptions import protected_in_words
from .noise_syntax import spelled
from .terminal import plain_json, printable, say, stdout, table

if TYPE_CHECKING:
    from rich.console import Console

    from dovetail.answers import Answer, MarginalsAnswer, Quote
    from dovetail.answers.table import TableAnswer


def show(answer: Answer, places: dict[str, str]) -> None:
    """Print an answer with its price; `places` says where its schema and its ledger are."""
    from dovetail.answers.display import lines_of, titled

    screen = stdout()
    # Between the values of a distribution function nothing is lost: --csv has them all.
    most = MOST_ROWS if screen.is_terminal or answer.query.measure.answered_as == "ranges" else None
    lines = lines_of(answer, most)
    _mark(screen, answer)
    screen.print(printable(f"{titled(answer)}: {question_in_words(answer.query)}"), style="bold")
    if answer.query.grouped:
        draw(screen, lines, answer.size)
    else:
        screen.print(lines[0].amount())
    screen.print()
    noise = spelled(answer.noise)
    drawn = f"{noise}, drawn separately for every cell" if answer.size > 1 else noise
    notes(screen, said(answer, drawn, places, answer.remarks(), answer.bounded))


def said(
    answer: Answer, noise: str, places: dict[str, str], remarks: Sequence[str], left_out: str | None
) -> dict[str, str]:
    """Return what stands below an answer, by its first words; `left_out` is what it leaves out by design."""
    from dovetail.answers.display import how_found
    from dovetail.errors.values import percent

    each = "each interval" if answer.query.grouped else "the interval"
    # Rows beyond what is used of a person are not counted; no interval covers them.
    true = "the true number" if answer.query.persons is None else "the true number for the rows used"
    if answer.threshold is None:
        error = {"error": f"{each} holds {true} with probability {percent(answer.level)} or more"}
    else:
        miss = percent(1 - answer.level)
        error = {
            "keys": how_found(answer),
            "error": f"each key is shown with an interval that misses with probability at most {miss}",
        }
    return {
        **error,
        **({} if left_out is None else {"bounded": left_out}),
        **({"note": " ".join(remarks)} if remarks else {}),
        "noise": noise,
        "cost": cost(answer),
        "remains": rest(answer),
        "protects": protected_in_words(answer.neighbours, answer.query.persons),
        **places,
    }


def show_quote(quote: Quote, as_json: bool) -> None:
    """Print what an answer would cost, how accurate it would be and whom it protects."""
    if as_json:
        typer.echo(plain_json(quote.to_json()))
        return
    persons = quote.asked[0].question.persons
    notes(stdout(), quote.words() | {"protects": protected_in_words(quote.neighbours, persons)})


def cost(answer: Answer) -> str:
    """Return what an answer cost, in words."""
    from dovetail.answers.plan import charge_in_words
    from dovetail.answers.provenance import free

    plan = answer.paid_by
    if answer.stored:
        return f"nothing: {free(answer)}; --fresh pays for a new one"
    if plan is None:
        return charge_in_words(answer.charge)
    return f"nothing more: one of {plan.slots} answers paid for in advance ({plan.price()})"


def rest(answer: Answer) -> str:
    """Return what can still be asked, in words."""
    plan = answer.paid_by
    if plan is None:
        return str(answer.remaining)
    return f"{plan.left} of the {plan.slots} answers of this plan; outside it {answer.remaining}"


def _mark(screen: Console, answer: Answer | TableAnswer) -> None:
    """Say first that an answer is about other rows than those of now."""
    from dovetail.answers.provenance import mark

    if first := mark(answer):
        screen.print(first, style="bold yellow")


def notes(screen: Console, texts: dict[str, str]) -> None:
    """Print short remarks, each after its word."""
    wide = max(map(len, texts))
    for word, text in texts.items():
        say(screen, f"{word:<{wide}}  ", text, "dim")


def show_marginals(answer: MarginalsAnswer, places: dict[str, str]) -> None:
    """Print which tables there are and how accurate they are; a single one with its cells."""
    from dovetail.answers.display import titled

    if len(answer.tables) == 1:
        show(answer, places)
        return
    screen = stdout()
    _mark(screen, answer)
    screen.print(printable(f"{titled(answer)}: {question_in_words(answer.query)}"), style="bold")
    shown = table("table", "cells", "error", numbers=2)
    for name, cells, error in zip(*answer.summary(), strict=True):
        shown.add_row(printable(name), cells, f"± {error}")
    screen.print(shown)
    kinds = dict.fromkeys(answer.noises)
    named = spelled(answer.noise) if len(kinds) == 1 else f"{len(kinds)} widths of one shape"
    noise = f"{named}, drawn separately for every cell; measured as {answer.strategy}"
    texts = said(answer, noise, places, answer.remarks(), answer.bounded)
    notes(screen, texts | {"counts": "--csv prints them, --csv-folder writes a file for each table"})


def show_table(answer: TableAnswer, places: dict[str, str]) -> None:
    """Print the table with its price; `places` says where its schema and its ledger are."""
    from dovetail.answers.display import titled
    from dovetail.answers.table import cells

    screen = stdout()
    most = MOST_ROWS if screen.is_terminal else len(answer.places)
    _mark(screen, answer)
    screen.print(printable(f"{titled(answer.answers[0])}: {' '.join(answer.text.split())}"), style="bold")
    shown = table(*(printable(column.name) for column in answer.columns))
    for column, made in zip(answer.columns, shown.columns, strict=True):
        made.justify = "left" if column.key is not None else "right"
    for row in zip(*cells(answer, most), strict=True):
        shown.add_row(*map(printable, row))
    screen.print(shown)
    if len(answer.places) > most:
        screen.print(f"... and {len(answer.places) - most:,} more rows; --csv prints all of them")
    noises = {
        column.name: " and ".join(dict.fromkeys(map(spelled, answer.noises(column))))
        for column in answer.valued
    }
    listed = "; ".join(f"{name} {noise}" for name, noise in noises.items())
    named = next(iter(noises.values())) if len(noises) == 1 else listed
    texts = said(answer.answers[0], named, places, answer.remarks(), answer.bounded)
    if answer.chosen_by:
        texts["error"] += "; rows were chosen by noisy values, so these hold for all groups at once"
    notes(screen, texts)
