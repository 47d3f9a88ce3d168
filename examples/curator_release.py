"""A curator's release: price three tables, publish them within a budget, and write what was published.

python examples/curator_release.py [folder]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import dovetail as dv

TABLES = {
    "education": dv.Histogram("education"),
    "sex-by-race": dv.Histogram("sex", "race"),
    "age": dv.Histogram("age", bins=list(range(15, 105, 10))),
}
WITHIN = 20


def main(folder: Path) -> None:
    """Release the tables into `folder`: one CSV each, and one record of what they cost."""
    folder.mkdir(parents=True, exist_ok=True)
    budget = dv.Budget.pure(1)
    with dv.Session(dv.datasets.adult(), budget=budget, ledger=folder / "adult.ledger") as session:
        queries = list(TABLES.values())
        print(f"Three tables within ±{WITHIN} cost {session.price(queries, within=WITHIN)}")
        answers = dict(zip(TABLES, session.batch(queries, within=WITHIN), strict=True))
        remaining = session.remaining
    for name, answer in answers.items():
        # All bars of a table hold at once, and counts below 0 are moved to 0: both are free.
        published = answer.consistent().interval("0.95", simultaneous=True)
        published.to_pandas().to_csv(folder / f"{name}.csv", index=False)
        print(answer)
    record = {
        "budget": str(budget),
        "remaining": str(remaining),
        "tables": {name: json.loads(answer.to_json()) for name, answer in answers.items()},
    }
    (folder / "record.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    print(f"Written to {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/curator"))
