"""Say in the words of the command line what the library's messages say in Python's."""

from __future__ import annotations

import re

_SPOKEN = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r", or schema\.confirm\('[^']*'\) and schema\.write", ""),
        (
            r"Open the session with Session\(\.\.\., unit=\"person\", max_rows=5\)",
            "Add --unit and --max-rows",
        ),
        (r"a session with unit=\"person\"", "--unit and --max-rows"),
        (r"\btogether with unit=", "together with --unit"),
        (r"\bunit= and neighbours=", "--unit and --neighbours"),
        (r"Use at=\"zeta\", at=.*", "Use --at zeta, --at epsilon or --at 1,1e-6,10."),
        (r"Use design\(epsilon=1\) or design\(within=5\)", "Add --epsilon 1 or --within 5"),
        (r"\btable=\"visits\"", "For example --table visits."),
        (
            r"session\.histogram\(('[^']*'), keys=\[\.\.\.\] or bins=\[\.\.\.\], or keys=\"discover\"\)",
            "dovetail release with --keys, --bins or --discover",
        ),
        (
            r"session\.(sum|mean)\(('[^']*'), low=\.\.\., high=\.\.\., step=\.\.\.\)",
            r"dovetail release with --\1, --low, --high and --step",
        ),
        (r"\b[Kk]eys=['\"]discover['\"]", "--discover"),
        (r"keep the data under Budget\.approximate", "give --budget epsilon=E,delta=D"),
        (r"\bkeys=\[\.\.\.\]", "--keys"),
        (
            r"delta=1e-8 beside noise= or within=, or spend=Budget\.approximate\(0\.5, 1e-8\)",
            "--delta 1e-8 beside --epsilon, --noise or --within",
        ),
        (
            r"bins=\[0, 18, 65, 120\] has three cells; dates are written '2025-01-31'",
            "--bins age=0,18,65,120 has three cells; dates are written 2025-01-31",
        ),
        (r"\bbins=\[\.\.\.\]", "--bins"),
        (r"Schema\.draft", "`dovetail schema draft`"),
        (r"See Schema\.to_toml\(\)\.", "`dovetail schema draft` writes one."),
        (r"\bnoise=, within= or spend=", "--noise, --within or --epsilon"),
        (r"\bnoise= or spend=", "--noise or --epsilon"),
        (r"\bwithin=(?=[.,;]|$)", "--within"),
        (r"\bclamp=True\b", "--clamp"),
        (r"Ledger\.create\b", "`dovetail ledger create`"),
        (r"ledger\.set_budget\b", "`dovetail ledger raise`"),
        (r"print ledger\.head", "run `dovetail ledger verify`"),
        (r"`ledger\.head` prints it", "`dovetail ledger verify` prints it"),
        (r"run verify\b", "run `dovetail ledger verify`"),
        (r"noise\.rounded\(\) or noise\.on_lattice\(step\)", "rounded-laplace:..."),
        (r"Leave queries= out", "Leave --queries out"),
        (
            r", or say share=True; share=False makes a second budget, and what both allow adds up",
            " with --name",
        ),
    )
)


def spoken(text: str) -> str:
    """Return a message with the options and commands that a user of the command line has.

    >>> spoken("Give keys=[...] or bins=[...].")
    'Give --keys or --bins.'
    """
    for pattern, words in _SPOKEN:
        text = pattern.sub(words, text)
    return text
