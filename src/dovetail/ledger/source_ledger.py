"""Open the ledger of some data, and check what its first charge would fix for good."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dovetail.engines import Source
from dovetail.engines.identity import NOT_KNOWN
from dovetail.errors import InvalidParameter, LedgerError
from dovetail.errors.remedies import Give
from dovetail.query.protection import check_decided
from dovetail.query.schema import Table

from .ledger import Ledger
from .location import ledger_path
from .same_data import SameDataAnswer, check_apart, check_known

_log = logging.getLogger("dovetail.session")


@dataclass(slots=True)
class SourceLedger:
    """The ledger of some data, and what was said about them.

    `spelled` are the names that follow from how the data are spelled, `identity` these and those that only
    their server knows. `owned` tells who has to close the ledger, `new_place` where it would be made if
    nobody named one, and `decided` whether somebody said whom the budget protects.
    """

    ledger: Ledger
    owned: bool
    source: Source
    spelled: tuple[str, ...]
    identity: tuple[str, ...]
    said: SameDataAnswer
    decided: bool
    new_place: Path | None

    @classmethod
    def of(
        cls,
        ledger: Any,
        source: Source,
        said: SameDataAnswer,
        decided: bool,
        found: tuple[str, ...] = (),
    ) -> SourceLedger:
        """Open the ledger that was given, or find that of these data; others under its name are refused.

        `found` are further names of the data, which their server told.
        """
        spelled = source.identity
        identity = (*spelled, *found)
        book, owned = _opened(ledger, source, identity)
        try:
            check_known(book, source.name, identity, said)
        except LedgerError:
            if owned:
                book.close()
            raise
        place = Path(book.place)
        return cls(
            book,
            owned,
            source,
            spelled,
            identity,
            said,
            decided,
            None if ledger is not None or place.exists() else place,
        )

    def check_first_charge(self, table: Table) -> None:
        """Refuse to begin a budget that protects nobody knows whom, or that would be a second one."""
        check_decided(table, self.decided, self.source.name)
        check_apart(self.ledger, self.source, self.identity, table.stored, self.said)
        self.check_place()

    def check_place(self) -> None:
        """Refuse a second budget: another session may have begun one for the same rows meanwhile."""
        place = self.new_place
        if place is not None and ledger_path(*self.identity, name=self.source.name) != place:
            raise LedgerError(
                "The budget of these rows was begun in another ledger while this session was open.",
                "Nothing was spent. Open the session again.",
            )
        self.new_place = None


def _opened(ledger: Any, source: Source, identity: tuple[str, ...]) -> tuple[Ledger, bool]:
    """Return the ledger, and whether it was opened here."""
    if isinstance(ledger, Ledger):
        return ledger, False
    if ledger is None:
        if isinstance(source.data, tuple):
            raise InvalidParameter(
                "ledger", None, "named for a list of files", "The budget is kept there.", Give("ledger")
            )
        ledger = ledger_path(*identity, name=source.name)
        if ledger.exists():
            _log.info("The budget of %s is kept in %s", source.name, ledger)
        else:
            _log.warning("The budget of %s is kept in %s. %s", source.name, ledger, NOT_KNOWN)
    return Ledger.open(ledger, create="later"), True
