"""Run the items in order, keep their results, and write the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import dovetail as dv

from . import drawing, report
from .catalogue import ITEMS
from .item import FULL, QUICK, Item, StepInputs
from .store import ItemStore, Kept

Progress = Callable[[str, float], None]

DEFAULT_SEED = 1994


@dataclass(frozen=True, slots=True)
class Reproduction:
    """Where everything was written, and the results by item."""

    folder: Path
    report: Path
    items: dict[str, Kept]

    def table(self, name: str) -> list[dict[str, object]]:
        """Return the rows of one table."""
        table = ItemStore(self.folder).table(name)
        return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def item_names() -> tuple[str, ...]:
    """Return what `only` accepts.

    >>> "fig8" in item_names()
    True
    """
    return tuple(item.name for item in ITEMS)


def reproduce(
    out: str | Path,
    *,
    quick: bool = False,
    only: str | Iterable[str] | None = None,
    seed: int = DEFAULT_SEED,
    progress: Progress | None = None,
) -> Reproduction:
    """Compute the paper's evaluation into the folder `out` and return what was found.

    Finished items are kept there and not computed again. `quick` draws fewer samples; `only` names items;
    `seed` fixes the experiment's own draws of queries, never the noise. `progress` is called with the name
    of an item and the share of it that is done.
    """
    store = ItemStore(Path(out))
    sizes = QUICK if quick else FULL
    wanted = _wanted(only)
    kept: dict[str, Kept] = {}
    keys: dict[str, str] = {}
    for item in ITEMS:
        tell = _reporter(item, progress)
        run = StepInputs(sizes, seed, {}, tell)
        keys[item.name] = store.key(item, run, keys)
        result = store.load(item.name, keys[item.name])
        if result is None and item.name in wanted:
            tell(0.0)
            tables = {name: store.table(name) for need in item.needs for name in kept[need].tables}
            with drawing.style():
                outcome = item.make(StepInputs(sizes, seed, tables, tell))
                result = store.save(item, keys[item.name], outcome)
        if result is not None:
            kept[item.name] = result
            tell(1.0)
    path = report.write(store, kept, quick=quick)
    return Reproduction(store.folder, path, kept)


def _wanted(only: str | Iterable[str] | None) -> frozenset[str]:
    """Return the items asked for and all that they need."""
    needs = {item.name: item.needs for item in ITEMS}
    if only is None:
        return frozenset(needs)
    asked = [only] if isinstance(only, str) else list(only)
    for name in asked:
        if name not in needs:
            raise dv.InvalidParameter(
                "only", name, f"one of {', '.join(needs)}", "Name one item, such as fig8."
            )
    names: set[str] = set()
    while asked:
        name = asked.pop()
        names.add(name)
        asked += needs[name]
    return frozenset(names)


def _reporter(item: Item, progress: Progress | None) -> Callable[[float], None]:
    return (lambda share: None) if progress is None else (lambda share: progress(item.title, share))
