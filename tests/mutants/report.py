"""What a campaign found: the mutants by package, and those that live and are not explained.

    PYTHONPATH=tests python -m mutants.report /tmp/mutants

`explained.toml` lists mutants that may live: the code with the mistake does the same, is only stricter, or
costs time and nothing else. An explanation names a line by its words, so that it holds while the line does.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from mutants.mutations import named
from mutants.sample import GUARDS, guard_of

EXPLAINED = Path(__file__).parent / "explained.toml"
DEAD = ("killed", "timeout")


def lines_of(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the last result of every mutant that was tried."""
    results = folder / "results.jsonl"
    if not results.exists():
        return {}
    return {line["id"]: line for line in map(json.loads, results.read_text("utf-8").splitlines())}


def explanations() -> dict[str, str]:
    """Return why a mutant may live, by its name without its number."""
    told = tomllib.loads(EXPLAINED.read_text(encoding="utf-8")) if EXPLAINED.exists() else {}
    return {
        named(file, each["line"], words): each["why"]
        for file, listed in told.items()
        for each in listed
        for words in each["changes"]
    }


def fate(line: dict[str, Any], why: dict[str, str]) -> str:
    if line["verdict"] in DEAD:
        return "killed"
    if line["verdict"] == "not made":
        return "not made"
    return "explained" if line["id"].rpartition(" #")[0] in why else "open"


def report(lines: list[dict[str, Any]]) -> str:
    """Return a table by package, then every mutant that lives and is not explained."""
    why = explanations()
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for line in lines:
        for each in (guard_of(line["file"]), "all"):
            counts[each][fate(line, why)] += 1
    rows = ["| package | mutants | killed | explained | open | killed of those not explained |"]
    rows.append("|---|---|---|---|---|---|")
    for guard in (*GUARDS, "all"):
        killed, explained, still = (counts[guard][each] for each in ("killed", "explained", "open"))
        share = killed / max(killed + still, 1)
        rows.append(
            f"| {guard} | {killed + explained + still} | {killed} | {explained} | {still} | {share:.1%} |"
        )
    told = sorted(
        f"{line['verdict']}, {line['tests']} of {line['of']} tests; line {line['line']} of {line['id']}"
        for line in lines
        if fate(line, why) in ("open", "not made")
    )
    needless = sorted(
        f"explained but killed: {line['id']}"
        for line in lines
        if fate(line, why) == "killed" and line["id"].rpartition(" #")[0] in why
    )
    return "\n".join([*rows, "", *told, *needless])


if __name__ == "__main__":
    print(report(list(lines_of(Path(sys.argv[1])).values())))
