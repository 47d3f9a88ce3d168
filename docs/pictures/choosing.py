"""Draw which question to ask and how to pay for it: `python docs/pictures/choosing.py`."""

from __future__ import annotations

from html import escape
from pathlib import Path

PICTURE = Path(__file__).with_suffix(".svg")
ASK = (
    ("One number?", "count, sum, mean, median", "sums and means need public bounds"),
    ("One table over declared values?", "histogram", "all cells cost as much as one"),
    ("How values are spread?", "ranges", "quantiles and curves from it are free"),
    ("Several tables of the same columns?", "marginals", "they agree; synthetic rows are free"),
    ("A known number of questions?", "plan", "much cheaper from about ten on"),
    ("Very many counts, few columns?", "online", "one payment for all of them"),
)
PAY = (
    ("You know the error you accept?", "within=5", "Dovetail finds the cheapest noise"),
    ("You know the price?", "spend=Budget.pure(0.1)", "Dovetail finds the smallest error"),
    ("You bought a plan before?", "plan=plan", "uses one of its answers"),
    ("You study a certain noise?", "noise=Geometric(0.1)", "for experiments"),
)
WIDTH, BOX, STEP, QUESTION, REPLY = 1240, 50, 74, 275, 262
STYLE = (
    ".page{fill:#ffffff}.q{fill:#eef3fb;stroke:#2457a6}.r{fill:#fff4e6;stroke:#d9822b}text{fill:#1c2330}"
    ".s{fill:#5b6577}path{stroke:#5b6577;fill:none}"
    "@media(prefers-color-scheme:dark){.page{fill:#12161f}.q{fill:#1b2740;stroke:#7ba4e0}"
    ".r{fill:#33261a;stroke:#e0a060}text{fill:#e8ebf1}.s{fill:#a9b4c6}path{stroke:#a9b4c6}}"
)


def drawn() -> str:
    """Return the picture: two ladders of questions, each with what to write."""
    height = 40 + STEP * max(len(ASK), len(PAY))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="14">',
        "<title>Which question to ask, and how to pay for it</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        *_ladder(10, "1. What do you want to publish?", ASK),
        *_ladder(638, "2. How do you pay?", PAY),
    ]
    return "\n".join([*parts, "</svg>", ""])


def _ladder(left: int, title: str, steps: tuple[tuple[str, str, str], ...]) -> list[str]:
    parts = [f'<text x="{left}" y="24" font-size="17" font-weight="650">{title}</text>']
    reply = left + QUESTION + 46
    for number, (question, write, note) in enumerate(steps):
        y = 40 + number * STEP
        middle = y + BOX // 2
        parts += [
            f'<rect class="q" x="{left}" y="{y}" width="{QUESTION}" height="{BOX}" rx="8"/>',
            f'<text x="{left + 12}" y="{middle + 5}">{escape(question)}</text>',
            f'<path d="M{left + QUESTION} {middle}h46m-7 -4l7 4l-7 4"/>',
            f'<text class="s" x="{left + QUESTION + 9}" y="{middle - 6}" font-size="12">yes</text>',
            f'<rect class="r" x="{reply}" y="{y}" width="{REPLY}" height="{BOX}" rx="8"/>',
            f'<text x="{reply + 12}" y="{y + 21}" font-weight="650">{escape(write)}</text>',
            f'<text class="s" x="{reply + 12}" y="{y + 40}" font-size="12.5">{escape(note)}</text>',
        ]
        if number + 1 < len(steps):
            down = left + QUESTION // 2
            parts.append(f'<path d="M{down} {y + BOX}v{STEP - BOX}m-4 -7l4 7l4 -7"/>')
            parts.append(f'<text class="s" x="{down + 8}" y="{y + BOX + 16}" font-size="12">no</text>')
    return parts


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
