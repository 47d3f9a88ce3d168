"""The datasets that this process answers about: each opened once, kept as the ledger's registry says.

Nothing here remembers budgets, keys or grants. The registry is read again when the ledger says that a setting
has changed, which is asked at most twice a second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

from dovetail.errors import DataError, DovetailError
from dovetail.ledger import Entry, Ledger
from dovetail.query import Schema
from dovetail.session import Session

from .authentication import Caller
from .registration import kept_schema
from .settings import Settings
from .sources import leaves_root, opened_sources

if TYPE_CHECKING:
    from dovetail.online.durable_run import Online

_FRESH = 0.5
_MOST_SESSIONS = 1000
_MOST_RUNS = 16
_MOST_VINTAGES = 64
_UNREADABLE = "The data cannot be read at present."


@dataclass(slots=True)
class ServedDataset:
    """A dataset that is open; `sessions` are those of its analysts, which share its data.

    `places` are the roots and addresses in which the settings had its rows when it was opened.
    """

    entry: Entry
    schema: Schema
    session: Session | None
    open_about: Callable[[tuple[str, ...]], Session]
    places: Sequence[object]
    problem: str | None = None
    sessions: dict[tuple[int, tuple[str, ...]], Session] = field(default_factory=dict)
    by_vintages: dict[tuple[str, ...], Session] = field(default_factory=dict)
    runs: dict[tuple[int, str], Online] = field(default_factory=dict)
    _keeping: Lock = field(default_factory=Lock)

    def opened(self) -> Session:
        """Return the session that reads the whole budget, or say that the data cannot be read."""
        if self.session is None:
            raise DataError(str(self.problem), "Ask the curator.")
        return self.session

    @property
    def pacing(self) -> float | None:
        """How many seconds lie between the moments at which answers leave, None for at once."""
        return self.entry.said.get("pacing") or None

    def session_of(self, caller: Caller, vintages: tuple[str, ...] = ()) -> Session:
        """Return the session in which an analyst asks, about all rows or some vintages."""
        session = self.sessions.get((caller.principal.id, vintages))
        if session is None:
            if len(self.sessions) >= _MOST_SESSIONS:
                self.sessions.clear()
            session = self._about(vintages).on_behalf_of(caller.name, pacing=self.pacing)
            self.sessions[caller.principal.id, vintages] = session
        return session

    def _about(self, vintages: tuple[str, ...]) -> Session:
        """Return the session on the rows of some vintages, opened when it is first asked for."""
        whole = self.opened()
        if not vintages:
            return whole
        session = self.by_vintages.get(vintages)
        if session is None:
            if len(self.by_vintages) >= _MOST_VINTAGES:
                self.by_vintages.clear()
            session = self.by_vintages[vintages] = self.open_about(vintages)
        return session

    def keep_run(self, caller: Caller, public: str, run: Online) -> None:
        """Keep an online run open, which holds its true counts in memory; the oldest one is let go."""
        with self._keeping:
            while len(self.runs) >= _MOST_RUNS:
                self.runs.pop(next(iter(self.runs)))
            self.runs[caller.principal.id, public] = run

    def close(self) -> None:
        """Let go of the data."""
        with self._keeping:
            self.runs.clear()
        for each in self.by_vintages.values():
            each.close()
        if self.session is not None:
            self.session.close()


class ServedDatasets:
    """The datasets by name."""

    def __init__(self, ledger: Ledger, settings: Settings, report: Callable[[str], None]) -> None:
        self._ledger, self._settings, self._report = ledger, settings, report
        self._lock = Lock()
        self._changed = -1
        self._asked = 0.0
        self._by_number: dict[int, ServedDataset] = {}
        self._by_name: dict[str, ServedDataset] = {}

    def find(self, name: str) -> ServedDataset | None:
        """Return the dataset of a name."""
        self.refresh()
        return self._by_name.get(name)

    def all(self) -> list[ServedDataset]:
        """Return every dataset, oldest first."""
        self.refresh()
        return list(self._by_number.values())

    def refresh(self, now: bool = False) -> None:
        """Look whether the registry has changed, and open what is new."""
        if not now and monotonic() - self._asked < _FRESH:
            return
        with self._lock:
            self._asked = monotonic()
            changed = self._ledger.catalogue.changed
            if changed == self._changed and not now:
                return
            kept: dict[int, ServedDataset] = {}
            for entry in self._ledger.catalogue.entries():
                if "source" in entry.said:
                    kept[entry.number] = self._kept(entry)
            # One that is replaced is closed with its last question; a dataset is never taken off the record.
            self._by_number = kept
            self._by_name = {served.entry.name: served for served in kept.values()}
            self._changed = changed

    def check_places(self, served: ServedDataset, vintages: tuple[str, ...]) -> None:
        """Refuse to read what has left its data root since it was opened: a file can become a link."""
        said, own = served.entry.said, served.entry.said.get("vintages", {})
        for place in [own.get(label, said["source"]) for label in vintages] or [said["source"]]:
            if leaves_root(place, self._settings):
                raise DataError(_UNREADABLE, "Ask the curator.")

    def reload(self, settings: Settings) -> None:
        """Open again what lies in other roots and connections now, and what could not be opened."""
        self._settings = settings
        self.refresh(now=True)

    def _kept(self, entry: Entry) -> ServedDataset:
        """Return the dataset as it was opened before, or open it."""
        before, places = self._by_number.get(entry.number), _places(entry.said, self._settings)
        usable = before is not None and before.session is not None and before.places == places
        if before is not None and usable and _same(before.entry, entry):
            before.entry = entry
            return before
        schema = kept_schema(entry.said.get("schema", ""))

        def opened(vintages: tuple[str, ...] = ()) -> Session:
            said = self._with_places(entry, vintages) if vintages else entry.said
            return opened_session(entry.name, said, schema, self._ledger, self._settings, vintages)

        try:
            return ServedDataset(entry, schema, opened(), opened, places)
        except DovetailError as error:
            # What the driver says may hold an address or a path; which dataset it is, the operator may know.
            self._report(error.code)
            return ServedDataset(entry, schema, None, opened, places, _UNREADABLE)

    def _with_places(self, entry: Entry, vintages: tuple[str, ...]) -> Mapping[str, Any]:
        """Return what is said of a dataset, with where the rows of these vintages are now.

        Another worker may just have declared one, and it would be read where the dataset is. It is recorded
        as declared together with its place, so the place of one that is declared is there to be read next.
        """
        self._ledger.catalogue.account(entry.name).about(*vintages)
        places = self._ledger.catalogue.entry(entry.name).said.get("vintages", {})
        return {**entry.said, "vintages": places}

    def close(self) -> None:
        """Let go of all data."""
        for served in self._by_number.values():
            served.close()


def _same(one: Entry, other: Entry) -> bool:
    """Tell whether an open session still serves."""
    names = ("source", "schema", "unit", "max_rows", "max_cells", "neighbours", "pacing", "vintages")
    return one.name == other.name and all(one.said.get(name) == other.said.get(name) for name in names)


def _places(said: Mapping[str, Any], settings: Settings) -> list[object]:
    """Return the roots and addresses that the settings name for the rows of a dataset and its vintages."""
    forms = [said["source"], *said.get("vintages", {}).values()]
    roots = [settings.data_roots.get(each["root"]) for each in forms if "root" in each]
    return roots + [settings.connections.get(each["connection"]) for each in forms if "connection" in each]


def opened_session(
    name: str,
    said: Any,
    schema: Schema,
    ledger: Ledger,
    settings: Settings,
    vintages: tuple[str, ...] = (),
) -> Session:
    """Open the session of a dataset that is on record; of some vintages, on the rows that they are."""
    own = said.get("vintages", {})
    places = [own.get(label, said["source"]) for label in vintages] or [said["source"]]
    apart = [each for number, each in enumerate(places) if each not in places[:number]]
    return Session(
        opened_sources(apart, settings, name, schema),
        ledger=ledger,
        vintage=vintages,
        unit=said.get("unit"),
        max_rows=said.get("max_rows"),
        max_cells=said.get("max_cells"),
        neighbours=said.get("neighbours", "add-remove"),
        analyst="service",
    )
