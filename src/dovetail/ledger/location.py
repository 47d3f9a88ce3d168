"""Where a ledger is kept when nobody says, and which ledger keeps the budget of the same rows already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from pathlib import Path

from dovetail.engines.identity import source_names
from dovetail.errors import LedgerError
from dovetail.errors.remedies import Give

from .ledger import Ledger

SUFFIX = ".ledger"
_MOST_INSIDE = 100_000
# How a database of SQLite begins.
_SQLITE = b"SQLite format 3\0"


def default_path(source: str | Path) -> Path:
    """Return the ledger's file for a path or an address: beside the data, or in the user's data folder.

    >>> default_path("postgresql://db/clinic").suffix
    '.ledger'
    """
    return ledger_path(*source_names(source))


def ledger_path(*identity: str, name: str | None = None) -> Path:
    """Return the ledger's file for the names of a source.

    A ledger that is there already is used: a folder that becomes writable does not mint a new budget. So is
    that of a folder around the data; where files inside have ledgers, or several would do, it is refused.
    Where none knows these data, one nearby that knows the dataset's `name` is used: the next month's.
    """
    own, linked = _own(identity[0]), identity[1:]
    paths = [Path(name) for name in identity if "://" not in name]
    around = [_own(str(folder)) for path in paths for folder in path.parents] + [
        _own(each) for each in linked
    ]
    outer = [*_knowing(around, identity)]
    kept = list(dict.fromkeys([own, *outer] if own.exists() else outer))
    inner = [*_knowing(_inside(paths[0]), identity)] if paths and paths[0].is_dir() else []
    if inner or len(kept) > 1:
        raise _several(own, kept, inner)
    if not kept and name is not None:
        kept = list(_naming(name, identity))
        if len(kept) > 1:
            raise LedgerError(
                f"Several ledgers keep a budget of {name!r}: {', '.join(map(str, kept))}.",
                "Their budgets add up. Name the one that pays.",
                Give("ledger"),
            )
    return kept[0] if kept else own


def beside(*identity: str) -> list[Path]:
    """Return the ledgers in the folder of some data and in the user's data folder, newest first."""
    folders = {Path(name.partition("#")[0]).parent for name in identity if "://" not in name}
    places = (place for folder in (*folders, _user_folder()) for place in folder.glob(f"*{SUFFIX}"))
    files = [place for place in places if place.is_file()]
    return sorted(files, key=lambda place: -place.stat().st_mtime_ns)


def _naming(name: str, identity: tuple[str, ...]) -> Iterator[Path]:
    """Yield the ledgers nearby that keep a budget of that name, or of these data under another."""
    for place in beside(*identity):
        if _may_be_ledger(place) and Ledger.exists(place):
            with Ledger.open(place) as book:
                if name in book.sources() or book.knows(*identity):
                    yield place


def _may_be_ledger(place: Path) -> bool:
    """Tell whether a file is a database, or the beginning of one: accounts of other programs end alike."""
    try:
        with place.open("rb") as file:
            return _SQLITE.startswith(file.read(len(_SQLITE)))
    except OSError:
        # Whoever opens it is told why it cannot be read.
        return True


def _own(named: str) -> Path:
    if "://" in named:
        # One ledger for all tables of a database.
        return _user_folder() / _home_name(named.partition("#")[0])
    mine = _user_folder() / _home_name(named)
    data = Path(named)
    next_to_it = data.with_name(data.name + SUFFIX) if data.name else mine
    if next_to_it.exists() or (not mine.exists() and os.access(data.parent, os.W_OK)):
        return next_to_it
    return mine


def _home_name(named: str) -> str:
    return f"{_short(named)}-{sha256(named.encode()).hexdigest()[:16]}{SUFFIX}"


def _knowing(places: Iterable[Path], names: tuple[str, ...]) -> Iterator[Path]:
    """Yield the ledgers that keep a budget for some of the same rows."""
    for place in dict.fromkeys(places):
        if place.is_file() and Ledger.exists(place):
            with Ledger.open(place) as book:
                if book.knows(*names):
                    yield place


def _inside(folder: Path) -> Iterator[Path]:
    """Yield where ledgers of the files and folders of a folder would be."""
    home, suffix = _user_folder(), len(SUFFIX)
    mine = {place.name for place in home.glob(f"*{SUFFIX}")}
    for path in islice(folder.rglob("*"), _MOST_INSIDE):
        if path.name.endswith(SUFFIX) and path.with_name(path.name[:-suffix]).exists():
            yield path
        elif mine and _home_name(str(path)) in mine:
            yield home / _home_name(str(path))


def _several(own: Path, kept: list[Path], inner: list[Path]) -> LedgerError:
    listed = ", ".join(repr(str(place)) for place in [*kept, *sorted(inner)])
    if not kept and len(inner) == 1:
        return LedgerError(
            f"Some of these data have a budget in {listed} already, and two budgets would add up.",
            f"Move that ledger to {str(own)!r} to share it, or ask the file it belongs to.",
        )
    return LedgerError(
        f"Some of these data have budgets in several ledgers: {listed}.",
        "Their budgets add up. Ask about each file separately, or name the ledger that pays.",
        Give("ledger"),
    )


def _user_folder() -> Path:
    # Imported here: a session that names its ledger never needs it.
    from platformdirs import user_data_path

    return user_data_path("dovetail", appauthor=False, ensure_exists=True)


def _short(named: str) -> str:
    """Return a few letters that a person recognises the source by."""
    last = named.rstrip("/").rsplit("/", 1)[-1]
    return "".join(letter if letter.isalnum() else "-" for letter in last)[:40].strip("-") or "data"
