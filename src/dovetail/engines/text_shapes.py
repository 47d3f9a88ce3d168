"""The shapes in which a text counts as a number, a date or a truth value: the same in every server engine.

PostgreSQL would read 'yesterday' as a date and Spark '5d' as a number, and each of them something else; so a
text has to match one of these shapes before it is converted, and is missing otherwise. Only syntax that both
dialects of regular expressions share is used.
"""

from __future__ import annotations

SPACE = "[ \\t\\n\\r\\f\\x0B]*"
_DIGITS = "[0-9]+(_[0-9]+)*"
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"

NUMBER = f"^{SPACE}[+-]?({_DIGITS}([.]({_DIGITS})?)?|[.]{_DIGITS})([eE][+-]?[0-9]{{1,4}})?{SPACE}$"
DATE = f"^[0-9]{{4}}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([ T]{_TIME})?$"
# No engine's number, date or truth value is longer, and servers fail on far longer ones.
LONGEST = 2_000
FIRST_YEAR = "0001"

_TRUE = ("t", "true", "y", "yes", "1")
_FALSE = ("f", "false", "n", "no", "0")

LARGEST = "1.7976931348623157e308"


def truth(text: str) -> str:
    """Spell the truth value that a text names, NULL where it names none."""
    true, false = (", ".join(f"'{word}'" for word in words) for words in (_TRUE, _FALSE))
    return f"CASE WHEN LOWER({text}) IN ({true}) THEN TRUE WHEN LOWER({text}) IN ({false}) THEN FALSE END"
