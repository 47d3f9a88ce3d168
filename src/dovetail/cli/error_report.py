"""Turn an error into one readable line, a hint and an exit code."""

from __future__ import annotations

import os
import re
import sys
import traceback

from dovetail.errors import BudgetExceeded, DataError, DovetailError, LedgerError

from .error_words import statement, words
from .terminal import STOPPED, say, stderr

UNEXPECTED, USAGE, BUDGET, DATA, LEDGER = 1, 2, 3, 4, 5

_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (BudgetExceeded, BUDGET),
    (DataError, DATA),
    (LedgerError, LEDGER),
    (DovetailError, USAGE),
    (OSError, DATA),
)
_LONGEST = 2500
_ENDLESS = re.compile(r"(\S{80})\S{220,}")
# A mistyped address may be taken for something else, and its password with it.
_SECRET = re.compile(r"(:/+[^\s:@/]*:)[^\s@]+(?=@)|(\bpassword=)[^\s&]+")


def report(error: Exception | KeyboardInterrupt, debug: bool) -> int:
    """Print an error to stderr and return the exit code.

    >>> report(BrokenPipeError(), debug=False)
    1
    """
    if isinstance(error, KeyboardInterrupt):
        return STOPPED
    if isinstance(error, BrokenPipeError):
        # Whoever read our output has left; the interpreter must not complain when it flushes.
        _silence_stdout()
        return UNEXPECTED
    if type(error).__name__ == "NoArgsIsHelpError":
        # A group without a command: its message is the help.
        stderr().print(error.format_message(), soft_wrap=True)  # type: ignore[attr-defined]
        return USAGE
    if debug:
        traceback.print_exception(error)
    line, hint = (_SECRET.sub(r"\1\2…", shortened(text)) for text in worded(error))
    screen = stderr()
    say(screen, "Error: ", line, "bold red")
    if hint:
        say(screen, "Hint:  ", hint, "bold")
    return exit_code(error)


def shortened(text: str) -> str:
    """Return a message in which no single word fills the screen, and which does not fill many.

    >>> shortened("There is no file " + "x" * 5000) == "There is no file " + "x" * 80 + "…"
    True
    """
    text = _ENDLESS.sub(r"\1…", text)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"


def exit_code(error: Exception) -> int:
    """Return the exit code of an error.

    >>> exit_code(DataError("no such file")), exit_code(ZeroDivisionError())
    (4, 1)
    """
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    wrong_usage = hasattr(error, "format_message") or _missing_extra(error) is not None
    return USAGE if wrong_usage else UNEXPECTED


def worded(error: Exception) -> tuple[str, str]:
    """Return what went wrong in one line, and what to do next.

    >>> worded(BudgetExceeded("This costs epsilon 2.", "Ask for less."))
    ('This costs epsilon 2.', 'Ask for less.')
    """
    if isinstance(error, DovetailError):
        return statement(error), " ".join(filter(None, map(words, error.remedies)))
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename is not None else ""
        return f"{place}{error.strerror or type(error).__name__}.", ""
    if hasattr(error, "format_message"):
        return error.format_message(), _usage_hint(error)
    extra = _missing_extra(error)
    if extra is not None:
        return f"This needs {extra}, which is not installed.", f"pip install 'dovetail-dp[{_EXTRAS[extra]}]'"
    # The text of an error that nobody foresaw could hold a private value.
    return (
        f"This should not have happened ({type(error).__name__}); it is a bug in Dovetail.",
        "Run `dovetail --debug ...` to see where; look through the output before you share it.",
    )


_EXTRAS = {"matplotlib": "plot", "psycopg": "postgres", "pandas": "pandas", "pyspark": "spark"}
_EXTRAS |= dict.fromkeys(("fastapi", "uvicorn", "structlog", "prometheus_client"), "service")
_EXTRAS |= {"joserfc": "oidc"}


def _missing_extra(error: Exception) -> str | None:
    """Return the optional package that is not installed, if that is the error."""
    return error.name if isinstance(error, ModuleNotFoundError) and error.name in _EXTRAS else None


def _usage_hint(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return "" if context is None else f"See `{context.command_path} --help`."


def _silence_stdout() -> None:
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        # There is no real stdout, as under a test runner: nothing will be flushed.
        return
