"""Turn a text into one parsed SELECT, and say where in the text a refused part stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp, parse, tokenize
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.errors import UnsupportedSQL, shown

LONGEST_TEXT = 20_000
# The parser recurses; a limit of our own is the same wherever the call comes from.
DEEPEST = 20
POSSIBLE = (
    "Possible is one SELECT of COUNT(*), COUNT(DISTINCT person), SUM(column) and AVG(column) FROM data, with "
    "WHERE, GROUP BY columns with public values, ORDER BY and LIMIT."
)
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)


@dataclass(frozen=True, slots=True)
class Text:
    """A statement with its tokens, which know their places."""

    text: str
    tokens: tuple[Token, ...]

    def at_node(self, node: Any) -> int | None:
        """Return where the first word of a parsed part stands, None where the parser kept no place."""
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        return min(starts, default=None)

    def at_word(self, word: str) -> int | None:
        """Return where a keyword first stands."""
        return next((token.start for token in self.tokens if token.text.upper() == word), None)

    def refusal(self, problem: str, at: int | None) -> UnsupportedSQL:
        """Return the error for a problem at an offset of the text."""
        start = at or 0
        line = self.text.count("\n", 0, start) + 1
        return UnsupportedSQL(problem, line, start - self.text.rfind("\n", 0, start))


def read_text(text: object) -> tuple[Text, exp.Select]:
    """Return a text that is one plain SELECT, with its tree.

    >>> read_text("SELECT COUNT(*) FROM data")[1].key
    'select'
    """
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise UnsupportedSQL(f"SQL must be a text of at most {LONGEST_TEXT} characters. {POSSIBLE}")
    source = Text(text, _tokens(text))
    _check_words(source)
    try:
        (tree,) = (statement for statement in parse(text) if statement is not None)
    except SqlglotError as error:
        raise source.refusal(f"This cannot be read as SQL. {POSSIBLE}", _reported(source, error)) from None
    except RecursionError:
        raise source.refusal(f"This is nested too deeply. {POSSIBLE}", None) from None
    except Exception:  # noqa: BLE001
        # The parser knows thirty dialects of SQL; whatever it trips over is not the little that we answer.
        raise source.refusal(f"This cannot be read as SQL. {POSSIBLE}", None) from None
    if type(tree) is not exp.Select:
        word = "UNION" if isinstance(tree, exp.SetOperation) else tree.key.upper()
        raise source.refusal(f"{word} cannot be answered. {POSSIBLE}", source.at_word(word))
    return source, tree


def _tokens(text: str) -> tuple[Token, ...]:
    try:
        return tuple(tokenize(text))
    except Exception:  # noqa: BLE001
        raise UnsupportedSQL(
            f"This cannot be split into words: a quote or a comment stays open? {POSSIBLE}", 1, 1
        ) from None


def _check_words(source: Text) -> None:
    """Refuse what shows before parsing: other statements, a second one, comments, deep nesting."""
    if not source.tokens:
        raise source.refusal(f"The text is empty. {POSSIBLE}", None)
    first = source.tokens[0]
    if first.token_type != TokenType.SELECT:
        raise source.refusal(f"{shown(first.text)} cannot begin a question. {POSSIBLE}", first.start)
    depth = 0
    for number, token in enumerate(source.tokens):
        if token.comments or token.token_type == TokenType.HINT:
            raise source.refusal("A comment cannot be part of a question. Leave it out.", token.start)
        if token.token_type == TokenType.SEMICOLON and number + 1 < len(source.tokens):
            raise source.refusal("A second statement cannot follow. Ask one question at a time.", token.start)
        depth += (token.token_type in _OPENING) - (token.token_type in _CLOSING)
        if depth > DEEPEST:
            raise source.refusal(f"Brackets are nested deeper than {DEEPEST}.", token.start)


def _reported(source: Text, error: SqlglotError) -> int | None:
    """Return where the parser gave up."""
    reports = getattr(error, "errors", None) or [{}]
    line, column = reports[0].get("line"), reports[0].get("col")
    found = [token for token in source.tokens if (token.line, token.col) == (line, column)]
    return found[0].start if found else None
