"""Read LEFT JOIN lookup ON column = lookup.key, and cut it out before the rest is parsed.

A parser of SQL tries joins in exponentially many ways. The one form that is answered is matched word by word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokenizer_core import Token, TokenType

from .tokens import JOIN_REFUSED, JOINS, Unparsable

MOST_JOINS = 20
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)


@dataclass(frozen=True, slots=True)
class Join:
    """A lookup, how it is called, the two columns that are equal, each with its table, and its place."""

    lookup: str
    alias: str
    sides: tuple[tuple[str | None, str], tuple[str | None, str]]
    at: int


def without_joins(tokens: Sequence[Token]) -> tuple[tuple[Token, ...], tuple[Join, ...]]:
    """Return the tokens without their joins, and the joins.

    >>> from sqlglot import tokenize
    >>> rest, (join,) = without_joins(tokenize("FROM data LEFT JOIN cantons c ON canton = c.code WHERE a"))
    >>> join.lookup, join.alias, join.sides, len(rest)
    ('cantons', 'c', ((None, 'canton'), ('c', 'code')), 4)
    """
    kept: list[Token] = []
    joins: list[Join] = []
    place = 0
    while place < len(tokens):
        if tokens[place].token_type not in JOINS:
            kept.append(tokens[place])
            place += 1
            continue
        words = _Words(tokens, place)
        joins.append(words.join())
        if len(joins) > MOST_JOINS:
            raise words.refusal()
        if len(kept) > 1 and kept[-1].text.upper() == "OUTER":
            kept.pop()
        if not kept or kept.pop().token_type != TokenType.LEFT:
            raise words.refusal()
        place = words.place
    return tuple(kept), tuple(joins)


class _Words:
    """Take one token after another."""

    def __init__(self, tokens: Sequence[Token], place: int) -> None:
        self._tokens = tokens
        self._start = tokens[place].start
        self.place = place + 1

    def refusal(self) -> Unparsable:
        return Unparsable(JOIN_REFUSED, self._start)

    def join(self) -> Join:
        lookup = self._name()
        alias = lookup
        if self._took(TokenType.ALIAS) or self._kind() in _NAMES:
            alias = self._name()
        self._take(TokenType.ON)
        enclosed = self._took(TokenType.L_PAREN)
        left = self._column()
        self._take(TokenType.EQ)
        sides = (left, self._column())
        if enclosed:
            self._take(TokenType.R_PAREN)
        return Join(lookup, alias, sides, self._start)

    def _kind(self) -> TokenType | None:
        return self._tokens[self.place].token_type if self.place < len(self._tokens) else None

    def _took(self, kind: TokenType) -> bool:
        here = self._kind() == kind
        self.place += here
        return here

    def _take(self, kind: TokenType) -> None:
        if not self._took(kind):
            raise self.refusal()

    def _name(self) -> str:
        if self._kind() not in _NAMES:
            raise self.refusal()
        self.place += 1
        return str(self._tokens[self.place - 1].text)

    def _column(self) -> tuple[str | None, str]:
        first = self._name()
        return (first, self._name()) if self._took(TokenType.DOT) else (None, first)
