"""The commands and their frame: what all of them share."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from dovetail.errors import BudgetMismatch

from .options import listing
from .plain_values import PlainGroup, make_plain
from .terminal import STOPPED, prepared, say, stderr

_HELP = """Release counts, histograms and sums under differential privacy, with noise shaped for the
error you can live with."""

_EPILOG = "\n\n".join(
    [
        listing(
            "Start here:",
            "dovetail demo",
            "dovetail release adult --by education --within 5 --budget epsilon=1",
        ),
        listing(
            "Exit codes:",
            "0  done",
            "1  an audit fails, or a bug in Dovetail",
            "2  wrong usage, or a question that cannot be answered privately",
            "3  the budget does not cover it; nothing was spent",
            "4  the data cannot be read, or a file cannot be written",
            "5  the ledger refuses",
            "130  stopped by Ctrl-C; a charge that is already recorded stays",
        ),
    ]
)


class Frame(PlainGroup):
    """The group of all commands; every error passes through here, once."""

    debug = False

    def main(self, args: Sequence[str] | None = None, *more: Any, **options: Any) -> Any:
        """Run a command and leave with its exit code."""
        words = list(sys.argv[1:] if args is None else args)
        options["standalone_mode"] = False
        try:
            with prepared():
                try:
                    code = super().main(words, *more, **options)
                except BudgetMismatch as error:
                    from .same_data_question import options_of_answer

                    # Nothing was spent: with the answer, the same command runs from its beginning.
                    code = super().main([*words, *options_of_answer(error)], *more, **options)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last stop before the user
            # Loads with the first error: most commands make none.
            from .error_report import report

            code = report(error, self.debug)
        if code == STOPPED:
            say(stderr(), "", "Stopped. If the charge was already recorded, it stays.", "")
        sys.exit(code if isinstance(code, int) else 0)


# In the order of the help.
COMMANDS = (
    *(
        "demo",
        "release",
        "sql",
        "marginals",
        "online",
        "price",
        "design",
        "compare",
        "noise",
        "audit",
        "schema",
    ),
    *("ledger", "serve", "paper", "version"),
)


def app_for(words: Sequence[str]) -> typer.Typer:
    """Return the command line; where the first word is a command, with that one alone, which is quicker."""
    made = typer.Typer(
        name="dovetail",
        cls=Frame,
        help=_HELP,
        epilog=_EPILOG,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(frame)
    first = next((word for word in words if not word.startswith("-")), "")
    for name in (first,) if first in COMMANDS else COMMANDS:
        import_module(f"{__package__}.commands.{name}").add_to(made)
    make_plain(made)
    return made


def frame(
    context: typer.Context,
    debug: Annotated[
        bool, typer.Option("--debug", envvar="DOVETAIL_DEBUG", help="Show where an error came from.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""
    command = context.find_root().command
    if isinstance(command, Frame):
        command.debug = debug


def __getattr__(name: str) -> Any:
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = app_for(())
    return globals()["app"]
