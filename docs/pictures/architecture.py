"""Draw the packages by the import contract: python docs/pictures/architecture.py."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PICTURE = Path(__file__).with_suffix(".svg")
SAYS = {
    "cli": "parse, call, render; one error handler",
    "service": "the same over HTTP",
    "paper": "every table and figure of the paper",
    "session": "joins engine, ledger and noise",
    "client": "the same questions over HTTP",
    "session_methods": "the methods that ask, with every way to pay",
    "ledger": "what was spent and by whom, durably",
    "online": "very many counts for one payment",
    "release": "reserve, read, draw, store, show",
    "datasets": "data that ship with Dovetail",
    "engines": "what is true in the data",
    "pricing": "what it costs, from the text alone",
    "answers": "values, intervals, words, JSON",
    "query": "what is asked: schema, conditions, measures, SQL read",
    "workloads": "which numbers to measure, how to combine them",
    "designer": "which noise meets a goal",
    "audit": "does the sampler draw what is charged?",
    "privacy": "what noise costs: losses, composition, budgets",
    "noise": "what is added",
    "sampling": "exact draws; the only source of randomness",
    "exact": "rationals and rigorous balls",
    "plots": "pictures from arrays",
    "postgresql": "addresses, limits and failures of a server",
    "check": "which parameters are allowed",
    "progress": "shows that work goes on",
    "errors": "what went wrong, as data, with remedies",
    "lazy_names": "names loaded when first used",
}
WIDTH, HEIGHT, GAP, LEFT = 1060, 44, 8, 10


def layers() -> list[list[str]]:
    """Return the rooms of each layer of the contract, from the top."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    listed = contracts["contracts"][0]["layers"]
    rooms = [[name.strip().strip("()") for name in layer.split("|")] for layer in listed]
    built = [[name for name in row if name != "__main__" and _stands(name)] for row in rooms]
    return [row for row in built if row]


def _stands(name: str) -> bool:
    room = ROOT / "src" / "dovetail" / name
    return room.is_dir() or room.with_suffix(".py").is_file()


def drawn() -> str:
    """Return the picture: one row of boxes a layer; what stands higher may import what stands lower."""
    rows = layers()
    height = len(rows) * (HEIGHT + GAP) + GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="system-ui, sans-serif">',
        "<title>The packages of Dovetail; each imports only those below it</title>",
        "<style>.page{fill:#ffffff}.b{fill:#f7f8fa;stroke:#9aa5b8}text{fill:#1c2330}.s{fill:#5b6577}"
        "@media(prefers-color-scheme:dark){.page{fill:#12161f}.b{fill:#1a2130;stroke:#4a566b}text{fill:#e8ebf1}"
        ".s{fill:#a9b4c6}}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
    ]
    for number, row in enumerate(rows):
        y = GAP + number * (HEIGHT + GAP)
        wide = (WIDTH - 2 * LEFT - GAP * (len(row) - 1)) / len(row)
        for place, name in enumerate(row):
            x = LEFT + place * (wide + GAP)
            parts.append(f'<rect class="b" x="{x:g}" y="{y}" width="{wide:g}" height="{HEIGHT}" rx="8"/>')
            parts.append(f'<text x="{x + 12:g}" y="{y + 19}" font-size="15" font-weight="650">{name}</text>')
            parts.append(f'<text class="s" x="{x + 12:g}" y="{y + 36}" font-size="12.5">{SAYS[name]}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
