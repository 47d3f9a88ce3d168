"""Split an analyst's text into tokens and parse them, in time that grows no faster than the text.

The parser tries one reading after another and goes back where one does not fit, in the worst case as often
as 2 to the number of tokens. So its steps are counted: what the closed language holds is read in little
more than one step a token, and whatever needs many more is not in it.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

from sqlglot import tokenize
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token, TokenType

LONGEST_TEXT = 20_000
# Two tokens for each of 3,000 values of a list.
MOST_TOKENS = 6_000
# Of those, names, keywords and signs; they take far longer to read than the values of a list. They suffice
# for 1,000 comparisons.
MOST_WORDS = 3_100
# The parser recurses; a limit of our own is the same wherever the call comes from.
DEEPEST = 20
# Each CASE inside of another is spelled once more with every one around it.
DEEPEST_CASE = 2
_STEPS_PER_TOKEN, _SPARE_STEPS = 2, 100
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_LISTED = (TokenType.NUMBER, TokenType.STRING, TokenType.COMMA)
_PREFIXES = (TokenType.NOT, TokenType.DASH, TokenType.PLUS, TokenType.TILDE)
JOINS = (TokenType.JOIN, TokenType.STRAIGHT_JOIN)
JOIN_REFUSED = (
    "JOIN cannot be answered. Join the tables beforehand, so that each person's rows lie in one table. Only "
    "a public lookup of the schema can be joined: LEFT JOIN lookup ON column = lookup.key."
)


class Unparsable(Exception):
    """What keeps a text from being read, and the offset where; the edges say what is possible instead."""

    def __init__(self, problem: str, at: int | None = None) -> None:
        super().__init__(problem, at)
        self.problem = problem
        self.at = at


def tokens_of(text: str, *, joins: bool = False) -> tuple[Token, ...]:
    """Return the tokens of a text that is neither long nor deep and, unless that is allowed, holds no join.

    >>> [token.text for token in tokens_of("age >= 40")]
    ['age', '>=', '40']
    """
    if len(text) > LONGEST_TEXT:
        raise Unparsable(f"The text is longer than {LONGEST_TEXT:,} characters.")
    try:
        tokens = tuple(tokenize(text))
    except Exception:  # noqa: BLE001
        raise Unparsable("A quote or a comment seems to be left open.", 0) from None
    if len(tokens) > MOST_TOKENS:
        raise Unparsable(
            f"The text has more than {MOST_TOKENS:,} words and signs. Ask with a shorter list, or in parts.",
            tokens[MOST_TOKENS].start,
        )
    depth = prefixes = cases = words = 0
    for token in tokens:
        kind = token.token_type
        words += kind not in _LISTED
        if words > MOST_WORDS:
            raise Unparsable(
                f"The text has more than {MOST_WORDS:,} words and signs besides its constants. Use IN (...) "
                "for a list of values, or ask in parts.",
                token.start,
            )
        if kind in JOINS and not joins:
            raise Unparsable(JOIN_REFUSED, token.start)
        depth += (kind in _OPENING) - (kind in _CLOSING)
        prefixes = prefixes + 1 if kind in _PREFIXES else 0
        if max(depth, prefixes) > DEEPEST:
            raise Unparsable(f"This is nested deeper than {DEEPEST} levels.", token.start)
        cases += (kind == TokenType.CASE) - (kind == TokenType.END)
        if cases > DEEPEST_CASE:
            raise Unparsable(f"CASE is nested deeper than {DEEPEST_CASE} levels.", token.start)
    return tokens


def trees_of(text: str, tokens: tuple[Token, ...]) -> list[Any]:
    """Return the statements that the tokens spell, None for an empty one."""
    parser = _Bounded(_STEPS_PER_TOKEN * len(tokens) + _SPARE_STEPS)
    try:
        with _unlogged():
            return parser.parse(list(tokens), text)
    except _TooManySteps:
        raise Unparsable("This is too complex to be read.") from None
    except SqlglotError as error:
        _check_signs(tokens)
        raise Unparsable("This cannot be read as SQL.", _reported(tokens, error)) from None
    except RecursionError:
        raise Unparsable("This is nested too deeply.") from None
    except Exception:  # noqa: BLE001
        # The parser knows thirty dialects of SQL; whatever it trips over is not the little that we answer.
        raise Unparsable("This cannot be read as SQL.") from None


class _TooManySteps(Exception):
    """The parser goes back and forth."""


class _Bounded(Parser):
    """A parser that gives up after so many steps, and refuses what it would keep as an unread text."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps_left = steps

    def _advance(self, times: int = 1) -> None:
        self.steps_left -= 1
        if self.steps_left < 0:
            raise _TooManySteps
        super()._advance(times)

    def _warn_unsupported(self) -> None:
        raise ParseError("not a statement that is parsed")


@contextmanager
def _unlogged() -> Iterator[None]:
    """Keep the parser's warnings out of every log: they quote the text."""

    def nothing(_record: logging.LogRecord) -> bool:
        return False

    log = logging.getLogger("sqlglot")
    log.addFilter(nothing)
    try:
        yield
    finally:
        log.removeFilter(nothing)


def _check_signs(tokens: tuple[Token, ...]) -> None:
    """Say what is meant where the two letters of a comparison change places."""
    for one, following in pairwise(tokens):
        if one.token_type is TokenType.FARROW:
            raise Unparsable("=> is no comparison: write >=.", one.start)
        if one.token_type is TokenType.EQ and following.token_type is TokenType.LT:
            raise Unparsable("=< is no comparison: write <=.", one.start)


def _reported(tokens: tuple[Token, ...], error: SqlglotError) -> int | None:
    """Return where the parser gave up."""
    reports = getattr(error, "errors", None) or [{}]
    place = (reports[0].get("line"), reports[0].get("col"))
    return next((token.start for token in tokens if (token.line, token.col) == place), None)
