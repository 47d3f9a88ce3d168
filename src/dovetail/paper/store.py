"""Keep what an item made, so that a broken-off run goes on where it stopped."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from . import drawing
from .claims import Measured
from .code_version import code_version
from .item import Item, ItemResult, ItemTable, StepInputs


@dataclass(frozen=True, slots=True)
class Kept:
    """An item's results as they lie on the disk."""

    name: str
    key: str
    tables: tuple[str, ...]
    shown: tuple[str, ...]
    figures: tuple[tuple[str, str], ...]
    measured: Mapping[str, Measured]
    note: str
    files: Mapping[str, str]
    """File name -> SHA-256: a file that was edited or lost is made again."""


@dataclass(frozen=True, slots=True)
class ItemStore:
    """A folder with `tables/`, `figures/` and one record per finished item in `steps/`."""

    folder: Path

    def key(self, item: Item, run: StepInputs, earlier: Mapping[str, str]) -> str:
        """Return what the item's results depend on: parameters, code, and the items it needs."""
        everything: dict[str, Any] = {**asdict(run.sizes), "seed": run.seed}
        parts = {
            "item": item.name,
            "parameters": {name: everything[name] for name in item.uses},
            "needs": {name: earlier[name] for name in item.needs},
            "code": code_version(item.make.__module__),
        }
        return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def load(self, name: str, key: str) -> Kept | None:
        """Return finished results for this key, or None if they must be made."""
        try:
            record = json.loads(self._record(name).read_text(encoding="utf-8"))
            if record["key"] != key:
                return None
            for file, digest in record["files"].items():
                if sha256((self.folder / file).read_bytes()).hexdigest() != digest:
                    return None
        except (OSError, ValueError, KeyError):
            return None
        measured = {claim: Measured(**entry) for claim, entry in record.pop("measured").items()}
        figures = tuple((figure, caption) for figure, caption in record.pop("figures"))
        tables, shown = tuple(record.pop("tables")), tuple(record.pop("shown"))
        return Kept(measured=measured, figures=figures, tables=tables, shown=shown, **record)

    def save(self, item: Item, key: str, outcome: ItemResult) -> Kept:
        """Write tables and figures, then, last, the record that says they are whole."""
        written = [self._write_table(each) for each in outcome.tables]
        for each in outcome.drawings:
            written += drawing.save(each.figure, self._within("figures"), each.name)
        kept = Kept(
            name=item.name,
            key=key,
            tables=tuple(each.name for each in outcome.tables),
            shown=outcome.shown,
            figures=tuple((each.name, each.caption) for each in outcome.drawings),
            measured=dict(outcome.measured),
            note=outcome.note,
            files={
                path.relative_to(self.folder).as_posix(): sha256(path.read_bytes()).hexdigest()
                for path in written
            },
        )
        replace(self._record(item.name), json.dumps(asdict(kept), indent=1, sort_keys=True))
        return kept

    def table(self, name: str) -> ItemTable:
        """Read a table back; what reads as a number is one."""
        with self._table(name).open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        return ItemTable(name, tuple(header), tuple(tuple(map(_cell, row)) for row in rows))

    def figure(self, name: str) -> bytes:
        """Return the SVG of a figure."""
        return (self.folder / "figures" / f"{name}.svg").read_bytes()

    def _write_table(self, table: ItemTable) -> Path:
        path = self._table(table.name)
        self._within("tables")
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(table.columns)
            writer.writerows([_text(cell) for cell in row] for row in table.rows)
        return path

    def _table(self, name: str) -> Path:
        return self.folder / "tables" / f"{name}.csv"

    def _record(self, name: str) -> Path:
        return self._within("steps") / f"{name}.json"

    def _within(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(parents=True, exist_ok=True)
        return path


def replace(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


def _text(cell: Any) -> str:
    return f"{float(cell):.9g}" if isinstance(cell, float) else str(cell)


def _cell(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
