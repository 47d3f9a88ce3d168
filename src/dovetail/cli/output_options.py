"""How an answer is given: under whose name, and in which form."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from dovetail.errors import InvalidParameter, InvalidQuery, StaleAnswer

from . import options as o
from .terminal import plain_json, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dovetail.answers import Answer, Quote
    from dovetail.answers.table import TableAnswer


PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Who asks, and how the answer is given."""

    title: ClassVar[str] = "How the answer is given"

    analyst: o.Analyst = "local"
    clamp: o.Clamp = False
    fresh: o.Fresh = False
    stored: o.StoredAnswer = False
    yes: o.Yes = False
    request: o.Request = None
    as_json: o.Json = False
    as_csv: o.Csv = False
    plot: o.Plot = None

    def check(self) -> None:
        """Refuse a form that cannot be given, before anything is spent."""
        if self.as_json and self.as_csv:
            raise InvalidQuery("--json and --csv are two forms of one answer.", "Keep --json or --csv.")
        if self.fresh and self.stored:
            raise InvalidQuery("--fresh and --stored contradict each other.", "Keep --fresh or --stored.")
        check_picture(self.plot)

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords of a query that say how it is answered."""
        return {"clamp": self.clamp, "fresh": self.fresh, "request": self.request}

    @contextmanager
    def answering(self, quote: Quote) -> Iterator[None]:
        """Stop at a price that nobody typed, and at a stored answer about other rows than those of now."""
        from dovetail.pricing.costly_answers import check_costly

        if not self.yes:
            check_costly(quote)
        with warnings.catch_warnings():
            # What is shown says so in its first line.
            warnings.simplefilter("ignore" if self.stored else "error", StaleAnswer)
            try:
                yield
            except StaleAnswer as stale:
                raise InvalidQuery(
                    stale.problem, "--fresh pays for a new one, --stored shows this one, free."
                ) from None

    def give(
        self,
        answer: Answer | TableAnswer,
        show: Callable[[Any, dict[str, str]], None],
        places: dict[str, str],
    ) -> None:
        """Print an answer in the form that was asked for, and draw it where a picture was."""
        if self.plot is not None:
            answer.plot().figure.savefig(self.plot, dpi=150)
        if self.as_json:
            typer.echo(plain_json(answer.to_json()))
        elif self.as_csv:
            text = answer.to_csv()
            seen = typer.get_text_stream("stdout").isatty()
            # color=True: a file gets every letter of a key, or two keys could become one.
            typer.echo(printable(text) if seen else text, nl=False, color=True)
        else:
            show(answer, places)


def check_picture(path: str | None) -> None:
    """Refuse a picture that could not be written, before anything is spent."""
    if path is None:
        return
    if Path(path).suffix.lower() not in PICTURES:
        raise InvalidParameter("plot", path, f"a file name that ends in {', '.join(PICTURES)}")
    folder = Path(path).resolve().parent
    if not folder.is_dir():
        raise InvalidParameter("plot", path, "in a folder that exists", f"Make {folder} first.")
    if Path(path).is_dir() or not os.access(path if Path(path).exists() else folder, os.W_OK):
        raise InvalidParameter("plot", path, "a file that can be written")
    import matplotlib  # noqa: F401 - a missing extra is noticed now, not after the budget was charged
