"""Turn a text into one parsed SELECT, and say where in the text a refused part stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from dovetail.errors import Place, UnsupportedSQL, shown
from dovetail.errors.remedies import Remedy

from .joins import Join, without_joins
from .tokens import LONGEST_TEXT, Unparsable, tokens_of, trees_of

POSSIBLE = (
    "Write one SELECT of COUNT(*), COUNT(DISTINCT person), SUM, AVG, MIN, MAX, MEDIAN, "
    "PERCENTILE_CONT, PERCENTILE_DISC, VAR_POP, VAR_SAMP, STDDEV_POP and STDDEV_SAMP of columns FROM data, "
    "with LEFT JOIN of public lookups, WHERE, GROUP BY columns with public values, HAVING, ORDER BY and "
    "LIMIT."
)


@dataclass(frozen=True, slots=True)
class Text:
    """A statement with its tokens, which know their places."""

    text: str
    tokens: tuple[Token, ...]
    joins: tuple[Join, ...] = ()

    def at_node(self, node: Any) -> int | None:
        """Return where the first word of a parsed part stands, None where the parser kept no place."""
        starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
        return min(starts, default=None)

    def at_word(self, word: str) -> int | None:
        """Return where a keyword first stands."""
        return next((token.start for token in self.tokens if token.text.upper() == word), None)

    def refusal(self, problem: str, at: int | None, *fixes: Remedy | str) -> UnsupportedSQL:
        """Return the error for a problem at an offset of the text."""
        start = at or 0
        line = self.text.count("\n", 0, start) + 1
        place = Place(line, start - self.text.rfind("\n", 0, start))
        return UnsupportedSQL(problem, *fixes, place=place)


def read_text(text: object) -> tuple[Text, exp.Select]:
    """Return a text that is one plain SELECT, with its tree.

    >>> read_text("SELECT COUNT(*) FROM data")[1].key
    'select'
    """
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise UnsupportedSQL(f"SQL must be a text of at most {LONGEST_TEXT} characters.", POSSIBLE)
    source = Text(text, ())
    try:
        source = Text(text, tokens_of(text, joins=True))
        _check_words(source)
        source = Text(text, *without_joins(source.tokens))
        (tree,) = (statement for statement in trees_of(text, source.tokens) if statement is not None)
    except Unparsable as error:
        raise source.refusal(error.problem, error.at, POSSIBLE) from None
    if type(tree) is not exp.Select:
        word = "UNION" if isinstance(tree, exp.SetOperation) else tree.key.upper()
        raise source.refusal(f"{word} cannot be answered.", source.at_word(word), POSSIBLE)
    return source, tree


def _check_words(source: Text) -> None:
    """Refuse what shows before parsing: other statements, a second one, comments."""
    if not source.tokens:
        raise source.refusal("The text is empty.", None, POSSIBLE)
    first = source.tokens[0]
    if first.token_type != TokenType.SELECT:
        raise source.refusal(f"{shown(first.text)} cannot begin a question.", first.start, POSSIBLE)
    for number, token in enumerate(source.tokens):
        if token.comments or token.token_type == TokenType.HINT:
            raise source.refusal("Comments are not allowed in a question.", token.start, "Leave it out.")
        if token.token_type == TokenType.SEMICOLON and number + 1 < len(source.tokens):
            raise source.refusal(
                "A second statement cannot follow.", token.start, "Ask one question at a time."
            )
